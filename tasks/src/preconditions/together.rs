//! What the hosts must not have in common, and what they must.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host};

use super::Findings;
use crate::facts::HostFacts;
use crate::observe::KubernetesState;
use crate::plan::{Refusal, Seen};
use crate::speaker::speaker;

/// Cloned machines, and one machine under two names.
pub(super) fn identity(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    machine_ids(cluster, seen, found);
    for (what, hosts) in shared(cluster, seen, |facts, _| facts.ssh_host_keys.iter().cloned().collect()) {
        let kind = what.split(' ').next().unwrap_or_default();
        found.refuse(
            Refusal::new(format!("the hosts {} have the same SSH host key ({kind})", hosts.join(" and ")))
                .at(format!("/etc/ssh of {}", hosts.join(", ")))
                .because("they are copies of one image; whoever has one of them can pass for the others")
                .hint("on the copies: `rm /etc/ssh/ssh_host_*; ssh-keygen -A`, restart sshd, and take the new keys into known_hosts"),
        );
    }
    let mac = |facts: &HostFacts, host: &Host| facts.interface_of(host.address).and_then(|it| it.mac.clone()).into_iter().collect();
    for (mac, hosts) in shared(cluster, seen, mac) {
        found.refuse(
            Refusal::new(format!("the hosts {} have the same hardware address {mac}", hosts.join(" and ")))
                .at(format!("hosts {}", hosts.join(", ")))
                .because("switches send packets for one of them to the other")
                .hint("give each copy of the virtual machine an interface with an address of its own"),
        );
    }
    for (uuid, hosts) in shared(cluster, seen, |facts, _| facts.product_uuid.iter().map(|uuid| uuid.to_lowercase()).collect()) {
        found.warn(
            Refusal::new(format!("the hosts {} have the same product_uuid {uuid}", hosts.join(" and ")))
                .at(format!("hosts {}", hosts.join(", ")))
                .because("Kubernetes shows it as systemUUID, and drivers of storage and clouds tell nodes apart by it")
                .hint("give each copy of the virtual machine a UUID of its own"),
        );
    }
    if !cluster.settings.host.override_system_hostname {
        for (name, hosts) in shared(cluster, seen, |facts, _| vec![facts.hostname.clone()]) {
            found.warn(
                Refusal::new(format!("the hosts {} have the same host name {name}", hosts.join(" and ")))
                    .at(format!("hosts {}", hosts.join(", ")))
                    .because("their nodes have the names of the file, but their logs can't be told apart")
                    .hint("set vars.override_system_hostname: true, and each gets the name that it has in the file"),
            );
        }
    }
}

/// Values that more than one host has, with these hosts.
fn shared(cluster: &Cluster, seen: &Seen, values: impl Fn(&HostFacts, &Host) -> Vec<String>) -> Vec<(String, Vec<String>)> {
    let mut hosts_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for host in &cluster.hosts {
        for value in seen.facts(&host.name).map(|facts| values(facts, host)).unwrap_or_default() {
            hosts_of.entry(value).or_default().push(host.name.clone());
        }
    }
    // Hosts that share several keys are named once.
    let mut all: Vec<(String, Vec<String>)> = hosts_of.into_iter().filter(|(_, hosts)| hosts.len() > 1).collect();
    let mut named: Vec<Vec<String>> = Vec::new();
    all.retain(|(_, hosts)| {
        !named.contains(hosts) && {
            named.push(hosts.clone());
            true
        }
    });
    all
}

fn machine_ids(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let empty: Vec<&str> = cluster
        .hosts
        .iter()
        .filter(|host| seen.facts(&host.name).is_some_and(|facts| facts.machine_id.is_empty()))
        .map(|host| host.name.as_str())
        .collect();
    if !empty.is_empty() {
        found.refuse(
            Refusal::new("/etc/machine-id is missing or empty")
                .at(format!("host {}", empty.join(", ")))
                .because("Kubernetes tells nodes apart by it")
                .hint("run `systemd-machine-id-setup` there"),
        );
    }
    let own = |facts: &HostFacts, _: &Host| Some(facts.machine_id.clone()).filter(|id| !id.is_empty()).into_iter().collect();
    for (machine_id, hosts) in shared(cluster, seen, own) {
        found.refuse(
            Refusal::new(format!("the hosts {} have the same machine-id {machine_id}", hosts.join(" and ")))
                .at(format!("/etc/machine-id of {}", hosts.join(", ")))
                .because("they are one machine under several addresses, or copies of one image; Kubernetes tells nodes apart by it")
                .hint("correct the addresses; or on the copies empty /etc/machine-id and run `systemd-machine-id-setup`, and make new SSH host keys"),
        );
    }
    nodes(cluster, seen, found);
}

/// A node that is there must not be another machine of the file.
fn nodes(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let speaker = speaker(cluster, seen).and_then(|host| seen.observations(&host.name).kubernetes.as_ref());
    let Some(KubernetesState::Ready { nodes, .. }) = speaker else { return };
    for host in &cluster.hosts {
        let Some(facts) = seen.facts(&host.name).filter(|facts| !facts.machine_id.is_empty()) else { continue };
        let twin = nodes.iter().find(|(name, node)| **name != host.name && node.machine_id == facts.machine_id);
        if let Some((name, _)) = twin {
            found.refuse(
                Refusal::new(format!("it is already the node {name} of the cluster, or a copy of it"))
                    .at(format!("host {} ({})", host.name, host.address))
                    .because(format!("both have the machine-id {}", facts.machine_id))
                    .hint("correct the name or the address; or on a copy run `systemd-machine-id-setup` and make new SSH host keys"),
            );
        }
    }
}

/// Certificates are dated back by an hour, for clocks that lag behind the one by which they are made; half of it is left for the run. One that is
/// behind all hosts finds certificates not yet valid that other machines made within this hour, and dates its own back too far.
const MAXIMUM_LAG_SECONDS: i64 = 1800;

/// The probes answer within seconds of each other, so what is left beyond the time between them is skew.
pub(super) fn clocks(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let limit = i64::from(cluster.time.max_skew_seconds);
    let mut offsets: Vec<(i64, &Host)> =
        cluster.hosts.iter().filter_map(|host| Some((seen.clock_offset_seconds(&host.name)?, host))).collect();
    offsets.sort_by_key(|(offset, _)| *offset);
    let (Some(least), Some(most)) = (offsets.first(), offsets.last()) else { return };
    if least.0 < -MAXIMUM_LAG_SECONDS {
        found.refuse(
            Refusal::new(format!("the clock of this machine is {} s ahead of that of {}", least.0.unsigned_abs(), least.1.name))
                .at("the machine that runs kokctl")
                .because(
                    "certificates are valid from an hour before they are made, by this machine's clock; there they would not be valid yet",
                )
                .hint("set the clock that is wrong"),
        );
    }
    if least.0 > MAXIMUM_LAG_SECONDS {
        found.refuse(
            Refusal::new(format!("the clock of this machine is {} s behind that of {}", least.0, least.1.name))
                .at("the machine that runs kokctl")
                .because("certificates end by this machine's clock, so new ones could have expired on the hosts, and good ones look not yet valid")
                .hint("set the clock that is wrong"),
        );
    }
    let apart = most.0.saturating_sub(least.0);
    if apart <= limit {
        return;
    }
    let numbers = offsets.iter().map(|(offset, host)| format!("{} {offset:+} s", host.name)).collect::<Vec<_>>().join(", ");
    found.refuse(
        Refusal::new(format!("the clocks of {} and {} are {apart} s apart", least.1.name, most.1.name))
            .at(format!("hosts {} and {}", least.1.name, most.1.name))
            .because(format!(
                "certificates and leases need clocks within {limit} s (spec.time.maxSkewSeconds); against this machine's: {numbers}"
            ))
            .hint("set the clock of the one that is wrong and let an NTP client keep it (spec.time names servers)"),
    );
}
