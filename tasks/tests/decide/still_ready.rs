//! Kubelets of a cluster that works: in which order they are started anew, and what is waited for afterwards.

use std::collections::BTreeSet;

use kok_tasks::plan::Plan;

use crate::support::world::World;
use crate::support::{cluster_of, highly_available, step_id};

const CONFIGURATION: &str = "/var/lib/kubelet/config.yaml";

fn running() -> World {
    World::bare_of(highly_available()).converge()
}

fn changes(plan: &Plan) -> BTreeSet<String> {
    plan.changes().map(|(step, _)| step.id.to_string()).collect()
}

/// What a step of a host needs of other hosts' kubelets.
fn kubelets_before(plan: &Plan, host: &str, step: (&str, &str)) -> BTreeSet<String> {
    let needs = plan.needs(&step_id(host, step.0, step.1));
    let of_others = needs.iter().map(|(need, _)| need.id.to_string()).filter(|id| !id.starts_with(host));
    of_others.filter(|id| id.ends_with("/goes-on") || id.ends_with("/still-ready")).collect()
}

fn task_of(host: &str) -> &'static str {
    if host.starts_with("cp") { "control-plane" } else { "kubelet-join" }
}

#[test]
fn workers_wait_for_the_first_control_plane_and_control_planes_for_the_one_before() {
    let works = |host: &str| BTreeSet::from(["goes-on", "still-ready"].map(|step| format!("{host}/{}/{step}", task_of(host))));
    let (join, manifests) = (("kubelet-join", "joined"), ("control-plane", "manifests"));
    let nobody = BTreeSet::new();
    let plan = running().plan();
    assert_eq!(kubelets_before(&plan, "worker1", join), works("cp1"));
    assert_eq!(kubelets_before(&plan, "worker2", join), &works("cp1") | &works("worker1"));
    assert_eq!(kubelets_before(&plan, "cp2", manifests), works("cp1"));
    assert_eq!(kubelets_before(&plan, "cp3", ("etcd", "manifest")), works("cp2"));
    assert_eq!(kubelets_before(&World::bare_of(highly_available()).plan(), "worker1", join), nobody, "there is nothing to lose");
    // What is broken is mended at once. While a kubelet does not go on, no other one is given what may be the cause.
    let mut world = running();
    for name in ["worker1", "cp1"] {
        world.api.nodes.get_mut(name).unwrap().taints.push("node.kubernetes.io/not-ready=:NoExecute".to_owned());
    }
    let plan = world.plan();
    let goes_on = BTreeSet::from(["cp1/control-plane/goes-on".to_owned()]);
    assert_eq!(kubelets_before(&plan, "worker1", join), nobody);
    assert_eq!(kubelets_before(&plan, "worker2", join), goes_on);
    assert_eq!(kubelets_before(&plan, "cp2", manifests), goes_on);
    // Of workers too, whether it is looked at while it is dead or for a moment alive.
    let of_worker1 = BTreeSet::from(["worker1/kubelet-join/goes-on".to_owned()]);
    for (active, restarts) in [("activating", 9), ("active", 9), ("failed", 0)] {
        let unit = world.host("worker1").units.get_mut("kubelet.service").unwrap();
        (unit.active, unit.restarts) = (active.to_owned(), restarts);
        let plan = world.plan();
        assert_eq!(kubelets_before(&plan, "worker2", join), &goes_on | &of_worker1, "{active}");
        assert_eq!(kubelets_before(&plan, "worker1", join), nobody, "{active}");
    }
}

#[test]
fn what_only_kubelets_can_bring_about_is_not_waited_for_when_one_ends() {
    let plan = running().plan();
    let goes_on = |hosts: &[&str]| hosts.iter().map(|host| format!("{host}/{}/goes-on", task_of(host))).collect::<BTreeSet<_>>();
    let needs = |step: (&str, &str)| kubelets_before(&plan, "cp1", step).into_iter().filter(|id| id.ends_with("/goes-on")).collect();
    let (of_workers, of_others): (BTreeSet<_>, BTreeSet<_>) = (needs(("load-balancer", "ready")), needs(("network", "nodes-ready")));
    assert_eq!(of_workers, goes_on(&["worker1", "worker2"]));
    assert_eq!(of_others, goes_on(&["cp2", "cp3", "worker1", "worker2"]));
}

#[test]
fn a_fifth_of_the_workers_at_a_time() {
    let more: String =
        (3..=13).map(|number| format!("    - {{name: worker{number}, address: 10.20.0.{}, roles: [worker]}}\n", 20 + number)).collect();
    let text = include_str!("../fixtures/highly-available.yaml").replace("  network:\n", &format!("{more}  network:\n"));
    let mut world = World::bare_of(cluster_of(&text)).converge();
    let first_of = |plan: &Plan, worker: &str| {
        let before = kubelets_before(plan, worker, ("kubelet-join", "joined"));
        let before: BTreeSet<String> = before.iter().map(|id| id.split('/').next().unwrap().to_owned()).collect();
        before.into_iter().find(|host| host.starts_with("worker"))
    };
    let plan = world.plan();
    let before = ["worker1", "worker2", "worker3", "worker4", "worker13"].map(|worker| first_of(&plan, worker));
    assert_eq!(before, [None, None, Some("worker1".to_owned()), Some("worker2".to_owned()), Some("worker11".to_owned())]);
    // Nobody waits for one that has nothing to lose.
    world.api.nodes.get_mut("worker2").unwrap().taints.push("node.kubernetes.io/not-ready=:NoExecute".to_owned());
    assert_eq!(first_of(&world.plan(), "worker4").as_deref(), Some("worker1"), "of twelve that are Ready, two at a time");
    // As many as the file says.
    for (serial, first) in [("1", "worker3"), ("30%", "none")] {
        world.cluster = cluster_of(&format!("{text}  vars: {{serial: {serial}}}\n"));
        assert_eq!(first_of(&world.plan(), "worker4").unwrap_or_else(|| "none".to_owned()), first, "{serial}");
    }
}

#[test]
fn a_kubelet_that_speaks_seldom_is_waited_for() {
    let text = include_str!("../fixtures/highly-available.yaml");
    let vars = "  vars: {kubelet_status_update_frequency: 5m}\n";
    let world = World::bare_of(cluster_of(&format!("{text}{vars}"))).converge();
    let deadline = |world: &World| world.plan().step(&step_id("worker1", "kubelet-join", "still-ready")).unwrap().deadline.as_secs();
    assert_eq!((deadline(&running()), deadline(&world)), (310, 600));
}

#[test]
fn what_ran_everywhere_is_looked_at_again() {
    let mut world = running();
    assert!(world.plan().is_empty());
    world.host("worker1").paths.remove(CONFIGURATION);
    let again = ["network/flannel-running", "network/kube-proxy-running", "network/coredns-running", "load-balancer/ready"];
    let mut expected: BTreeSet<String> = again.iter().map(|step| format!("cp1/{step}-again")).collect();
    expected.extend(["joined", "goes-on", "still-ready"].map(|step| format!("worker1/kubelet-join/{step}")));
    assert_eq!(changes(&world.plan()), expected);
    // What did not run before is no matter of the kubelets.
    world.api.objects.remove("DaemonSet/kube-flannel/kube-flannel-ds");
    let changes = changes(&world.plan());
    assert!(!changes.contains("cp1/network/flannel-running-again") && changes.contains("cp1/network/flannel-running"), "{changes:?}");
    assert!(world.converge().plan().is_empty());
}
