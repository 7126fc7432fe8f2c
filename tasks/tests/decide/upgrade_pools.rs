//! Workers that an upgrade takes pool after pool.

use std::time::Duration;

use kok_crds::Position;
use kok_crds::model::{Cluster, Pool, Serial};
use kok_tasks::observe::{API_SERVER, KUBELET};
use kok_tasks::upgrade::{Running, Stage, StageName, Wish, path, stages};

use crate::support::step_id;
use crate::support::upgrading::{NEW, of_version};
use crate::upgrades::{PLANES, is_after, old, ordered, plan_of};

fn with_pools(pools: &[(&str, &[&str], Option<Serial>, u64)]) -> Vec<Pool> {
    let origin = Position { file: "cluster.yaml".into(), line: 1, column: 1 };
    let pool = |(name, hosts, serial, soak): &(&str, &[&str], Option<Serial>, u64)| Pool {
        name: (*name).to_owned(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        serial: *serial,
        order: 0,
        soak: Duration::from_secs(*soak),
        origin: origin.clone(),
    };
    pools.iter().map(pool).collect()
}

/// A pool is a stage of its own; in it, a node is looked at for as long as the pool says before another one is taken.
#[test]
fn workers_come_pool_after_pool_and_each_is_looked_at_before_the_next() {
    let world = old();
    let running = Running::from_seen(&world.cluster, &world.seen()).unwrap();
    let hops = path(&running, &NEW.parse().unwrap(), &world.bundle).unwrap();
    let stages_of = |pools: &[(&str, &[&str], Option<Serial>, u64)]| {
        let cluster = Cluster { pools: with_pools(pools), ..of_version(NEW) };
        let all = stages(&cluster, &running, &hops, &Wish::default()).unwrap();
        all.into_iter().filter(|stage| stage.name == StageName::Kubelets).collect::<Vec<_>>()
    };
    let told = |stages: &[Stage]| stages.iter().map(|stage| stage.hosts.join(",")).collect::<Vec<_>>();
    assert_eq!(told(&stages_of(&[])), ["cp1,cp2,cp3", "worker1,worker2"]);
    assert_eq!(told(&stages_of(&[("late", &["worker2"], None, 0)])), ["cp1,cp2,cp3", "worker2", "worker1"]);
    let both = stages_of(&[("all", &["worker1", "worker2"], Some(Serial::Share(50)), 600)]);
    assert_eq!(told(&both), ["cp1,cp2,cp3", "worker1,worker2"]);
    assert_eq!((both[1].cluster.settings.serial, both[0].cluster.settings.serial), (Serial::Count(1), of_version(NEW).settings.serial));
    let mut world = world;
    // Control planes have theirs by then.
    for name in PLANES {
        [API_SERVER, "kube-controller-manager", "kube-scheduler", KUBELET]
            .iter()
            .for_each(|program| world.host(name).has_version(program, NEW, NEW));
    }
    let plan = plan_of(&world, &both[1]);
    let of = |host: &'static str, name: &'static str| (host, "kubelet-join", name);
    ordered(
        &plan,
        &[
            of("worker1", "cordoned"),
            of("worker1", "still-ready"),
            of("worker1", "ran"),
            of("worker1", "soaked"),
            of("worker2", "cordoned"),
        ],
    );
    let quick = stages_of(&[("all", &["worker1", "worker2"], Some(Serial::Count(2)), 600)]);
    let plan = plan_of(&world, &quick[1]);
    assert!(
        !is_after(&plan, &step_id("worker2", "kubelet-join", "cordoned"), &step_id("worker1", "kubelet-join", "soaked")),
        "two at a time"
    );
}
