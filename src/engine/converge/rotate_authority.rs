//! The plan of a stage on the way to another certificate authority.

use kok_crds::model::{Cluster, Host};
use kok_pki::AuthorityKind;
use kok_tasks::plan::{self, AuthorityRotation, AuthorityStage, AuthorityStanding, Refusal, Seen};

use super::{Observed, Planned, Tolerance, refused};
use crate::clock::Clock;
use crate::engine::context::Context;
use crate::failure::{Failure, Kind};

/// The authority that is to sign: its certificate in PEM, and the host that has its key; without one this run has made it. And what is done now.
pub(in crate::engine) struct NextAuthority {
    pub(in crate::engine) certificate: String,
    pub(in crate::engine) keeper: Option<String>,
    pub(in crate::engine) stage: AuthorityStage,
}

/// Makes the plan of a stage towards the authority that `choose` names by how far the cluster has come; where the one from before may be about to go (`ends`),
/// it hears which pods know no other. All hosts that trust it have to answer. With the plan comes what all of them trust from then on.
pub(in crate::engine) async fn replace_authority(
    (cluster, kind, ends): (&Cluster, AuthorityKind, bool),
    choose: impl FnOnce(AuthorityStanding, &Seen) -> Result<NextAuthority, Vec<Refusal>> + Send,
    tolerance: Tolerance,
    context: &Context,
) -> Result<(Planned, String), Vec<Failure>> {
    let now_seconds = Clock::seconds();
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    let looks = |host: &Host| (host.name.clone(), plan::rotate_authority_looks(cluster, kind, host, ends));
    observed.looks = cluster.hosts.iter().map(looks).collect();
    let trusts = |host: &str| cluster.host(host).is_some_and(|host| plan::trusts_authority(kind, host));
    observed.ask(trusts).await?;
    // What is kept of the cluster's keys has all of them.
    let has_keys = |host: &Host| host.roles.control_plane || host.roles.etcd;
    observed.ask_who_answers(|host| !trusts(host) && cluster.host(host).is_some_and(has_keys)).await?;
    let standing = plan::authority_standing(cluster, kind, &observed.seen).map_err(refused(Kind::Host))?;
    let next = choose(standing, &observed.seen).map_err(refused(Kind::Host))?;
    let rotation = AuthorityRotation { kind, certificate: &next.certificate, stage: next.stage };
    let plan = observed.repeat(|seen| plan::rotate_authority(cluster, &rotation, now_seconds, seen)).await?;
    let trusted = plan::trusted_authorities(cluster, &rotation, &observed.seen);
    let mut planned = observed.planned(plan, Vec::new(), now_seconds);
    if let Some(keeper) = next.keeper {
        let place = if kind == AuthorityKind::Etcd { &mut planned.etcd_keeper } else { &mut planned.keeper };
        *place = Some(keeper);
    }
    Ok((planned, trusted))
}
