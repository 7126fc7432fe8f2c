//! What the tests share: the fixtures, shells, and a model of hosts on which plans can be carried out.

pub(crate) mod api;
pub(crate) mod change_encryption;
pub(crate) mod encryption;
pub(crate) mod host;
mod kubeadm;
mod leaving;
mod operation;
mod pieces;
mod recovering;
pub(crate) mod secrets;
pub(crate) mod shell;
pub(crate) mod upgrading;
mod uses;
pub(crate) mod world;

use std::net::{IpAddr, Ipv6Addr};

use kok_crds::model::{Addon, Cluster, Host, Manifest, Prune};
use kok_crds::{Position, Source, read_manifest};
use kok_tasks::bundle::Bundle;
use kok_tasks::facts::{COMMANDS, FOLDERS, HostFacts, Interface, Route, Storage};
use kok_tasks::observe::{Firewalld, Ipv6Route, Ipv6State, Nonce, Observations, Zone};
use kok_tasks::plan::{Inputs, Seen, StepId};

/// The time at which the plans of the tests are made: 2026-05-28.
pub(crate) const NOW: i64 = 1_780_000_000;

/// The public half of a run's token.
pub(crate) const TOKEN_ID: &str = "kokab2";

/// The name of a step, as plans make it.
pub(crate) fn step_id(host: &str, task: &str, name: &str) -> StepId {
    StepId::parse(&format!("{host}/{task}/{name}")).unwrap()
}

/// The nonce of the recorded answers.
pub(crate) fn nonce() -> Nonce {
    Nonce::new([0x5a; 16])
}

/// One control plane and two workers.
pub(crate) fn cluster() -> Cluster {
    cluster_of(include_str!("../../fixtures/cluster.yaml"))
}

/// The same with IPv6 beside IPv4, in Kubespray's ranges.
pub(crate) fn dual_stack() -> Cluster {
    cluster_of(&include_str!("../../fixtures/cluster.yaml").replace("plugin: flannel", "dualStack: true"))
}

/// The address of IPv6 that a host of the model has: with the last part of its other one.
pub(crate) fn ipv6_of(host: &Host) -> Ipv6Addr {
    let IpAddr::V4(address) = host.address else { panic!("{}", host.address) };
    format!("fd00:20::{}", address.octets()[3]).parse().unwrap()
}

/// What a host with IPv6 says of it.
pub(crate) fn good_ipv6() -> Ipv6State {
    let route = Ipv6Route { to: "fd00:20::/64".parse().unwrap(), interface: "eth0".to_owned(), via: None };
    Ipv6State { in_kernel: true, routes: vec![route], ..Ipv6State::default() }
}

/// Three control planes and two workers.
pub(crate) fn highly_available() -> Cluster {
    cluster_of(include_str!("../../fixtures/highly-available.yaml"))
}

/// Two control planes, a worker, and three hosts of etcd.
pub(crate) fn own_etcd() -> Cluster {
    cluster_of(include_str!("../../fixtures/own-etcd.yaml"))
}

/// The file of one with five members, of which the last is a worker's.
pub(crate) fn own_etcd_of_five() -> String {
    let third = "    - {name: etcd3, address: 10.20.0.16, roles: [etcd]}\n";
    let more = "    - {name: etcd4, address: 10.20.0.17, roles: [etcd]}\n    - {name: etcd5, address: 10.20.0.18, roles: [worker, etcd]}\n";
    include_str!("../../fixtures/own-etcd.yaml").replace(third, &format!("{third}{more}"))
}

/// The file of one with three control planes, so that one that goes leaves several.
pub(crate) fn own_etcd_of_three() -> String {
    let second = "    - {name: cp2, address: 10.20.0.12, roles: [control-plane]}\n";
    let third = second.replace("cp2", "cp3").replace("10.20.0.12", "10.20.0.17");
    include_str!("../../fixtures/own-etcd.yaml").replace(second, &format!("{second}{third}"))
}

pub(crate) fn cluster_of(text: &str) -> Cluster {
    kok_crds::read_cluster("cluster.yaml", text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The same cluster with these addons, each with its manifest.
pub(crate) fn with_addons(cluster: Cluster, addons: &[(&str, &str)]) -> Cluster {
    let addon = |(name, manifest): &(&str, &str)| {
        let origin = Position { file: "cluster.yaml".into(), line: 1, column: 1 };
        let source = Source::file("manifest.yaml", *manifest);
        let addon = Addon {
            name: (*name).to_owned(),
            namespace: None,
            manifest: Manifest::Contents((*manifest).to_owned()),
            sha256: None,
            prune: Prune::default(),
            origin,
            objects: Vec::new(),
        };
        let objects = read_manifest(&addon, &source).unwrap_or_else(|problems| panic!("{problems:?}"));
        Addon { objects, ..addon }
    };
    Cluster { addons: addons.iter().map(addon).collect(), ..cluster }
}

/// The index of a bundle as it is built from upstream's sources.
pub(crate) fn bundle() -> Bundle {
    Bundle::parse(include_str!("../../fixtures/bundle.json")).unwrap()
}

pub(crate) fn inputs<'a>(cluster: &'a Cluster, bundle: &'a Bundle) -> Inputs<'a> {
    Inputs { cluster, bundle, token_id: TOKEN_ID, new_cluster_id: "c1", now_seconds: NOW, prune: false }
}

/// Facts of a host with which nothing is wrong.
pub(crate) fn good_facts(name: &str, number: u8) -> HostFacts {
    let commands = COMMANDS
        .iter()
        .map(|program| program.name)
        .chain(["chronyc", "curl", "keepalived", "apt-get", "update-ca-certificates"])
        .map(str::to_owned);
    let root = Storage {
        mount: "/".to_owned(),
        free_bytes: 20 << 30,
        total_bytes: 40 << 30,
        free_inodes: Some(1_000_000),
        read_only: false,
        no_exec: false,
    };
    HostFacts {
        hostname: name.to_owned(),
        machine_id: format!("{number:032x}"),
        os_id: "debian".to_owned(),
        os_version: "12".to_owned(),
        architecture: "amd64".to_owned(),
        kernel: "6.1.0".to_owned(),
        cgroup_v2: true,
        memory_bytes: 4 << 30,
        available_bytes: 3 << 30,
        processors: 2,
        listening_ports: [22].into(),
        interfaces: [interface("lo", 0, "127.0.0.1"), interface("eth0", number, &format!("10.20.0.{}", 10 + number))].into(),
        routes: vec![Route { to: "10.20.0.0/24".parse().unwrap(), interface: "eth0".to_owned(), via: None }],
        name_servers: vec!["192.0.2.53".parse().unwrap()],
        ssh_host_keys: [format!("ssh-ed25519 AAAA{number}")].into(),
        storage: FOLDERS.iter().map(|folder| (folder.path.to_owned(), root.clone())).collect(),
        commands: commands.collect(),
        systemd: true,
        ..HostFacts::default()
    }
}

/// firewalld whose default zone opens these ports and that trusts these networks.
pub(crate) fn firewalld(ports: &[&str], trusted: &[&str]) -> Firewalld {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let public = Zone { ports: words(ports), ..Zone::default() };
    let trusted = Zone { sources: words(trusted), accepts: true, ..Zone::default() };
    Firewalld { default: "public".to_owned(), zones: [("public".to_owned(), public), ("trusted".to_owned(), trusted)].into() }
}

fn interface(name: &str, number: u8, address: &str) -> (String, Interface) {
    let mac = (name != "lo").then(|| format!("52:54:00:00:00:{number:02x}"));
    (name.to_owned(), Interface { mac, addresses: [address.parse().unwrap()].into(), mtu: Some(1500), ..Interface::default() })
}

/// What was seen of three hosts with which nothing is wrong; `change` makes something wrong.
pub(crate) fn seen_with(change: impl Fn(&str, &mut HostFacts)) -> Seen {
    let mut seen = Seen::default();
    for (name, number) in [("cp1", 1), ("worker1", 2), ("worker2", 3)] {
        let mut facts = good_facts(name, number);
        change(name, &mut facts);
        seen.add_facts(name, facts);
        seen.add_clock_offset(name, 0);
        seen.add_observations(name, Observations::default());
    }
    seen
}
