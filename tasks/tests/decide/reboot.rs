//! Hosts that are started anew, and an order to do so that goes on after it was cut off.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_tasks::drain::DrainSettings;
use kok_tasks::plan::{Making, Plan, Reboots, boots, reboot, reboot_looks};

use crate::bootstrap::bare;
use crate::support::step_id;
use crate::support::world::World;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A cluster whose hosts are at their first start.
fn world() -> World {
    let mut world = bare().converge();
    let names: Vec<String> = world.cluster.hosts.iter().map(|host| host.name.clone()).collect();
    for name in &names {
        world.host(name).folder("/proc/sys/kernel/random", 0o555);
        world.host(name).write(BOOT_ID, 0o444, "first");
    }
    world
}

fn made(world: &World, hosts: &[&str], before: &BTreeMap<String, String>) -> Plan {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let (drain, back_within) = (DrainSettings { delete_unmanaged: true, ..DrainSettings::default() }, Duration::from_secs(60));
    let wanted = Reboots { hosts: &hosts, if_needed: false, drain, back_within, boots: before };
    let mut seen = world.seen();
    for host in &world.cluster.hosts {
        let boot_id = Some(world.hosts[&host.name].paths[BOOT_ID].content.clone());
        let facts = kok_tasks::facts::HostFacts { boot_id, ..seen.facts(&host.name).unwrap().clone() };
        seen.add_facts(&host.name, facts);
        seen.add_observations(&host.name, world.look(&host.name, reboot_looks(host).iter()));
    }
    loop {
        match reboot(&world.cluster, &wanted, &seen).unwrap() {
            Making::Made(plan) => return *plan,
            Making::LookFirst(asked) => {
                asked.into_iter().for_each(|(host, looks)| seen.add_observations(&host, world.look(&host, looks.iter())));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn changes(plan: &Plan, host: &str, step: &str) -> bool {
    plan.change(&step_id(host, "reboot", step)).is_some()
}

#[test]
fn one_that_was_started_anew_is_not_a_second_time() {
    let mut world = world();
    let first = made(&world, &["cp1", "cp2"], &BTreeMap::new());
    let before = boots(&first);
    assert_eq!(before, [("cp1".to_owned(), "first".to_owned()), ("cp2".to_owned(), "first".to_owned())].into());
    assert!(["cp1", "cp2"].iter().all(|host| changes(&first, host, "cordoned") && changes(&first, host, "reboot")));
    // What the node said before its host went down says nothing of it.
    let needs =
        |step: &str| first.needs(&step_id("cp1", "reboot", step)).into_iter().map(|(need, _)| need.id.to_string()).collect::<Vec<_>>();
    assert_eq!(needs("network"), ["cp1/reboot/ready"], "the subnet of flannel is gone with /run");
    assert_eq!((needs("ready"), needs("goes-on")), (vec!["cp1/reboot/goes-on".to_owned()], vec!["cp1/reboot/api-server".to_owned()]));
    // Whoever ordered it dies when one of them is up again.
    world.host("cp1").write(BOOT_ID, 0o444, "second");
    let again = made(&world, &["cp1", "cp2"], &before);
    assert!(!changes(&again, "cp1", "reboot") && again.step(&step_id("cp1", "reboot", "cordoned")).is_none());
    assert!(changes(&again, "cp2", "cordoned") && changes(&again, "cp2", "reboot"));
    world.host("cp2").write(BOOT_ID, 0o444, "second");
    assert!(made(&world, &["cp1", "cp2"], &before).is_empty(), "all is done");
    assert!(changes(&made(&world, &["cp1"], &BTreeMap::new()), "cp1", "reboot"), "another order is another one");
}
