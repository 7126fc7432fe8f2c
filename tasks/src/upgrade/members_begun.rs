//! Members of etcd that a run was starting anew when it was cut off.

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Host};

use crate::observe::EtcdState;
use crate::plan::Seen;

/// Members that do not answer on hosts which a run of this controller has left: it may have begun to start them anew before it was cut off, so that they
/// come back by themselves.
#[must_use]
pub fn members_begun<'a>(cluster: &'a Cluster, seen: &Seen, controller: &str) -> BTreeSet<&'a str> {
    let is_left = |host: &&Host| seen.standing().get(&host.name).is_some_and(|standing| standing.is_stale(controller));
    let starts = |host: &&Host| matches!(seen.observations(&host.name).etcd, Some(EtcdState::NotReady(_)));
    cluster.etcd_hosts().filter(is_left).filter(starts).map(|host| host.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;
    use crate::holder::Standing;
    use crate::observe::{EtcdMember, Observations};

    const FILE: &str =
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.12, roles: [worker]}\n";

    #[test]
    fn only_what_this_controller_has_left_comes_back_by_itself() {
        let cluster = kok_crds::read_cluster("c.yaml", FILE).unwrap();
        let begun = |controller: Option<&str>, etcd: EtcdState| {
            let mut seen = Seen::default();
            let line = controller.map(|controller| format!("epoch=1 run=first controller={controller} since=then by=me@jump"));
            seen.add_standing("cp1", Standing::parse(&line.unwrap_or_default()));
            seen.add_observations("cp1", Observations { etcd: Some(etcd), ..Observations::default() });
            members_begun(&cluster, &seen, "here").into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let away = || EtcdState::NotReady("connection refused".to_owned());
        assert_eq!(begun(Some("here"), away()), ["cp1"]);
        assert_eq!(begun(Some("elsewhere"), away()), Vec::<String>::new());
        assert_eq!(begun(None, away()), Vec::<String>::new());
        assert_eq!(begun(Some("here"), EtcdState::Ready(EtcdMember::default())), Vec::<String>::new());
        assert_eq!(begun(Some("here"), EtcdState::Absent), Vec::<String>::new());
    }
}
