//! The certificates that kubelets show.

use kok_pki::inspect_certificate;
use kok_tasks::in_use::{KUBELET_SERVING, KUBELET_SERVING_KEY};

use crate::support::world::World;
use crate::support::{own_etcd, step_id};

const FILES: [&str; 2] = ["kubelet-certificate/key", "kubelet-certificate/certificate"];

fn changes(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, _)| step.id.to_string()).collect()
}

fn files_of(host: &str) -> Vec<String> {
    FILES.map(|file| format!("{host}/{file}")).to_vec()
}

/// A kubelet finds it before it is started for the first time; who runs no kubelet has none.
#[test]
fn it_is_there_before_a_kubelet_starts() {
    let plan = World::bare().plan();
    for (host, task, start) in [("cp1", "control-plane", "kubelet"), ("worker1", "kubelet-join", "joined")] {
        let needs = plan.changed_needs(&step_id(host, task, start));
        assert!(needs.iter().any(|id| *id == step_id(host, "kubelet-certificate", "certificate")), "{host}: {needs:?}");
    }
    let world = World::bare_of(own_etcd()).converge();
    assert!(world.hosts["cp1"].has(KUBELET_SERVING) && !world.hosts["etcd1"].has(KUBELET_SERVING));
}

/// It says who the kubelet is, by its node's name and address.
#[test]
fn it_is_the_nodes_own() {
    let world = World::converged();
    let facts = inspect_certificate(&world.hosts["worker1"].paths[KUBELET_SERVING].content).unwrap();
    let address = world.cluster.host("worker1").unwrap().address.to_string();
    assert_eq!(facts.subject.common_name.as_deref(), Some("system:node:worker1"));
    assert_eq!(facts.subject.organizations, ["system:nodes"]);
    assert_eq!(facts.sans.iter().map(ToString::to_string).collect::<Vec<_>>(), ["worker1", &address]);
}

/// One that a kubelet has signed itself is replaced, as in a cluster that was made before, and no kubelet is started anew for it.
#[test]
fn another_one_is_replaced_and_nothing_is_started() {
    let of_other = World::converged().hosts["cp1"].paths[KUBELET_SERVING].content.clone();
    for text in ["nothing", &of_other] {
        let mut world = World::converged();
        world.host("worker1").write(KUBELET_SERVING, 0o644, text);
        assert_eq!(changes(&world), files_of("worker1"), "{text}");
    }
    for missing in [KUBELET_SERVING, KUBELET_SERVING_KEY] {
        let mut world = World::converged();
        world.host("worker1").paths.remove(missing);
        assert_eq!(changes(&world), files_of("worker1"), "{missing}");
    }
}

/// A host that has another address is another server to its clients.
#[test]
fn another_address_is_another_certificate() {
    let mut world = World::converged();
    let worker = world.cluster.hosts.iter_mut().find(|host| host.name == "worker1").unwrap();
    worker.address = "10.20.0.99".parse().unwrap();
    let changes = changes(&world);
    assert!(files_of("worker1").iter().all(|step| changes.contains(step)), "{changes:?}");
}

/// What the user has a kubelet show stands elsewhere, and is his.
#[test]
fn a_certificate_of_the_users_is_left_to_him() {
    let mut world = World::bare();
    let name = "worker1".to_owned();
    world
        .cluster
        .settings
        .components
        .kubelet_of_hosts
        .entry(name)
        .or_default()
        .fields
        .insert("tlsCertFile".to_owned(), "/etc/own.crt".into());
    let world = world.converge();
    assert!(world.hosts["cp1"].has(KUBELET_SERVING) && !world.hosts["worker1"].has(KUBELET_SERVING));
}
