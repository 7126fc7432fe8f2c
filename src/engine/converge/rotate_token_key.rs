//! The plan of a stage on the way to another key of service accounts.

use kok_crds::model::Cluster;
use kok_tasks::plan::{self, Refusal, Seen, TokenKeyRotation, TokenKeyStage, TokenKeyStanding};

use super::{Observed, Planned, Tolerance, refused};
use crate::clock::Clock;
use crate::engine::context::Context;
use crate::failure::{Failure, Kind};

/// The key that is to sign: its public half in PEM, and the control plane that has it; without one this run has made it.
pub(in crate::engine) struct NextTokenKey {
    pub(in crate::engine) key: String,
    pub(in crate::engine) keeper: Option<String>,
}

/// Makes the plan of a stage towards the key that `choose` names by how far the cluster has come; where the key from before is to
/// go (`ends`), it hears who has tokens of it. All control planes have to answer.
pub(in crate::engine) async fn replace_token_key(
    (cluster, stage, ends): (&Cluster, TokenKeyStage, bool),
    choose: impl FnOnce(TokenKeyStanding, &Seen) -> Result<NextTokenKey, Vec<Refusal>> + Send,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Planned, Vec<Failure>> {
    let now_seconds = Clock::seconds();
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.looks = cluster.hosts.iter().map(|host| (host.name.clone(), plan::rotate_token_key_looks(host, ends))).collect();
    let is_plane = |host: &str| cluster.host(host).is_some_and(|host| host.roles.control_plane);
    observed.ask(is_plane).await?;
    // What is kept of the cluster's keys has etcd's authority, too.
    observed.ask_who_answers(|host| !is_plane(host) && cluster.host(host).is_some_and(|host| host.roles.etcd)).await?;
    let standing = plan::token_key_standing(cluster, &observed.seen).map_err(refused(Kind::Host))?;
    let next = choose(standing, &observed.seen).map_err(refused(Kind::Host))?;
    let rotation = TokenKeyRotation { key: &next.key, keeper: next.keeper.as_deref(), stage };
    let plan = observed.repeat(|seen| plan::rotate_token_key(cluster, &rotation, seen)).await?;
    Ok(observed.planned(plan, Vec::new(), now_seconds))
}
