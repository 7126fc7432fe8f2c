//! IPv6 beside IPv4.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use kok_crds::model::{Cluster, FlannelBackend, NetworkPlugin};
use kok_pki::San;
use kok_tasks::completed::completed;
use kok_tasks::documents::join_configuration;
use kok_tasks::facts::HostFacts;
use kok_tasks::firewall::Opening;
use kok_tasks::identity;
use kok_tasks::observe::{Family, Ipv6Route, Ipv6State, KubernetesState, Look, NodeState, Observations, parse, probe_script};
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Plan, Refusal, Seen};
use kok_tasks::ports;
use kok_tasks::preconditions::check;

use crate::support::world::World;
use crate::support::{cluster_of, dual_stack, good_ipv6, highly_available, nonce, seen_with};

fn with(plugin: NetworkPlugin) -> Cluster {
    let mut cluster = dual_stack();
    cluster.network.plugin = plugin;
    cluster
}

fn left(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect()
}

fn address(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

#[test]
fn a_cluster_of_both_families_converges() {
    let mut several = highly_available();
    several.network.ipv6 = dual_stack().network.ipv6;
    for cluster in [with(NetworkPlugin::Flannel), with(NetworkPlugin::Bridge), several] {
        let plugin = cluster.network.plugin.as_str();
        let world = World::bare_of(cluster).converge();
        assert_eq!(left(&world), Vec::<String>::new(), "{plugin}");
        let text = world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml");
        for line in [
            "podSubnet: \"10.233.64.0/18,fd85:ee78:d8a6:8607::1:0/112\"",
            "serviceSubnet: \"10.233.0.0/18,fd85:ee78:d8a6:8607::1000/116\"",
            "name: node-cidr-mask-size-ipv4\n    value: \"24\"",
            "name: node-cidr-mask-size-ipv6\n    value: \"120\"",
            "value: \"10.20.0.11,fd00:20::11\"",
        ] {
            assert!(text.contains(line), "{plugin}: {line} is not in {text}");
        }
        assert!(!text.contains("name: node-cidr-mask-size\n"), "the controller manager refuses it beside the others: {text}");
        assert!(world.hosts["worker1"].text("/etc/sysctl.d/99-zz-kokctl.conf").contains("net.ipv6.conf.all.forwarding = 1\n"));
    }
}

#[test]
fn a_host_joins_with_both_addresses() {
    let cluster = completed(&dual_stack(), &seen()).into_owned();
    let join = join_configuration(&cluster, &cluster.hosts[1], "abcdef.0123456789abcdef").unwrap();
    assert!(join.contains("name: node-ip\n    value: \"10.20.0.12,fd00:20::12\""), "{join}");
    let sans = |cluster: &Cluster, host: usize| identity::control_plane(cluster, &cluster.hosts[host]).extra_sans;
    let own = San::Ip(IpAddr::V6(address("fd00:20::11")));
    assert!(sans(&cluster, 0).contains(&own), "its certificates have its own");
    assert!(!sans(&cluster, 1).contains(&own), "and nobody else's");
    assert!(!sans(&dual_stack(), 0).contains(&own), "before anybody asked the host");
}

fn routes(plan: &Plan, host: &str) -> Vec<String> {
    let routes = plan.steps().find_map(|step| match &step.action {
        Action::Operation(Operation::PodRoutes(routes)) if step.host == host => Some(&routes.routes),
        _ => None,
    });
    routes.unwrap().iter().map(|(to, via)| format!("{to} via {via}")).collect()
}

#[test]
fn the_bridge_has_routes_and_shares_of_both() {
    let world = World::bare_of(with(NetworkPlugin::Bridge)).converge();
    let expected = [
        "10.233.64.0/24 via 10.20.0.11",
        "10.233.66.0/24 via 10.20.0.13",
        "fd85:ee78:d8a6:8607::1:0/120 via fd00:20::11",
        "fd85:ee78:d8a6:8607::1:200/120 via fd00:20::13",
    ];
    assert_eq!(routes(&world.plan(), "worker1"), expected);
    let file = world.hosts["worker1"].text("/etc/cni/net.d/10-kokctl-bridge.conflist");
    let json: serde_json::Value = serde_json::from_str(file).unwrap();
    assert_eq!(
        json.pointer("/plugins/0/ipam/ranges").unwrap(),
        &serde_json::json!([[{"subnet": "10.233.65.0/24"}], [{"subnet": "fd85:ee78:d8a6:8607::1:100/120"}]])
    );
    let rules = world.hosts["worker1"].text("/var/lib/kokctl/pod-rules.nft");
    assert!(
        rules.contains("ip6 saddr fd85:ee78:d8a6:8607::1:0/112 ip6 daddr != fd85:ee78:d8a6:8607::1:0/112 ip6 daddr != ff00::/8 masquerade")
    );
    let pods = &world.api.nodes["worker1"].pod_cidrs;
    assert_eq!(pods.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.233.65.0/24", "fd85:ee78:d8a6:8607::1:100/120"]);
}

/// Whoever has addresses of the internet for his pods may want them to be seen.
#[test]
fn packets_of_ipv6_may_keep_their_addresses() {
    let mut cluster = with(NetworkPlugin::Bridge);
    let mut world = World::bare_of(cluster.clone()).converge();
    let whole = world.hosts["worker1"].pod_network.clone();
    world.host("worker1").pod_network.masquerades.remove(&Family::V6);
    assert!(left(&world).join(" ").contains("packets of its pods would leave the cluster over IPv6 with the pods' addresses"));
    world.host("worker1").pod_network = whole;
    cluster.network.ipv6.as_mut().unwrap().masquerade = false;
    world.cluster = cluster;
    let told = left(&world).join(" ");
    assert!(told.contains("packets of its pods leave the cluster over IPv6 with the host's address"), "{told}");
    let world = world.converge();
    assert_eq!(left(&world), Vec::<String>::new());
    let rules = world.hosts["worker1"].text("/var/lib/kokctl/pod-rules.nft");
    assert!(rules.contains("delete table ip6 kokctl-pods\n") && !rules.contains("ip6 saddr"), "{rules}");
}

#[test]
fn flannel_is_told_of_both() {
    let world = World::bare_of(with(NetworkPlugin::Flannel));
    let plan = world.plan();
    let manifest = plan.steps().find_map(|step| match &step.action {
        Action::Operation(Operation::ApplyManifest(manifest)) if manifest.what == "flannel" => Some(manifest.text.clone()),
        _ => None,
    });
    let manifest = manifest.unwrap();
    assert!(
        manifest.contains(r#"\"EnableIPv6\":true"#) && manifest.contains(r#"\"IPv6Network\":\"fd85:ee78:d8a6:8607::1:0/112\""#),
        "{manifest}"
    );
    // 1500 bytes of the host's interface, less what VXLAN takes in packets of IPv6; flannel itself would leave 1450.
    let world = world.converge();
    assert!(world.hosts["worker1"].text("/etc/cni/net.d/10-flannel.conflist").contains("\"mtu\": 1430"));
    let mut wireguard = with(NetworkPlugin::Flannel);
    wireguard.network.backend = FlannelBackend::Wireguard;
    let all: Vec<String> = ports::of_host(&wireguard, &wireguard.hosts[1]).map(|port| port.dashed()).collect();
    assert!(all.contains(&"51820-51821/udp".to_owned()), "{all:?}");
}

#[test]
fn firewalls_let_in_pods_of_both() {
    let cluster = dual_stack();
    let opening = Opening::for_host(&cluster, &cluster.hosts[1], &HostFacts::default());
    assert_eq!(opening.pods, ["10.233.64.0/18", "fd85:ee78:d8a6:8607::1:0/112"]);
}

/// What was seen of three hosts with which nothing is wrong.
fn seen() -> Seen {
    seen_but(|_, _| {}, |_, _| {})
}

fn seen_but(facts: impl Fn(&str, &mut HostFacts), state: impl Fn(&str, &mut Ipv6State)) -> Seen {
    let mut seen = seen_with(|name, all| {
        let own = ["cp1", "worker1", "worker2"].iter().position(|known| *known == name).unwrap() + 11;
        all.interfaces.get_mut("eth0").unwrap().addresses.insert(address(&format!("fd00:20::{own}")).into());
        facts(name, all);
    });
    for name in ["cp1", "worker1", "worker2"] {
        let mut ipv6 = good_ipv6();
        state(name, &mut ipv6);
        seen.add_observations(name, Observations { ipv6: Some(ipv6), ..Observations::default() });
    }
    seen
}

fn written(refusals: &[Refusal]) -> String {
    let line = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("\n  {name}: {text}")).unwrap_or_default();
    let one = |it: &Refusal| format!("{}{}{}{}", it.what, line("at", &it.at), line("because", &it.because), line("hint", &it.hint));
    refusals.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn eth0(facts: &mut HostFacts) -> &mut kok_tasks::facts::Interface {
    facts.interfaces.get_mut("eth0").unwrap()
}

fn without_ipv6(name: &str, facts: &mut HostFacts) {
    if name == "worker1" {
        eth0(facts).addresses.retain(IpAddr::is_ipv4);
        eth0(facts).addresses.insert(address("fe80::5").into());
    }
}

#[test]
fn hosts_without_ipv6_are_refused_by_name() {
    let of_worker = |change: fn(&mut Ipv6State)| {
        move |name: &str, state: &mut Ipv6State| {
            if name == "worker1" {
                change(state)
            }
        }
    };
    let cluster = dual_stack();
    assert_eq!(check(&cluster, &seen()), Vec::new());
    insta::assert_snapshot!(
        "no_ipv6",
        written(&check(&cluster, &seen_but(without_ipv6, of_worker(|state| *state = Ipv6State::default()))))
    );
    insta::assert_snapshot!("ipv6_disabled", written(&check(&cluster, &seen_but(without_ipv6, of_worker(|state| state.disabled = true)))));
    insta::assert_snapshot!("no_ipv6_address", written(&check(&cluster, &seen_but(without_ipv6, |_, _| {}))));
    let alone = cluster_of(include_str!("../fixtures/cluster.yaml"));
    assert_eq!(check(&alone, &seen_but(without_ipv6, of_worker(|state| *state = Ipv6State::default()))), Vec::new(), "nobody needs it");
}

#[test]
fn addresses_and_routes_of_ipv6_are_checked() {
    let mut given = dual_stack();
    given.hosts[1].address_ipv6 = Some(address("fd00:21::12"));
    insta::assert_snapshot!("other_ipv6_address", written(&check(&given, &seen())));
    let on_another = |name: &str, facts: &mut HostFacts| {
        if name == "worker1" {
            let other = kok_tasks::facts::Interface { addresses: [address("fd00:21::12").into()].into(), ..Default::default() };
            facts.interfaces.insert("eth1".to_owned(), other);
        }
    };
    insta::assert_snapshot!("two_interfaces", written(&check(&given, &seen_but(on_another, |_, _| {}))));
    let route = |to: &str, interface: &str| Ipv6Route { to: to.parse().unwrap(), interface: interface.to_owned(), via: None };
    let far = |name: &str, state: &mut Ipv6State| {
        if name == "worker1" {
            state.routes = vec![route("fd00:20::12/128", "eth0")];
        }
    };
    insta::assert_snapshot!("far_ipv6", written(&check(&with(NetworkPlugin::Bridge), &seen_but(|_, _| {}, far))));
    assert_eq!(check(&dual_stack(), &seen_but(|_, _| {}, far)), Vec::new(), "flannel's packets go by routers");
    let other = |name: &str, state: &mut Ipv6State| {
        if name == "worker1" {
            state.routes.push(route("fd85:ee78:d8a6:8607::/64", "eth9"));
        }
    };
    insta::assert_snapshot!("route_of_ipv6", written(&check(&dual_stack(), &seen_but(|_, _| {}, other))));
    let ours = |_: &str, state: &mut Ipv6State| state.routes.push(route("fd85:ee78:d8a6:8607::1:100/120", "cni0"));
    assert_eq!(check(&dual_stack(), &seen_but(|_, _| {}, ours)), Vec::new());
}

/// One that stays, the site's own first; and what a node was registered with as long as its host has it.
#[test]
fn the_address_of_a_host_is_found() {
    let found = |seen: &Seen| completed(&dual_stack(), seen).hosts[1].address_ipv6;
    let with = |addresses: &[&str], passing: &[&str]| {
        let all = |texts: &[&str]| texts.iter().map(|text| address(text).into()).collect::<BTreeSet<IpAddr>>();
        let (addresses, passing) = (all(addresses), all(passing));
        seen_but(
            move |name, facts| {
                if name == "worker1" {
                    eth0(facts).addresses.retain(IpAddr::is_ipv4);
                    eth0(facts).addresses.extend(&addresses);
                    eth0(facts).passing.clone_from(&passing);
                }
            },
            |_, _| {},
        )
    };
    assert_eq!(found(&with(&["fe80::5", "2001:db8::7", "2001:db8::5"], &["2001:db8::5"])), Some(address("2001:db8::7")));
    assert_eq!(found(&with(&["2001:db8::7", "fd00:20::7"], &[])), Some(address("fd00:20::7")));
    assert_eq!(found(&with(&["fe80::5", "::1"], &[])), None);
    assert_eq!(found(&with(&["fd85:ee78:d8a6:8607::1:5"], &[])), None, "that is a pod's");
    let registered = |text: &str, addresses: &[&str]| {
        let mut seen = with(addresses, &[]);
        let node = NodeState { addresses: vec!["10.20.0.12".parse().unwrap(), address(text).into()], ..NodeState::default() };
        let (nodes, objects) = ([("worker1".to_owned(), node)].into(), Default::default());
        let state = KubernetesState::Ready { nodes, objects, bootstrap_tokens: Vec::new() };
        seen.add_observations("cp1", Observations { kubernetes: Some(state), ..Observations::default() });
        found(&seen)
    };
    assert_eq!(registered("2001:db8::7", &["fd00:20::7", "2001:db8::7"]), Some(address("2001:db8::7")));
    assert_eq!(registered("2001:db8::9", &["fd00:20::7", "2001:db8::7"]), Some(address("fd00:20::7")), "the host has it no more");
}

#[test]
fn a_running_cluster_keeps_its_families_and_ranges() {
    let refused = |from: Cluster, to: Cluster| {
        let mut world = World::bare_of(from).converge();
        world.cluster = to;
        written(&world.try_plan().unwrap_err())
    };
    let alone = cluster_of(include_str!("../fixtures/cluster.yaml"));
    insta::assert_snapshot!("a_second_family", refused(alone.clone(), dual_stack()));
    let told = refused(dual_stack(), alone);
    assert!(told.contains("set spec.network.dualStack back to what the cluster has"), "{told}");
    let mut other = dual_stack();
    let ipv6 = other.network.ipv6.as_mut().unwrap();
    (ipv6.pod_cidr, ipv6.node_prefix) = ("fd00:64::/112".parse().unwrap(), 121);
    insta::assert_snapshot!("other_ranges_of_ipv6", refused(dual_stack(), other));
}

/// A host that forwards would forget the routes that it has by advertisements.
#[test]
fn a_host_that_listens_to_routers_goes_on() {
    let mut world = World::bare_of(dual_stack());
    world.host("worker1").sysctls.insert("net.ipv6.conf.eth0.accept_ra".to_owned(), "1".to_owned());
    let plan = world.plan();
    let id = |name: &str| plan.steps().find(|step| step.id.to_string() == format!("worker1/host/{name}")).map(|step| step.id.clone());
    let (listens, forwards) = (id("sysctl-net.ipv6.conf.eth0.accept_ra").unwrap(), id("sysctl-net.ipv6.conf.all.forwarding").unwrap());
    assert!(plan.changed_needs(&forwards).iter().any(|earlier| *earlier == listens), "before it forwards");
    assert!(
        !plan.steps().any(|step| step.id.to_string() == "worker2/host/sysctl-net.ipv6.conf.eth0.accept_ra"),
        "the kernel ignores them there"
    );
    let world = world.converge();
    assert_eq!(world.hosts["worker1"].sysctls["net.ipv6.conf.eth0.accept_ra"], "2");
    assert_eq!(left(&world), Vec::<String>::new());
}

/// As iproute2 6.1 prints it.
#[test]
fn ipv6_is_read_as_the_host_has_it() {
    let looks = [Look::Ipv6].into_iter().collect();
    assert!(probe_script(&nonce(), &looks, None).contains("ip -6 route show"));
    let mark = nonce().as_str().to_owned();
    let answer = format!(
        "\n{mark} clock\n1\n1.00 1\n\n{mark} ipv6\n/proc/sys/net/ipv6/conf/all/disable_ipv6:0\n/proc/sys/net/ipv6/conf/all/accept_ra:1\n\
         /proc/sys/net/ipv6/conf/eth0.7/accept_ra:1\nfd00:20::/64 dev eth0 proto kernel metric 256 pref medium\n\
         fd00:30::/48 via fd00:20::1 dev eth0 metric 1024 pref medium\ndefault via fe80::1 dev eth0 proto ra metric 1024\n\
         unreachable fd00:40::/48 dev lo metric 1024\n\n{mark} end\n"
    );
    let seen = parse(&nonce(), &looks, answer.as_bytes()).unwrap();
    let state = seen.ipv6.unwrap();
    assert!(state.in_kernel && !state.disabled);
    let routes: Vec<String> = state.routes.iter().map(|route| format!("{} {} {:?}", route.to, route.interface, route.via)).collect();
    assert_eq!(routes, ["fd00:20::/64 eth0 None", "fd00:30::/48 eth0 Some(fd00:20::1)"]);
    assert_eq!(seen.sysctls["net.ipv6.conf.eth0/7.accept_ra"].as_deref(), Some("1"));
    let nothing = format!("\n{mark} clock\n1\n1.00 1\n\n{mark} ipv6\n\n{mark} end\n");
    assert!(!parse(&nonce(), &looks, nothing.as_bytes()).unwrap().ipv6.unwrap().in_kernel);
}
