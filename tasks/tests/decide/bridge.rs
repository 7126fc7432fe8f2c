//! The plain bridge: shares of the pods' range, and routes to them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use kok_crds::model::{Cluster, NetworkPlugin};
use kok_tasks::change::Verdict;
use kok_tasks::observe::{Family, Look, Observations, PodNetwork, parse, probe_script};
use kok_tasks::operations::{Operation, PodRoutes};
use kok_tasks::plan::{Action, Plan};

use crate::support::world::World;
use crate::support::{cluster, highly_available, nonce};

fn bridged(mut cluster: Cluster) -> Cluster {
    cluster.network.plugin = NetworkPlugin::Bridge;
    cluster
}

fn left(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect()
}

/// The shares of a plan, in the order of the names of hosts.
fn shares(plan: &Plan) -> Vec<String> {
    let shares = plan.steps().find_map(|step| match &step.action {
        Action::Operation(Operation::NodeShares(shares)) => Some(&shares.shares),
        _ => None,
    });
    shares
        .unwrap()
        .iter()
        .map(|(name, shares)| {
            let shares: Vec<String> = shares.iter().map(ToString::to_string).collect();
            format!("{name} {}", shares.join(" "))
        })
        .collect()
}

fn routes(plan: &Plan, host: &str) -> Vec<String> {
    let routes = plan.steps().find_map(|step| match &step.action {
        Action::Operation(Operation::PodRoutes(routes)) if step.host == host => Some(&routes.routes),
        _ => None,
    });
    routes.unwrap().iter().map(|(to, via)| format!("{to} via {via}")).collect()
}

#[test]
fn a_cluster_with_a_bridge_converges() {
    for cluster in [cluster(), highly_available()] {
        let world = World::bare_of(bridged(cluster));
        let steps: Vec<String> = world.plan().steps().map(|step| step.id.to_string()).collect();
        assert!(!steps.iter().any(|id| id.contains("flannel")), "{steps:?}");
        let world = world.converge();
        assert_eq!(left(&world), Vec::<String>::new());
        assert!(world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml").contains("allocate-node-cidrs"));
    }
}

#[test]
fn every_host_has_a_share_and_a_route_to_each_other() {
    let plan = World::bare_of(bridged(cluster())).plan();
    assert_eq!(shares(&plan), ["cp1 10.233.64.0/24", "worker1 10.233.65.0/24", "worker2 10.233.66.0/24"]);
    assert_eq!(routes(&plan, "worker1"), ["10.233.64.0/24 via 10.20.0.11", "10.233.66.0/24 via 10.20.0.13"]);
}

/// Wherever a new host stands in the file, and although another one has the share that would be its by the order.
#[test]
fn hosts_keep_their_shares_and_a_new_one_gets_a_free_one() {
    let mut world = World::bare_of(bridged(cluster()));
    let all = world.cluster.hosts.clone();
    world.cluster.hosts.retain(|host| host.name != "worker1");
    let mut world = world.converge();
    assert_eq!(shares(&world.plan()), ["cp1 10.233.64.0/24", "worker2 10.233.65.0/24"]);
    world.cluster.hosts = all;
    let plan = world.plan();
    assert_eq!(shares(&plan), ["cp1 10.233.64.0/24", "worker1 10.233.66.0/24", "worker2 10.233.65.0/24"]);
    assert_eq!(routes(&plan, "cp1"), ["10.233.65.0/24 via 10.20.0.13", "10.233.66.0/24 via 10.20.0.12"]);
    assert_eq!(left(&world.converge()), Vec::<String>::new());
}

#[test]
fn what_is_wrong_with_routes_is_told_and_put_right() {
    let mut world = World::bare_of(bridged(cluster())).converge();
    let net = |text: &str| text.parse::<IpNet>().unwrap();
    let whole = world.hosts["worker1"].pod_network.clone();
    let mut said = |change: &dyn Fn(&mut PodNetwork)| {
        let network = &mut world.host("worker1").pod_network;
        *network = whole.clone();
        change(network);
        left(&world).join(" ")
    };
    assert_eq!(
        said(&|network| {
            network.routes.remove(&net("10.233.64.0/24"));
        }),
        "worker1/network/routes: it has no route to the pods 10.233.64.0/24 of 10.20.0.11"
    );
    let other: IpAddr = "10.20.0.99".parse().unwrap();
    assert_eq!(
        said(&|network| {
            network.routes.insert(net("10.233.64.0/24"), (other, true));
        }),
        "worker1/network/routes: its route to the pods 10.233.64.0/24 leads to 10.20.0.99, not to 10.20.0.11"
    );
    assert_eq!(
        said(&|network| {
            network.routes.insert(net("10.233.90.0/24"), (other, true));
        }),
        "worker1/network/routes: its route to 10.233.90.0/24 by 10.20.0.99 leads to no pods of the cluster"
    );
    assert_eq!(
        said(&|network| {
            network.routes.insert(net("10.233.90.0/24"), (other, false));
        }),
        "",
        "that is somebody else's"
    );
    assert!(said(&|network| network.masquerades.clear()).contains("with the pods' addresses"));
    assert_eq!(said(&|_| {}), "");
}

#[test]
fn a_running_cluster_keeps_its_bridge_and_gets_none() {
    let refused = |mut world: World, plugin: NetworkPlugin| {
        world.cluster.network.plugin = plugin;
        world.try_plan().unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let bridge = refused(World::bare_of(bridged(cluster())).converge(), NetworkPlugin::Flannel);
    assert!(bridge.contains("the network plugin of the running cluster is bridge, the file asks for flannel"), "{bridge}");
    let flannel = refused(World::converged(), NetworkPlugin::Bridge);
    assert!(flannel.contains("the network plugin of the running cluster is flannel, the file asks for bridge"), "{flannel}");
}

/// As iproute2 6.1 and nftables 1.0.6 print it.
#[test]
fn routes_are_read_as_the_host_has_them() {
    let looks = [Look::PodNetwork(vec!["10.233.64.0/18".parse().unwrap(), "fd00:64::/112".parse().unwrap()])].into_iter().collect();
    let script = probe_script(&nonce(), &looks, None);
    assert!(script.contains("ip -4 route show root 10.233.64.0/18") && script.contains("ip -6 route show root fd00:64::/112"), "{script}");
    let mark = nonce().as_str().to_owned();
    let answer = format!(
        "\n{mark} clock\n1\n1.00 1\n\n{mark} pod-network\n10.233.64.0/24 via 10.20.0.11 dev host0 proto 75 \n\
         10.233.65.0/24 dev cni0 proto kernel scope link src 10.233.65.1 \n10.233.70.0/24 via 10.20.0.9 dev host0 \nmasquerades IPv4\n\
         fd00:64::100/120 via fd00:20::11 dev host0 proto 75 metric 1024 pref medium\nfd00:64::/120 dev cni0 proto kernel metric 256 pref medium\n\
         masquerades IPv6\n\n{mark} end\n"
    );
    let seen: Observations = parse(&nonce(), &looks, answer.as_bytes()).unwrap();
    let route = |to: &str, via: &str, ours| (to.parse::<IpNet>().unwrap(), (via.parse::<IpAddr>().unwrap(), ours));
    let routes = BTreeMap::from([
        route("10.233.64.0/24", "10.20.0.11", true),
        route("10.233.70.0/24", "10.20.0.9", false),
        route("fd00:64::100/120", "fd00:20::11", true),
    ]);
    let masquerades = std::collections::BTreeSet::from([Family::V4, Family::V6]);
    assert_eq!(seen.pod_network, Some(PodNetwork { routes: routes.clone(), masquerades: masquerades.clone() }));
    let wanted = routes.into_iter().filter(|(_, (_, ours))| *ours).map(|(to, (via, _))| (to, via)).collect();
    let ranges = ["10.233.64.0/18", "fd00:64::/112"].map(|range| range.parse().unwrap()).to_vec();
    let operation = Operation::PodRoutes(PodRoutes { ranges, routes: wanted, masquerades, commands: "/c".into(), rules: "/r".into() });
    assert_eq!(operation.diff(&seen), Verdict::Same);
}
