//! What is asked before it is known which stage comes first.

use kok_crds::model::Cluster;
use kok_tasks::observe::ApiServerState;

use super::super::context::Context;
use super::{Observed, Tolerance};
use crate::failure::Failure;

/// Whether all of these hosts can be reached. One that may be another is an error.
pub(in super::super) async fn all_answer(
    cluster: &Cluster,
    hosts: &[String],
    tolerance: Tolerance,
    context: &Context,
) -> Result<bool, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.ask_who_answers(|host| hosts.iter().any(|name| name == host)).await?;
    Ok(hosts.iter().all(|host| observed.links.contains_key(host)))
}

/// The cluster that has to be mended before hosts can leave that the file wants gone, with those of them that are a part of it still: nobody could be told that
/// they leave, for control planes can be reached, and the API server of none of them answers. Nothing, if it is not so.
pub(in super::super) async fn mute(cluster: &Cluster, tolerance: Tolerance, context: &Context) -> Result<Option<Cluster>, Vec<Failure>> {
    let all = cluster.before_removal();
    let mut observed = Observed::to_reset(&all, false, tolerance, context);
    let is_leaving = |name: &str| cluster.leaving.iter().any(|host| host.name == name);
    observed.ask_who_answers(|name| is_leaving(name) || all.host(name).is_some_and(|host| host.roles.control_plane)).await?;
    let is = |wanted: fn(&ApiServerState) -> bool| {
        all.hosts.iter().any(|host| observed.seen.observations(&host.name).api_server.as_ref().is_some_and(wanted))
    };
    if is(|state| *state == ApiServerState::Ready) || !is(|state| matches!(state, ApiServerState::NotReady(_))) {
        return Ok(None);
    }
    let is_ours = |name: &str| observed.seen.facts(name).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name));
    let gone: Vec<&str> = cluster.leaving.iter().map(|host| host.name.as_str()).filter(|name| !is_ours(name)).collect();
    Ok(Some(all.without(&gone)))
}
