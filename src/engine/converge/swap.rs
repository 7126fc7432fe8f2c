//! Hosts that change their roles with each other: who is to be a control plane becomes one before those go that are to be none.

use kok_crds::model::{Cluster, Host};
use kok_tasks::present::{looks_at_leaving, present};

use super::super::context::Context;
use super::super::replace::MOST_MEMBERS;
use super::super::reset::{Removal, Silent};
use super::{Observed, Tolerance};
use crate::failure::Failure;

/// The way of hosts that change their roles, so that etcd never has fewer members than before.
pub(in super::super) struct Swap {
    /// The cluster in between, with those that are control planes and those that are to be.
    pub(in super::super) between: Cluster,
    /// Those that are to be control planes. One that became it before the run was cut off can't be told from one that is to be made afresh.
    pub(in super::super) first: Vec<String>,
    /// The others that are made afresh.
    pub(in super::super) then: Vec<String>,
}

/// Looks whether of these hosts some are to become control planes, and others are to be none any more. Nothing, if it is not so.
pub(in super::super) async fn swap(
    cluster: &Cluster,
    removal: &Removal<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Option<Swap>, Vec<Failure>> {
    let chosen = || cluster.hosts.iter().filter(|host| removal.hosts.contains(&host.name));
    let may_be = removal.silent == Silent::Refused && !cluster.has_etcd_units();
    if !may_be || chosen().all(|host| host.roles.control_plane) || chosen().all(|host| !host.roles.control_plane) {
        return Ok(None);
    }
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    for host in chosen() {
        observed.looks.entry(host.name.clone()).or_default().add_others(&looks_at_leaving(host));
    }
    observed.ask(|host| removal.hosts.iter().any(|name| name == host)).await?;
    Ok(find_swap(cluster, &present(cluster, removal.hosts, &observed.seen), removal.hosts))
}

fn find_swap(cluster: &Cluster, is: &Cluster, chosen: &[String]) -> Option<Swap> {
    let was_plane = |host: &Host| is.host(&host.name).is_some_and(|is| is.roles.control_plane);
    let is_chosen = |host: &&Host| chosen.contains(&host.name);
    let ceases = |host: &Host| !host.roles.control_plane && was_plane(host);
    let (first, then): (Vec<&Host>, Vec<&Host>) = cluster.hosts.iter().filter(is_chosen).partition(|host| host.roles.control_plane);
    if first.is_empty() || !then.iter().any(|host| ceases(host)) {
        return None;
    }
    let between =
        cluster.hosts.iter().map(|host| is.host(&host.name).filter(|_| chosen.contains(&host.name) && ceases(host)).unwrap_or(host));
    let between = Cluster { hosts: between.cloned().collect(), ..cluster.clone() };
    if between.etcd_hosts().count() > MOST_MEMBERS {
        return None;
    }
    let names = |hosts: Vec<&Host>| hosts.into_iter().map(|host| host.name.clone()).collect();
    Some(Swap { between, first: names(first), then: names(then) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

    use kok_crds::model::{Cluster, Roles};
    use kok_crds::read_cluster;

    use super::{Swap, find_swap};

    const FILE: &str =
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n";

    fn cluster(roles: &[&str]) -> Cluster {
        let line = |(index, role): (usize, &&str)| format!("  - {{name: h{index}, address: 10.0.0.1{index}, roles: [{role}]}}\n");
        let lines: String = roles.iter().enumerate().map(line).collect();
        read_cluster("c.yaml", &format!("{FILE}{lines}")).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    /// The same hosts, of which these are control planes now.
    fn now(cluster: &Cluster, planes: &[&str]) -> Cluster {
        let mut is = cluster.clone();
        for host in &mut is.hosts {
            let plane = planes.contains(&host.name.as_str());
            host.roles = Roles { control_plane: plane, etcd: plane, worker: !plane };
        }
        is
    }

    fn members(swap: &Swap) -> usize {
        swap.between.etcd_hosts().count()
    }

    const PLANE: &str = "control-plane";

    #[test]
    fn who_becomes_a_control_plane_does_before_another_one_ceases_to_be_one() {
        let file = cluster(&[PLANE, PLANE, "worker", PLANE]);
        let chosen = ["h2".to_owned(), "h3".to_owned()];
        let swap = find_swap(&file, &now(&file, &["h0", "h1", "h2"]), &chosen).unwrap();
        assert_eq!((swap.first.as_slice(), swap.then.as_slice(), members(&swap)), (&chosen[1..], &chosen[..1], 4));
        assert!(find_swap(&file, &now(&file, &["h0", "h1", "h3"]), &chosen).is_none(), "nobody ceases");
    }

    /// Both in one go would leave etcd with fewer members than before.
    #[test]
    fn the_same_typed_again_after_the_first_has_joined_is_no_other_way() {
        let file = cluster(&[PLANE, PLANE, "worker", PLANE]);
        let chosen = ["h2".to_owned(), "h3".to_owned()];
        let swap = find_swap(&file, &now(&file, &["h0", "h1", "h2", "h3"]), &chosen).unwrap();
        assert_eq!((swap.first.as_slice(), swap.then.as_slice(), members(&swap)), (&chosen[1..], &chosen[..1], 4));
    }

    #[test]
    fn etcd_never_has_more_members_than_it_may() {
        let file = cluster(&[PLANE, PLANE, PLANE, PLANE, PLANE, PLANE, PLANE, "worker"]);
        let chosen = ["h6".to_owned(), "h7".to_owned()];
        assert!(find_swap(&file, &now(&file, &["h0", "h1", "h2", "h3", "h4", "h5", "h7"]), &chosen).is_none());
    }
}
