//! An address that moves between the control planes.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use kok_tasks::facts::Route;
use kok_tasks::observe::{Firewall, Look, Looks, Neighbour, Observations, parse, probe_script};
use kok_tasks::plan::Plan;
use kok_tasks::preconditions::check;

use crate::support::shell::{SHELLS, run};
use crate::support::world::World;
use crate::support::{cluster_of, firewalld, good_facts, nonce, seen_with, step_id};

const SEVERAL: &str = include_str!("../fixtures/highly-available.yaml");
const ONE: &str = include_str!("../fixtures/cluster.yaml");
const CONFIGURATION: &str = "/etc/kubernetes/keepalived/keepalived.conf";
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 20, 0, 200);

fn moving(text: &str) -> kok_crds::model::Cluster {
    cluster_of(&format!("{text}  apiEndpoint: {{vip: {ADDRESS}}}\n"))
}

fn changed(plan: &Plan) -> BTreeSet<String> {
    plan.changes().map(|(step, _)| step.id.to_string()).collect()
}

#[test]
fn control_planes_have_it_by_peers_of_their_own() {
    let world = World::bare_of(moving(SEVERAL)).converge();
    assert!(world.plan().is_empty(), "{:?}", changed(&world.plan()));
    for (name, own, others) in [("cp1", 11, [12, 13]), ("cp2", 12, [11, 13]), ("cp3", 13, [11, 12])] {
        let text = world.hosts[name].text(CONFIGURATION);
        assert!(text.contains(&format!("unicast_src_ip 10.20.0.{own}\n")), "{text}");
        assert!(text.contains(&format!("unicast_peer {{\n    10.20.0.{}\n    10.20.0.{}\n  }}", others[0], others[1])), "{text}");
        assert!(
            text.contains("interface eth0\n") && text.contains("virtual_router_id 200\n") && text.contains("10.20.0.200/32 dev eth0\n"),
            "{text}"
        );
        assert!(!text.contains("auth_"), "there is nothing secret in it: {text}");
        assert!(text.contains("\n  vrrp_check_unicast_src\n"), "who is no peer any more is not heard: {text}");
        assert!(world.hosts[name].is_active("kokctl-keepalived.service"));
    }
    assert!(!world.hosts["worker1"].has(CONFIGURATION));
    let priorities: BTreeSet<String> = ["cp1", "cp2", "cp3"]
        .iter()
        .filter_map(|name| world.hosts[*name].text(CONFIGURATION).lines().find(|line| line.contains("priority")).map(str::to_owned))
        .collect();
    assert_eq!(priorities.len(), 3, "{priorities:?}");
    let configuration = world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml");
    assert!(configuration.contains("\"10.20.0.200\"") && !configuration.contains("controlPlaneEndpoint: \"10.20.0.200"), "{configuration}");
}

#[test]
fn it_waits_for_the_api_server_beside_it() {
    let plan = World::bare_of(moving(SEVERAL)).plan();
    for host in ["cp1", "cp2", "cp3"] {
        let needs = plan.needs(&step_id(host, "virtual-address", "service"));
        assert!(needs.iter().any(|(need, _)| need.id == step_id(host, "control-plane", "api-server")), "{host}");
        // Whoever has the address reaches himself without the network.
        for asks in ["cp1", "cp2", "cp3"] {
            let asked = plan.needs(&step_id(asks, "virtual-address", "answers"));
            assert!(asked.iter().any(|(need, _)| need.id == step_id(host, "virtual-address", "read")), "{asks}, {host}");
        }
    }
}

/// Certificates first; nothing that works is started anew, and what workers have stays as it is.
#[test]
fn it_comes_changes_and_goes_while_the_cluster_works() {
    let mut world = World::bare_of(cluster_of(SEVERAL)).converge();
    world.cluster = moving(SEVERAL);
    let plan = world.plan();
    let steps = changed(&plan);
    assert!(steps.contains("cp2/certificates/pki/apiserver.crt") && steps.contains("cp2/virtual-address/service"), "{steps:?}");
    let others = ["kubelet", "etcd", "names", "load-balancer", "container-runtime"];
    assert!(
        !steps.iter().any(|step| step.contains("worker") || others.iter().any(|task| step.split('/').nth(1) == Some(task))),
        "{steps:?}"
    );
    assert!(!steps.iter().any(|step| step.ends_with("control-plane/kubelet") || step.ends_with("control-plane/manifests")), "{steps:?}");
    let mut world = world.converge();
    let other = SEVERAL.to_owned() + "  apiEndpoint: {vip: 10.20.0.201, routerId: 7}\n";
    world.cluster = cluster_of(&other);
    let steps = changed(&world.plan());
    assert!(steps.contains("cp1/virtual-address/read") && !steps.contains("cp1/virtual-address/service"), "{steps:?}");
    let mut world = world.converge();
    assert!(world.hosts["cp3"].text(CONFIGURATION).contains("virtual_router_id 7\n"));
    world.cluster = cluster_of(SEVERAL);
    let steps = changed(&world.plan());
    for host in ["cp1", "cp2", "cp3"] {
        assert!(steps.contains(&format!("{host}/virtual-address/gone")), "{steps:?}");
    }
    let world = world.converge();
    let left = |host: &str| world.hosts[host].paths.keys().any(|path| path.contains("keepalived"));
    assert!(!["cp1", "cp2", "cp3"].iter().any(|host| left(host)) && world.plan().is_empty());
}

#[test]
fn the_only_control_plane_speaks_to_nobody() {
    let world = World::bare_of(moving(ONE)).converge();
    let text = world.hosts["cp1"].text(CONFIGURATION);
    assert!(text.contains("10.20.0.200/32") && text.contains("unicast_src_ip 10.20.0.11\n"), "{text}");
    assert!(text.contains("unicast_peer {\n    127.0.0.1\n  }"), "without anybody it would be a group: {text}");
    assert!(world.plan().is_empty());
}

/// What is refused, when this was seen.
fn refused(change: impl Fn(&mut kok_tasks::plan::Seen)) -> String {
    let mut seen = seen_with(|_, _| {});
    change(&mut seen);
    let told = |refusal: kok_tasks::plan::Refusal| {
        assert!(refusal.hint.is_some(), "{refusal:?}");
        format!("{}: {}", refusal.what, refusal.because.unwrap_or_default())
    };
    check(&moving(ONE), &seen).into_iter().map(told).collect::<Vec<_>>().join("\n")
}

/// What is refused where the control plane is in this network.
fn in_network(network: &str, cluster: kok_crds::model::Cluster) -> String {
    let seen = seen_with(|name, facts| {
        if name == "cp1" {
            facts.routes = vec![Route { to: network.parse().unwrap(), interface: "eth0".to_owned(), via: None }];
        }
    });
    check(&cluster, &seen).into_iter().map(|refusal| refusal.what).collect()
}

fn answer(neighbour: Neighbour) -> Observations {
    Observations { neighbours: [(ADDRESS, neighbour)].into(), ..Observations::default() }
}

#[test]
fn it_is_free_and_of_the_network_of_the_control_planes() {
    assert_eq!(refused(|_| {}), "");
    assert_eq!(refused(|seen| seen.add_observations("cp1", answer(Neighbour::Silent))), "");
    assert_eq!(refused(|seen| seen.add_observations("cp1", answer(Neighbour::Ours))), "");
    let strange = "02:00:00:00:00:09".to_owned();
    let told = refused(|seen| seen.add_observations("cp1", answer(Neighbour::Answers(strange.clone()))));
    assert!(told.contains("somebody has the virtual address 10.20.0.200 already") && told.contains(&strange), "{told}");
    // What the kernel remembers of a host that had it.
    let known = good_facts("worker1", 2).interfaces["eth0"].mac.clone().unwrap();
    assert_eq!(refused(|seen| seen.add_observations("cp1", answer(Neighbour::Answers(known.clone())))), "");
    let told = refused(|seen| {
        let mut facts = good_facts("worker2", 3);
        facts.interfaces.get_mut("eth0").unwrap().addresses.insert(ADDRESS.into());
        seen.add_facts("worker2", facts);
    });
    assert!(told.contains("an interface of the host worker2 has it"), "{told}");
    let told = refused(|seen| {
        let mut facts = good_facts("cp1", 1);
        facts.routes = vec![Route { to: "10.20.0.0/26".parse().unwrap(), interface: "eth0".to_owned(), via: None }];
        seen.add_facts("cp1", facts);
    });
    assert!(told.contains("is not of its network") && told.contains("10.20.0.0/26"), "{told}");
    for (network, what) in [
        ("10.20.0.200/29", "the virtual address 10.20.0.200 is the one of the network itself"),
        ("10.20.0.192/28", ""),
        ("10.20.0.192/27", ""),
        ("10.20.0.200/31", ""),
        ("10.20.0.200/32", ""),
    ] {
        let told = in_network(network, moving(ONE));
        assert!(told.contains(what) && (told.is_empty() == what.is_empty()), "{network}: {told}");
    }
    let last = cluster_of(&format!("{ONE}  apiEndpoint: {{vip: 10.20.0.255}}\n"));
    assert!(in_network("10.20.0.0/24", last).contains("the one by which all of its network are spoken to"));
}

#[test]
fn a_firewall_between_the_control_planes_is_told_of() {
    let cluster = moving(SEVERAL);
    let mut seen = kok_tasks::plan::Seen::default();
    for (name, number) in [("cp1", 1), ("cp2", 2), ("cp3", 3)] {
        seen.add_facts(name, good_facts(name, number));
        let ports = ["6443/tcp", "2379-2380/tcp", "10250/tcp", "8472/udp"];
        let firewall = Some(Firewall::Firewalld(firewalld(&ports, &["10.244.0.0/16"])));
        seen.add_observations(name, Observations { firewall, ..Observations::default() });
    }
    let told: Vec<String> = check(&cluster, &seen).into_iter().map(|refusal| refusal.what).collect();
    assert!(told.iter().any(|what| what.contains("firewalld is active, and kokctl does not open it for the virtual address")), "{told:?}");
    let mut open = cluster;
    open.settings.host.firewall = kok_crds::model::FirewallPolicy::Ignore;
    let told: Vec<String> = check(&open, &seen).into_iter().map(|refusal| refusal.what).collect();
    assert!(!told.iter().any(|what| what.contains("virtual address")), "{told:?}");
}

#[test]
fn hosts_without_the_program_get_it() {
    let mut seen = seen_with(|_, facts| facts.commands.retain(|name| name != "keepalived"));
    let told = check(&moving(ONE), &seen).into_iter().map(|refusal| refusal.what).collect::<String>();
    assert_eq!(told, "it lacks the commands keepalived", "of the control plane alone, and of one that no package has");
    let mut facts = good_facts("cp1", 1);
    facts.commands.remove("keepalived");
    facts.installable = ["keepalived".to_owned()].into();
    seen.add_facts("cp1", facts);
    assert!(check(&moving(ONE), &seen).is_empty());
    assert!(check(&cluster_of(ONE), &seen_with(|_, facts| facts.commands.retain(|name| name != "keepalived"))).is_empty());
}

#[test]
fn what_is_heard_of_an_address_is_read() {
    let looks: Looks = [Look::Neighbour(ADDRESS)].into_iter().collect();
    let script = probe_script(&nonce(), &looks, None);
    assert!(script.contains("ask_neighbour 10.20.0.200"));
    for shell in SHELLS {
        assert!(run(shell, &["-n"], &script).status.success(), "{shell:?}");
    }
    let read = |said: &str| {
        let sections = [("clock", "1780000000000000000\n5.10 9.99\n"), ("neighbour 10.20.0.200", said), ("end", "")];
        let answer: String = sections.iter().map(|(name, body)| format!("\n{} {name}\n{body}\n", nonce().as_str())).collect();
        parse(&nonce(), &looks, answer.as_bytes()).map(|seen| seen.neighbours[&ADDRESS].clone())
    };
    assert_eq!(read("silent").unwrap(), Neighbour::Silent);
    assert_eq!(read("own").unwrap(), Neighbour::Own);
    assert_eq!(read("ours").unwrap(), Neighbour::Ours);
    assert_eq!(read("answers 02:00:00:00:00:09").unwrap(), Neighbour::Answers("02:00:00:00:00:09".to_owned()));
    for said in ["", "answers", "answers \u{1b}[2J", "yes", "answers 02 03"] {
        assert!(read(said).is_err(), "{said}");
    }
}
