//! Files that were edited after the cluster was begun.

use kok_tasks::observe::Look;
use kok_tasks::preconditions;

use crate::bootstrap::{DATA, bare, refusal_text, refused, start};
use crate::support::cluster_of;
use crate::support::world::World;

#[test]
fn members_are_neither_added_nor_removed_by_apply() {
    let mut world = bare().converge();
    let text = include_str!("../fixtures/highly-available.yaml");
    world.cluster =
        cluster_of(&text.replace(
            "{name: cp3, address: 10.20.0.13, roles: [control-plane]}",
            "{name: cp4, address: 10.20.0.16, roles: [control-plane]}",
        ));
    world.hosts.insert("cp4".into(), crate::support::host::Host::bare("cp4"));
    let told = refused(&world);
    assert!(
        told.contains("cp3=https://10.20.0.13:2380, and the file the control planes") && told.contains("cp4=https://10.20.0.16:2380"),
        "{told}"
    );
}

/// What keeps the API server away is mended before anybody leaves.
#[test]
fn who_is_to_be_gone_is_a_member_until_it_leaves() {
    let mut world = bare().converge();
    world.cluster.hosts.retain(|host| host.name != "cp3");
    let said = |world: &World| world.try_plan().err().map(|refusals| refusal_text(&refusals)).unwrap_or_default();
    assert!(said(&world).contains("etcd has the members"), "{}", said(&world));
    world.cluster.removed = vec!["cp3".to_owned()];
    assert!(!said(&world).contains("etcd has the members"), "{}", said(&world));
}

#[test]
fn a_refusal_names_the_operation_that_would_be_needed() {
    let text = include_str!("../fixtures/highly-available.yaml");
    let (second, third) =
        ("{name: cp2, address: 10.20.0.12, roles: [control-plane]}", "{name: cp3, address: 10.20.0.13, roles: [control-plane]}");
    let worker = "{name: worker1, address: 10.20.0.14, roles: [worker]}";
    let running = bare().converge();
    let said = |edits: &[(&str, &str)]| {
        let mut world = running.clone();
        let edited = edits.iter().fold(text.to_owned(), |text, (host, by)| {
            assert!(text.contains(host), "{text}");
            text.replace(host, by)
        });
        world.cluster = cluster_of(&edited);
        refused(&world)
    };
    let gone = said(&[(&format!("    - {second}\n    - {third}\n"), "")]);
    assert!(gone.contains("a line of the file is lost") && gone.contains("`kokctl remove -f FILE cp2 cp3`"), "{gone}");
    assert!(!gone.contains("the file has no such host"), "the nodes would say again what etcd's list says: {gone}");
    let moved = said(&[("10.20.0.13", "10.20.0.19")]);
    assert!(moved.contains("a member has one address") && moved.contains("apply with the new address"), "{moved}");
    let swapped = said(&[(third, &third.replace("control-plane", "worker")), (worker, &worker.replace("worker]", "control-plane]"))]);
    assert!(swapped.contains("cp3 was set up as a control plane, and the file gives it other roles"), "{swapped}");
    assert!(swapped.contains("worker1 is a worker of the cluster, and the file makes it a control plane"), "{swapped}");
    for place in ["cluster.yaml:10:47", "cluster.yaml:11:51"] {
        assert!(swapped.contains(place), "{place}: {swapped}");
    }
    assert_eq!(swapped.lines().count(), 2, "etcd's list would say the same again: {swapped}");
}

/// With one control plane there is no list of members to compare.
#[test]
fn the_only_control_plane_stays_the_one() {
    let text = include_str!("../fixtures/cluster.yaml");
    let swapped = text.replace("roles: [control-plane]", "roles: [X]").replacen("roles: [worker]", "roles: [control-plane]", 1);
    let mut world = World::converged();
    world.cluster = cluster_of(&swapped.replace("roles: [X]", "roles: [worker]"));
    let told = refused(&world);
    assert!(told.contains("cp1 was set up as a control plane") && told.contains("worker1 is a worker of the cluster"), "{told}");
}

#[test]
fn a_list_that_was_edited_half_way_is_refused_once_a_member_was_started() {
    let mut world = bare();
    start(&mut world, &["cp1"]);
    assert!(world.hosts["cp1"].has(DATA), "cp1's etcd runs alone");
    let whole = world.cluster.clone();
    world.cluster = cluster_of(include_str!("../fixtures/cluster.yaml"));
    world.api.members = vec!["cp1".into(), "cp2".into(), "cp3".into()];
    world.host("cp1").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    let told = refused(&world);
    assert!(told.contains("others than those with which the cluster was begun; host cp1"), "{told}");
    world.cluster = whole;
    assert!(world.try_plan().is_ok(), "the list as it was goes on");
}

#[test]
fn a_moved_member_is_refused_and_another_order_is_not() {
    let text = include_str!("../fixtures/highly-available.yaml");
    let mut world = bare().converge();
    let (first, third) = (
        "    - {name: cp1, address: 10.20.0.11, roles: [control-plane]}\n",
        "    - {name: cp3, address: 10.20.0.13, roles: [control-plane]}\n",
    );
    world.cluster = cluster_of(&text.replace(first, "").replace(third, &format!("{third}{first}")));
    for host in ["cp1", "cp2", "cp3"] {
        world.host(host).units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    }
    assert!(!refusal_text(&world.try_plan().err().unwrap_or_default()).contains("the cluster was begun"), "an order is no other list");
    let mut world = bare().converge();
    world.cluster = cluster_of(&text.replace("10.20.0.13", "10.20.0.19"));
    assert!(refused(&world).contains("cp3=https://10.20.0.19:2380"));
}

#[test]
fn a_line_that_is_lost_is_no_removal_and_no_obstacle() {
    let text = include_str!("../fixtures/highly-available.yaml");
    let mut world = bare().converge();
    world.cluster = cluster_of(&text.replace("    - {name: worker1, address: 10.20.0.14, roles: [worker]}\n", ""));
    let mut seen = world.seen();
    seen.add_observations("cp1", world.look("cp1", [Look::Kubernetes].into_iter()));
    let warned = refusal_text(&preconditions::reminders(&world.cluster, &seen));
    assert!(warned.contains("the cluster has a node worker1") && warned.contains("`kokctl remove -f FILE worker1`"), "{warned}");
    assert!(world.try_plan().is_ok());
}
