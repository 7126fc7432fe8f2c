//! Hosts that joined, and whose nodes are gone: after a restore of what was before they joined, or by somebody's hand.

use crate::support::world::World;
use crate::support::{highly_available, step_id};

/// A kubelet makes its node once, when it starts: one that runs for long is started anew, and is marked after that.
#[test]
fn a_kubelet_makes_its_node_again() {
    for (name, task) in [("worker1", "kubelet-join"), ("cp1", "control-plane")] {
        let mut world = World::converged();
        world.api.nodes.remove(name);
        let plan = world.plan();
        let registers = step_id(name, task, "registers");
        assert!(plan.change(&registers).is_some_and(|change| change.because.contains("no node of this host")), "{name}");
        let mark = step_id(name, task, "marked");
        assert!(plan.step(&mark).is_none() || plan.changed_needs(&mark).iter().any(|id| *id == registers), "{name}");
        assert!(plan.changes().all(|(step, _)| step.id != step_id(name, task, "joined")), "{name} has joined");
        assert!(world.converge().api.nodes.contains_key(name), "{name}");
    }
}

/// A node that is there is left alone, and so is a kubelet that does not run: it makes its node when it is started.
#[test]
fn nothing_is_started_where_the_node_is_there() {
    let registers = |world: &World| world.plan().step(&step_id("worker1", "kubelet-join", "registers")).is_some();
    let mut world = World::converged();
    assert!(!registers(&world));
    world.api.nodes.remove("worker1");
    assert!(registers(&world));
    world.host("worker1").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    assert!(!registers(&world));
}

/// Where etcd was made anew beside it, a kubelet was started when there was no API server to ask, and pauses for longer than that takes.
#[test]
fn a_kubelet_that_found_its_api_server_away_asks_again() {
    let mut world = World::bare_of(highly_available()).converge();
    assert!(world.plan().is_empty());
    let asks = step_id("cp2", "control-plane", "asks-again");
    let host = world.host("cp2");
    host.paths.remove("/etc/kubernetes/manifests/kube-apiserver.yaml");
    host.start("kubelet.service");
    let plan = world.plan();
    assert!(plan.change(&asks).is_some_and(|change| change.because.contains("two minutes")));
    assert!(plan.changed_needs(&asks).contains(&step_id("cp2", "control-plane", "api-server")), "it would find nobody again");
    let mut world = world.converge();
    world.host("cp2").now += 151;
    assert!(world.plan().step(&asks).is_none(), "it has written its CSINode long ago");
}
