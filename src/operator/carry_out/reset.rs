//! A cluster that is taken down, or workers that are.

use std::collections::BTreeSet;

use kok_crds::Asked;
use kok_crds::model::Cluster;

use super::super::inputs::OperationTask;
use super::{Means, drains};
use crate::engine::{self, Error, Follows, Removal, ResetRequest, Silent, SnapshotWish};
use crate::failure::{Cause, Failure, Kind};

pub(super) async fn reset(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let (cluster, hosts) = (&task.cluster, asked.hosts.as_slice());
    let written = asked.limit.as_ref().map(|limit| limit.text.clone()).unwrap_or_default();
    if hosts.is_empty() || matches!(written.trim(), "all" | "*") {
        return match reset_whole(cluster, means).await {
            Err(Error::Unreachable(failures)) if means.gives_up => match without_silent(cluster, &failures) {
                Some(others) => reset_whole(&others, means).await,
                None => Err(Error::Unreachable(failures)),
            },
            ended => ended,
        };
    }
    let lock = means.lock(cluster)?;
    let is_member = |name: &&String| cluster.host(name).is_some_and(|host| host.roles.control_plane || host.roles.etcd);
    if let Some(name) = hosts.iter().find(is_member) {
        let failure = Failure::new(Kind::Input, format!("{name} can't be taken out of the cluster alone"));
        return Err(Error::from(failure.hint("control planes and members of etcd leave by the action `remove-node.yml`")));
    }
    let removal =
        Removal { hosts, drain: drains(cluster, true), silent: Silent::Refused, follows: Follows::Nothing, members: None, even: false };
    let part = format!("--limit {written}");
    let request = ResetRequest::Hosts { removal: &removal, part: &part };
    engine::reset(means.context, (means.store, lock), cluster, request, means.options).await.map(drop)
}

async fn reset_whole(cluster: &Cluster, means: &Means<'_>) -> Result<(), Error> {
    let lock = means.lock(cluster)?;
    let request = ResetRequest::Whole { snapshot: SnapshotWish::InStore };
    engine::reset(means.context, (means.store, lock), cluster, request, means.options).await.map(drop)
}

/// The cluster of which the hosts that don't answer are to be gone anyway, so that they are passed over; nothing if no other one is left.
fn without_silent(cluster: &Cluster, failures: &[Failure]) -> Option<Cluster> {
    let silent: BTreeSet<&str> = failures.iter().filter(|it| *it.due_to() == Cause::Unreachable).filter_map(Failure::host).collect();
    let (away, hosts): (Vec<_>, Vec<_>) = cluster.hosts.iter().cloned().partition(|host| silent.contains(host.name.as_str()));
    if away.is_empty() || hosts.is_empty() {
        return None;
    }
    let leaving = cluster.leaving.iter().cloned().chain(away).collect();
    Some(Cluster { hosts, leaving, ..cluster.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_dont_answer_are_passed_over_unless_no_other_is_left() {
        let host = |name: &str, number: u8| format!("\n  - {{name: {name}, address: 10.0.0.{number}, roles: [control-plane, worker]}}");
        let hosts: String = [("a", 1), ("b", 2), ("c", 3)].map(|(name, number)| host(name, number)).concat();
        let head = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1";
        let read = kok_crds::read_cluster("cluster.yaml", &format!("{head}\n  hosts:{hosts}\n"));
        let Ok(cluster) = read else { unreachable!("it is right") };
        let away = |host: &str| Failure::new(Kind::Host, "away").at(format!("host {host} (10.0.0.1)")).due(Cause::Unreachable);
        let names = |hosts: &[kok_crds::model::Host]| hosts.iter().map(|host| host.name.clone()).collect::<Vec<_>>();
        let all = names(&cluster.hosts);
        let (first, others) = all.split_first().map(|(first, others)| (first.clone(), others.to_vec())).unwrap_or_default();
        let without = without_silent(&cluster, &[away(&first)]).map(|left| (names(&left.hosts), names(&left.leaving)));
        assert_eq!(without, Some((others, vec![first.clone()])));
        assert!(without_silent(&cluster, &all.iter().map(|name| away(name)).collect::<Vec<_>>()).is_none());
        let doubt = Failure::new(Kind::Host, "another host").at(format!("host {first}")).due(Cause::Doubt);
        assert!(without_silent(&cluster, &[doubt]).is_none(), "it answers");
    }
}
