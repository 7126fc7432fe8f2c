//! What a host has for itself reaches this host, and no other.

use crate::support::cluster_of;
use crate::support::world::World;

const CLUSTER: &str = include_str!("../fixtures/cluster.yaml");

/// All that is written on a host, with its place.
fn written(world: &World, host: &str) -> String {
    let plan = world.plan();
    plan.steps().filter(|step| step.id.to_string().starts_with(&format!("{host}/"))).map(|step| format!("{step:?}\n")).collect()
}

/// The cluster in which one worker says this for itself.
fn with(vars: &str) -> World {
    let line = "name: worker1, address: 10.20.0.12, roles: [worker]";
    World::bare_of(cluster_of(&CLUSTER.replace(line, &format!("{line}, vars: {{{vars}}}"))))
}

#[test]
fn settings_of_a_host_reach_it_alone() {
    let usual = with("");
    for (vars, shown) in [
        ("additional_sysctl: [{name: vm.swappiness, value: 7}]", "vm.swappiness"),
        ("additional_kernel_modules: [nbd]", "nbd"),
        ("http_proxy: 'http://own.example:3128'", "own.example"),
        (
            "containerd_registries_mirrors: [{prefix: docker.io, mirrors: [{host: 'https://own.example', capabilities: [pull]}]}]",
            "own.example",
        ),
        ("containerd_limit_open_file_num: 543210", "543210"),
        ("containerd_extra_runtime_args: {own_argument: 1}", "own_argument"),
    ] {
        let own = with(vars);
        assert!(written(&own, "worker1").contains(shown), "{vars}");
        assert!(!written(&usual, "worker1").contains(shown), "{vars}");
        for host in ["cp1", "worker2"] {
            assert_eq!(written(&own, host), written(&usual, host), "{vars} on {host}");
        }
    }
}

/// A change of what one host has changes nothing on the others of a cluster that works.
#[test]
fn a_running_cluster_changes_on_that_host_alone() {
    let mut world = with("").converge();
    world.cluster = with("http_proxy: 'http://own.example:3128', additional_sysctl: [{name: vm.swappiness, value: 7}]").cluster;
    let plan = world.plan();
    let changed: Vec<String> = plan.steps().filter(|step| plan.change(&step.id).is_some()).map(|step| step.id.to_string()).collect();
    assert!(changed.iter().any(|step| step.starts_with("worker1/proxy")), "{changed:?}");
    assert!(!changed.iter().any(|step| step.starts_with("worker2/") || step.starts_with("cp1/proxy")), "{changed:?}");
    assert!(world.converge().plan().is_empty());
}
