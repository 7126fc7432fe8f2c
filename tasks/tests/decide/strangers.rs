//! What strangers may read of the cluster: nothing, where the owner says so.

use crate::support::world::World;

const BINDING: &str = "RoleBinding/kube-public/kubeadm:bootstrap-signer-clusterinfo";

fn changes(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary(), change.because)).collect()
}

#[test]
fn a_new_cluster_is_closed_though_hosts_join() {
    let mut world = World::bare();
    world.cluster.settings.security.private_cluster_info = true;
    let world = world.converge();
    assert!(!world.api.objects.contains_key(BINDING) && changes(&world).is_empty());
    assert!(World::converged().api.objects.contains_key(BINDING));
}

#[test]
fn a_running_cluster_is_closed_without_a_token() {
    let mut world = World::converged();
    world.cluster.settings.security.private_cluster_info = true;
    assert_eq!(changes(&world), ["cp1/control-plane/cluster-info: close because strangers may read cluster-info"]);
    let mut world = world.converge();
    assert!(!world.api.objects.contains_key(BINDING) && world.api.tokens.is_empty(), "{:?}", world.api.tokens);
    assert!(changes(&world).is_empty());
    world.cluster.settings.security.private_cluster_info = false;
    assert!(changes(&world).is_empty(), "what somebody has closed is not opened");
}
