//! What is asked before it is known which stage comes first.

use kok_crds::model::{Cluster, Host};
use kok_tasks::observe::ApiServerState;

use super::super::context::Context;
use super::{Observed, Tolerance};
use crate::failure::Failure;

/// Whether all of these hosts can be reached and are part of the cluster: who has left it already would have to join first to leave. One that may be another
/// host is an error.
pub(in super::super) async fn all_take_part(
    cluster: &Cluster,
    hosts: &[String],
    tolerance: Tolerance,
    context: &Context,
) -> Result<bool, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.ask_who_answers(|host| hosts.iter().any(|name| name == host)).await?;
    Ok(hosts.iter().all(|host| observed.is_ours(host)))
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
    Ok(Some(all.without(&observed.not_ours(&cluster.leaving))))
}

impl Observed<'_> {
    /// Whether a host answers, and says that it is part of this cluster.
    pub(super) fn is_ours(&self, host: &str) -> bool {
        self.seen.facts(host).is_some_and(|facts| facts.cluster.as_ref() == Some(&self.cluster.name))
    }

    /// Whether a host answers, and says that it is part of another cluster.
    pub(super) fn is_of_another(&self, host: &str) -> bool {
        self.seen.facts(host).and_then(|facts| facts.cluster.as_ref()).is_some_and(|name| *name != self.cluster.name)
    }

    /// Those of these hosts of which that is not known.
    fn not_ours<'h>(&self, hosts: &'h [Host]) -> Vec<&'h str> {
        hosts.iter().map(|host| host.name.as_str()).filter(|host| !self.is_ours(host)).collect()
    }
}
