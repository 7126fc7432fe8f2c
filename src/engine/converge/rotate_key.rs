//! The plan of a stage on the way to another key to encrypt with.

use kok_crds::model::Cluster;
use kok_tasks::plan::{self, KeyRotation, KeyStage};

use super::{Observed, Planned, Tolerance, refused};
use crate::clock::Clock;
use crate::engine::context::Context;
use crate::failure::{Failure, Kind};

/// Makes the plan of a stage, and says the name of the new key; without one it is the key of a rotation that was begun, or a new one. All control planes have
/// to answer; hosts of etcd are asked for the authority that an escrow has beside the keys.
pub(in crate::engine) async fn replace_key(
    cluster: &Cluster,
    (key, stage): (Option<&str>, KeyStage),
    tolerance: Tolerance,
    context: &Context,
) -> Result<(Planned, String), Vec<Failure>> {
    let now_seconds = Clock::seconds();
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.looks = cluster.hosts.iter().map(|host| (host.name.clone(), plan::rotate_key_looks(host))).collect();
    let is_plane = |host: &str| cluster.host(host).is_some_and(|host| host.roles.control_plane);
    observed.ask(is_plane).await?;
    observed.ask_who_answers(|host| !is_plane(host) && cluster.host(host).is_some_and(|host| host.roles.etcd)).await?;
    let chosen = plan::key_to_encrypt_with(cluster, &observed.seen, now_seconds).map_err(refused(Kind::Host))?;
    let key = key.map_or(chosen, str::to_owned);
    let plan = observed.repeat(|seen| plan::rotate_key(cluster, &KeyRotation { key: &key, stage }, seen)).await?;
    Ok((observed.planned(plan, Vec::new(), now_seconds), key))
}
