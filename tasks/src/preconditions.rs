//! What must hold before the first host is touched. All that is wrong is said at once.

mod ownership;
mod running;

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host};

use crate::facts::{COMMANDS, HostFacts};
use crate::observe::Observations;
use crate::plan::{Inputs, Refusal, Seen};

/// Clocks further apart than this can't share certificates and leases safely; k0sctl draws the line there too.
const MAXIMUM_SKEW_SECONDS: i64 = 30;

/// Ports that a control plane listens on (kubeadm, "Ports and Protocols").
const CONTROL_PLANE_PORTS: &[(u16, &str)] = &[
    (6443, "the API server"),
    (2379, "etcd's clients"),
    (2380, "etcd's peers"),
    (10257, "the controller manager"),
    (10259, "the scheduler"),
];

/// The kubelet's port.
const KUBELET_PORT: (u16, &str) = (10250, "the kubelet");

/// kubeadm's own minimum for a control plane is 1700 MB; a worker starts with less, but does no work.
const MINIMUM_MEMORY: u64 = 1_700_000_000;

/// Binaries, images and their unpacked layers of one host, with room for a second version.
const MINIMUM_SPACE: u64 = 4_000_000_000;

/// Checks everything that can be known from facts. Hosts that were not probed are left out.
#[must_use]
pub fn check(inputs: &Inputs<'_>, seen: &Seen) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for host in &inputs.cluster.hosts {
        if let Some(facts) = seen.facts(&host.name) {
            let mut single = each_host(inputs, host, facts);
            single.extend(foreign_units(facts, seen.observations(&host.name)));
            refusals.extend(single.into_iter().map(|refusal| refusal.at(format!("host {} ({})", host.name, host.address))));
        }
    }
    refusals.extend(unique(inputs, seen));
    refusals.extend(clocks(inputs, seen));
    refusals.extend(authorities(inputs.cluster, seen));
    refusals.extend(ownership::check(inputs.cluster, seen));
    refusals.extend(running::check(inputs, seen));
    refusals
}

fn each_host(inputs: &Inputs<'_>, host: &Host, facts: &HostFacts) -> Vec<Refusal> {
    let mut found = Vec::new();
    found.extend(busy(facts));
    if !facts.systemd {
        found.push(
            Refusal::new("pid 1 is not systemd")
                .because("containerd and the kubelet run as systemd units")
                .hint("use a host that runs systemd"),
        );
    }
    if !facts.writable {
        found.push(
            Refusal::new("/etc, /usr/local, /var/lib or /run can't be written")
                .because("kokctl installs there")
                .hint("mount them writable; look into the kernel's log for errors of the disk"),
        );
    }
    found.extend(missing_commands(inputs, facts));
    found.extend(machine(inputs, host, facts));
    found.extend(of_another_cluster(&inputs.cluster.name, facts));
    found.extend(ports(host, facts));
    found
}

fn busy(facts: &HostFacts) -> Option<Refusal> {
    facts.busy.then(|| {
        Refusal::new("a script of an earlier run is still at work")
            .hint("wait for it, or look at `systemctl list-units 'kokctl-*'` on the host")
    })
}

fn of_another_cluster(ours: &str, facts: &HostFacts) -> Option<Refusal> {
    let other = facts.cluster.as_ref().filter(|name| *name != ours)?;
    Some(
        Refusal::new(format!("it belongs to the cluster {other}"))
            .because("a host that is part of another cluster is never touched")
            .hint(format!("take it out of {other} with `kokctl reset` and that cluster's file first, or correct the address")),
    )
}

/// What must hold before hosts are taken out of a cluster: none of them belongs to another one.
#[must_use]
pub fn check_reset(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    refusals.extend(authorities(cluster, seen));
    refusals.extend(ownership::check(cluster, seen));
    for host in &cluster.hosts {
        let Some(facts) = seen.facts(&host.name) else { continue };
        let foreign = (facts.cluster.is_none() && facts.certificate_authority.is_some()).then(|| {
            Refusal::new("it is part of a Kubernetes cluster that kokctl did not make")
                .because("/etc/kubernetes/pki/ca.crt is there, and no record of kokctl")
                .hint("correct the address; or take that cluster down with the tool that made it")
        });
        let found = busy(facts).or(of_another_cluster(&cluster.name, facts)).or(foreign);
        refusals.extend(found.map(|refusal| refusal.at(format!("host {} ({})", host.name, host.address))));
    }
    refusals
}

/// A runtime or kubelet that somebody else installed is not replaced.
fn foreign_units(facts: &HostFacts, seen: &Observations) -> Option<Refusal> {
    let loaded = |name: &&str| seen.units.get(*name).is_some_and(|unit| unit.load == "loaded");
    let found = ["containerd.service", "kubelet.service"].into_iter().find(loaded).filter(|_| facts.cluster.is_none())?;
    Some(
        Refusal::new(format!("it already has a {found}"))
            .because("kokctl has not installed it, and does not replace what others depend on")
            .hint("use a host without it, or remove its package first"),
    )
}

fn missing_commands(inputs: &Inputs<'_>, facts: &HostFacts) -> Option<Refusal> {
    let time = &inputs.cluster.time;
    let chrony: &[(&str, &str)] = if time.servers.is_empty() && time.sources.is_empty() { &[] } else { &[("chronyc", "chrony")] };
    let missing: Vec<&(&str, &str)> = COMMANDS.iter().chain(chrony).filter(|(command, _)| !facts.commands.contains(*command)).collect();
    if missing.is_empty() {
        return None;
    }
    let names = missing.iter().map(|(command, _)| *command).collect::<Vec<_>>().join(", ");
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    Some(
        Refusal::new(format!("it lacks the commands {names}"))
            .because("kubeadm, the kubelet or kokctl run them")
            .hint(format!("install the packages {} (their Debian names)", packages.join(", "))),
    )
}

fn machine(inputs: &Inputs<'_>, host: &Host, facts: &HostFacts) -> Vec<Refusal> {
    let mut found = Vec::new();
    if !facts.cgroup_v2 && inputs.cluster.settings.kubelet_fail_cgroup_v1 {
        found.push(
            Refusal::new("it uses cgroup v1")
                .because("the kubelet refuses to start there since 1.35")
                .hint("boot with systemd.unified_cgroup_hierarchy=1; or set vars.kubelet_fail_cgroup_v1: false while that is not possible"),
        );
    }
    if facts.swap {
        found.push(
            Refusal::new("swap is on")
                .because("the kubelet refuses to start with swap")
                .hint("run `swapoff -a` and remove the swap entries of /etc/fstab"),
        );
    }
    if host.roles.control_plane && facts.memory_bytes < MINIMUM_MEMORY {
        found.push(
            Refusal::new(format!("it has {} MB of memory", facts.memory_bytes / 1_000_000))
                .because("a control plane needs 1700 MB (kubeadm's own limit)")
                .hint("give it more memory, or another host the role control-plane"),
        );
    }
    if !facts.addresses.contains(&host.address) {
        let has = facts.addresses.iter().filter(|address| !address.is_loopback()).map(ToString::to_string).collect::<Vec<_>>().join(", ");
        found.push(
            Refusal::new(format!("no interface has the address {}", host.address))
                .because(format!(
                    "its interfaces have {has}; nodes talk to each other at the address of the file, so it can't be a translated one"
                ))
                .hint("give the host's own address"),
        );
    }
    let tight = facts.free_bytes.iter().find(|(_, free)| **free < MINIMUM_SPACE).filter(|_| facts.cluster.is_none());
    if let Some((mount, free)) = tight {
        found.push(
            Refusal::new(format!("{mount} has {} MB free", free / 1_000_000))
                .because(format!("programs, images and their layers need {} MB", MINIMUM_SPACE / 1_000_000))
                .hint("make room, or mount a larger file system there"),
        );
    }
    found
}

/// Ports count only where kokctl has not been yet: later our own programs listen there.
fn ports(host: &Host, facts: &HostFacts) -> Option<Refusal> {
    if facts.cluster.is_some() || facts.certificate_authority.is_some() {
        return None;
    }
    let needed = if host.roles.control_plane { CONTROL_PLANE_PORTS } else { &[] };
    let taken: Vec<String> = needed
        .iter()
        .chain([&KUBELET_PORT])
        .filter(|(port, _)| facts.listening_ports.contains(port))
        .map(|(port, what)| format!("{port} (for {what})"))
        .collect();
    let list = taken.join(", ");
    (!taken.is_empty()).then(|| {
        let ports = if taken.len() == 1 { "port" } else { "ports" };
        Refusal::new(format!("TCP {ports} in use: {list}"))
            .because("something that kokctl has not installed listens there")
            .hint("find it with `ss -ltnp` on the host and move or stop it")
    })
}

/// Cloned machines, and one machine under two names.
fn unique(inputs: &Inputs<'_>, seen: &Seen) -> Vec<Refusal> {
    let mut by_machine: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for host in &inputs.cluster.hosts {
        if let Some(facts) = seen.facts(&host.name) {
            by_machine.entry(&facts.machine_id).or_default().push(&host.name);
        }
    }
    let mut found = Vec::new();
    for (machine_id, hosts) in by_machine {
        if machine_id.is_empty() {
            found.push(
                Refusal::new("/etc/machine-id is missing or empty")
                    .at(format!("host {}", hosts.join(", ")))
                    .hint("run `systemd-machine-id-setup` there"),
            );
        } else if hosts.len() > 1 {
            found.push(
                Refusal::new(format!("the hosts {} have the same machine-id {machine_id}", hosts.join(" and ")))
                    .at(format!("/etc/machine-id of {}", hosts.join(", ")))
                    .because("they are one machine under several addresses, or copies of one image; Kubernetes tells nodes apart by it")
                    .hint("correct the addresses; or on the copies empty /etc/machine-id and run `systemd-machine-id-setup`, and make new SSH host keys"),
            );
        }
    }
    found
}

/// The probes answer within seconds of each other, so what is left beyond the time between them is skew.
fn clocks(inputs: &Inputs<'_>, seen: &Seen) -> Option<Refusal> {
    let skews = inputs.cluster.hosts.iter().filter_map(|host| Some((seen.clock_offset_seconds(&host.name)?, host)));
    let (least, most) = (skews.clone().min_by_key(|(offset, _)| *offset)?, skews.max_by_key(|(offset, _)| *offset)?);
    let apart = most.0 - least.0;
    (apart > MAXIMUM_SKEW_SECONDS).then(|| {
        Refusal::new(format!("the clocks of {} and {} are {apart} s apart", least.1.name, most.1.name))
            .at(format!("hosts {} and {}", least.1.name, most.1.name))
            .because(format!("certificates and leases need clocks within {MAXIMUM_SKEW_SECONDS} s"))
            .hint("set the clock of the one that is wrong and let an NTP client keep it (spec.time names servers)")
    })
}

/// A worker's certificate authority must be the control plane's.
fn authorities(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let authority = |host: &Host| seen.facts(&host.name).and_then(|facts| facts.certificate_authority.as_deref()).map(str::trim);
    let Some(first) = cluster.control_planes().next().filter(|host| seen.facts(&host.name).is_some()) else {
        return Vec::new();
    };
    let ours = authority(first);
    let foreign = cluster.hosts.iter().filter(|host| authority(host).is_some_and(|theirs| Some(theirs) != ours));
    foreign
        .map(|host| {
            Refusal::new("it is part of another Kubernetes cluster")
                .at(format!("host {} ({})", host.name, host.address))
                .because(format!("its /etc/kubernetes/pki/ca.crt is not that of the control plane {}", first.name))
                .hint("correct the address; or, if that cluster can go, take the host out of it with `kokctl reset`")
        })
        .collect()
}
