//! Components that go with no version of Kubernetes come alone, whatever version the file has.

use std::collections::BTreeSet;

use kok_tasks::observe::{API_SERVER, KUBELET};
use kok_tasks::upgrade::{Running, StageName, Wish, components};

use crate::support::own_etcd;
use crate::support::upgrading::{NEW, OLD, of_version, two_releases};
use crate::support::world::World;
use crate::upgrades::{PLANES, plan_of};

/// A cluster of the old version, with an older containerd than the newest of the bundle.
fn with_old_containerd() -> World {
    let mut cluster = of_version(OLD);
    cluster.settings.containerd_version = Some("2.2.9".parse().unwrap());
    let mut world = World::bare_of(cluster);
    world.bundle = two_releases();
    world.follows_versions = true;
    world.converge()
}

fn changed(world: &World, limit: &[&str]) -> BTreeSet<String> {
    let file = of_version(NEW);
    let running = Running::from_seen(&file, &world.seen()).unwrap();
    let limit = limit.iter().map(|host| (*host).to_owned()).collect();
    let stage = components(&file, &running, &Wish { limit, ..Wish::default() });
    assert_eq!(stage.name, StageName::Components);
    plan_of(world, &stage).changes().map(|(step, _)| step.id.to_string()).collect()
}

#[test]
fn containerd_is_replaced_and_kubernetes_stays() {
    let world = with_old_containerd();
    let changed = changed(&world, &[]);
    assert!(changed.contains("worker1/container-runtime/containerd"), "{changed:?}");
    let others: Vec<&String> = changed.iter().filter(|step| !step.contains("/container-runtime/")).collect();
    assert_eq!(others, Vec::<&String>::new(), "{changed:?}");
}

/// With etcd as units, where the file has the version that runs: it is what `apply` does.
#[test]
fn members_that_are_units_stay() {
    let mut cluster = own_etcd();
    cluster.settings.containerd_version = Some("2.2.9".parse().unwrap());
    let mut world = World::bare_of(cluster);
    world.follows_versions = true;
    let (world, file) = (world.converge(), own_etcd());
    let running = Running::from_seen(&file, &world.seen()).unwrap();
    let stage = components(&file, &running, &Wish::default());
    let changed: BTreeSet<String> = plan_of(&world, &stage).changes().map(|(step, _)| step.id.to_string()).collect();
    assert!(changed.contains("cp2/container-runtime/containerd"), "{changed:?}");
    let applied = World { cluster: file, ..world };
    assert_eq!(changed, applied.plan().changes().map(|(step, _)| step.id.to_string()).collect());
}

#[test]
fn nothing_is_left_of_it_afterwards() {
    let mut world = with_old_containerd();
    world.cluster.settings.containerd_version = None;
    let world = world.converge();
    assert_eq!(changed(&world, &[]), BTreeSet::new());
}

/// Where an upgrade was paused, each host keeps what it has.
#[test]
fn a_cluster_that_is_half_way_stays_half_way() {
    let mut world = with_old_containerd();
    for name in PLANES {
        [API_SERVER, "kube-controller-manager", "kube-scheduler"]
            .iter()
            .for_each(|program| world.host(name).has_version(program, NEW, NEW));
    }
    let file = of_version(NEW);
    let stage = components(&file, &Running::from_seen(&file, &world.seen()).unwrap(), &Wish::default());
    let (plane, worker) = (file.host("cp1").unwrap(), file.host("worker1").unwrap());
    assert_eq!(stage.cluster.plane_version(plane).to_string(), NEW);
    assert_eq!([plane, worker].map(|host| stage.cluster.kubelet_version(host).to_string()), [OLD, OLD]);
    assert_eq!(stage.cluster.shared_version().to_string(), OLD);
    assert_eq!(world.hosts["worker1"].versions[KUBELET].running, Some(OLD.parse().unwrap()));
}

#[test]
fn the_hosts_that_are_meant_are_named() {
    let world = with_old_containerd();
    let file = of_version(NEW);
    let running = Running::from_seen(&file, &world.seen()).unwrap();
    let wish = Wish { limit: vec!["worker2".to_owned()], ..Wish::default() };
    assert_eq!(components(&file, &running, &wish).hosts, ["worker2"]);
    assert_eq!(components(&file, &running, &Wish::default()).hosts.len(), file.hosts.len());
}
