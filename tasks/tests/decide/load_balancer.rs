//! Load balancers of hosts without an API server.

use kok_crds::model::{ALL_CHECKS, Cluster};
use kok_tasks::documents::join_configuration;
use kok_tasks::plan::Plan;

use crate::support::world::World;
use crate::support::{cluster_of, highly_available, step_id};

/// Whether haproxy's manifest waits for this worker's join.
fn comes_after_the_join(plan: &Plan, host: &str) -> bool {
    let needs = plan.needs(&step_id(host, "load-balancer", "manifest"));
    needs.iter().any(|(need, _)| need.id == step_id(host, "kubelet-join", "joined"))
}

#[test]
fn a_kubelet_that_will_be_started_twice_has_no_pod_to_begin_before() {
    let mut world = World::bare_of(highly_available());
    assert!(comes_after_the_join(&world.plan(), "worker1"));
    let needs = world.plan();
    let needs = needs.needs(&step_id("worker1", "kubelet-join", "joined"));
    assert!(needs.iter().any(|(need, _)| need.id.as_str() == "worker1/load-balancer/manifest-folder"), "the kubelet watches it");
    world = world.converge();
    world.host("worker2").paths.remove("/etc/kubernetes/kubelet.conf");
    let plan = world.plan();
    assert!(comes_after_the_join(&plan, "worker2"));
    assert!(!comes_after_the_join(&plan, "worker1"), "a node gets its load balancer whatever its kubelet waits for");
}

#[test]
fn load_balancers_that_are_not_wanted_go_and_hosts_take_the_way_without_them() {
    let text = include_str!("../fixtures/highly-available.yaml");
    let mut world = World::bare_of(highly_available()).converge();
    world.cluster = cluster_of(&format!("{text}  vars: {{loadbalancer_apiserver_localhost: false}}\n"));
    let plan = world.plan();
    let changes: Vec<&str> = plan.changes().map(|(step, _)| step.id.as_str()).collect();
    let expected =
        ["names/hosts-file", "load-balancer/no-manifest"].map(|step| ["worker1", "worker2"].map(|host| format!("{host}/{step}")));
    assert_eq!(changes, expected.concat(), "no kubelet is started anew");
    let world = world.converge();
    let worker = &world.hosts["worker1"];
    assert!(!worker.has("/etc/kubernetes/manifests/kokctl-haproxy.yaml") && !worker.text("/etc/hosts").contains("127.0.0.1 lb-"));
    assert!(world.plan().is_empty());
}

/// kubeadm refuses single checks beside all of them.
#[test]
fn the_folder_of_its_manifest_is_not_named_beside_all_checks() {
    let mut cluster = highly_available();
    let is_named = |cluster: &Cluster| {
        let worker = cluster.hosts.iter().find(|host| !host.roles.control_plane).unwrap();
        let join = join_configuration(cluster, worker, "abcdef.0123456789abcdef").unwrap();
        join.contains("DirAvailable--etc-kubernetes-manifests")
    };
    assert!(is_named(&cluster));
    cluster.settings.kubeadm_ignore_preflight_errors = vec![ALL_CHECKS.to_owned()];
    assert!(!is_named(&cluster));
}
