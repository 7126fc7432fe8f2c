//! Every refusal with its whole text.

mod backend;
mod running;
mod together;

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::{Cluster, FirewallPolicy};
use kok_tasks::facts::{HostFacts, Route, SelinuxMode, Storage, Unwritable};
use kok_tasks::observe::{Firewall, KubernetesObject, KubernetesState, NodeState, Observations, UnitState, Zone};
use kok_tasks::plan::{Refusal, Seen};
use kok_tasks::preconditions::{Weight, check, examine};

use crate::support::{cluster, seen_with};

fn refusals(seen: &Seen) -> Vec<Refusal> {
    check(&cluster(), seen)
}

fn written(refusals: &[Refusal]) -> String {
    let line = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("\n  {name}: {text}")).unwrap_or_default();
    let one = |refusal: &Refusal| {
        format!("{}{}{}{}", refusal.what, line("at", &refusal.at), line("because", &refusal.because), line("hint", &refusal.hint))
    };
    refusals.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn unwritable(folder: &str, mount: &str, read_only: bool) -> Unwritable {
    Unwritable { folder: folder.to_owned(), mount: mount.to_owned(), read_only }
}

/// What is refused when the facts of one host are changed.
fn refused(host: &str, change: impl Fn(&mut HostFacts)) -> String {
    let seen = seen_with(|name, facts| {
        if name == host {
            change(facts);
        }
    });
    written(&refusals(&seen))
}

#[test]
fn good_hosts_are_not_refused() {
    assert_eq!(refusals(&seen_with(|_, _| {})), Vec::new());
    assert_eq!(refusals(&Seen::default()), Vec::new(), "hosts that were not probed are left out");
}

#[test]
fn what_a_host_is() {
    insta::assert_snapshot!("busy", refused("worker1", |facts| facts.busy = true));
    insta::assert_snapshot!("no_systemd", refused("worker1", |facts| facts.systemd = false));
    insta::assert_snapshot!("not_writable", refused("worker1", |facts| facts.unwritable = vec![unwritable("/usr/local", "/", false)]));
    insta::assert_snapshot!("cgroup_v1", refused("worker1", |facts| facts.cgroup_v2 = false));
    let used = |bytes: u64| move |facts: &mut HostFacts| facts.swaps = [("/dev/sda2".to_owned(), bytes)].into();
    assert_eq!(refused("worker1", used(1 << 30)), "", "a step switches it off");
    insta::assert_snapshot!("swap", refused("worker1", used(4 << 30)));
    insta::assert_snapshot!("old_kernel", refused("worker1", |facts| facts.kernel = "5.10.0-33-amd64".to_owned()));
    insta::assert_snapshot!("very_old_kernel", refused("worker1", |facts| facts.kernel = "3.10.0-1160.el7.x86_64".to_owned()));
    insta::assert_snapshot!("architecture", refused("worker1", |facts| facts.architecture = "riscv64".to_owned()));
    insta::assert_snapshot!("one_processor", refused("cp1", |facts| facts.processors = 1));
    insta::assert_snapshot!("selinux", refused("worker1", |facts| facts.selinux = SelinuxMode::Enforcing));
    insta::assert_snapshot!("little_memory", refused("cp1", |facts| facts.memory_bytes = 1_600_000_000));
    insta::assert_snapshot!("little_space", refused("worker1", mounted("/var/lib/containerd", "/var", |it| it.free_bytes = 2_400_000_000)));
    insta::assert_snapshot!(
        "no_such_address",
        refused("worker1", |facts| facts.interfaces.get_mut("eth0").unwrap().addresses = ["192.0.2.7".parse().unwrap()].into())
    );
    insta::assert_snapshot!(
        "missing_commands",
        refused("worker1", |facts| facts.commands.retain(|command| !["flock", "iptables", "nsenter", "tar"].contains(&command.as_str())))
    );
}

#[test]
fn whose_a_host_is() {
    insta::assert_snapshot!("other_cluster", refused("worker1", |facts| facts.cluster = Some("production".to_owned())));
    insta::assert_snapshot!("foreign_authority", refused("worker1", |facts| facts.certificate_authority = Some("theirs".to_owned())));
    insta::assert_snapshot!("ports", refused("cp1", |facts| facts.listening_ports.extend([2379, 6443, 10250])));
    insta::assert_snapshot!("kubelet_port", refused("worker1", |facts| facts.listening_ports.extend([6443, 10250])));
}

/// A file system of its own for a folder.
fn mounted(folder: &'static str, mount: &'static str, change: impl Fn(&mut Storage)) -> impl Fn(&mut HostFacts) {
    move |facts| {
        let storage = facts.storage.get_mut(folder).unwrap();
        storage.mount = mount.to_owned();
        change(storage);
    }
}

#[test]
fn what_a_host_has_room_for() {
    insta::assert_snapshot!("small_root", refused("cp1", |facts| facts.storage.values_mut().for_each(|it| it.free_bytes = 4_000_000_000)));
    insta::assert_snapshot!("few_inodes", refused("worker1", mounted("/var/lib/containerd", "/data", |it| it.free_inodes = Some(100))));
    insta::assert_snapshot!("read_only", refused("worker1", mounted("/usr/local", "/usr", |it| it.read_only = true)));
    let deeper = vec![unwritable("/usr/local/bin", "/usr/local/bin", true), unwritable("/usr/local/sbin", "/usr/local/bin", true)];
    insta::assert_snapshot!("read_only_below", refused("worker1", |facts| facts.unwritable.clone_from(&deeper)));
    let told_once = refused("worker1", |facts| {
        mounted("/usr/local", "/usr", |it| it.read_only = true)(facts);
        facts.unwritable = vec![unwritable("/usr/local", "/usr", true), unwritable("/usr/local/bin", "/usr", true)];
    });
    assert_eq!(told_once, refused("worker1", mounted("/usr/local", "/usr", |it| it.read_only = true)));
    insta::assert_snapshot!("no_exec", refused("worker1", mounted("/opt", "/opt", |it| it.no_exec = true)));
    assert_eq!(refused("worker1", mounted("/var/lib/kubelet", "/var", |it| it.no_exec = true)), "", "that is a warning");
    assert_eq!(refused("worker1", mounted("/var/lib/containerd", "/data", |it| it.free_inodes = None)), "", "btrfs counts none");
    let warned = |percent: u64| {
        let seen = seen_with(|name, facts| {
            if name == "worker1" {
                mounted("/var/lib/containerd", "/data", |it| (it.free_bytes, it.total_bytes) = (percent << 30, 100 << 30))(facts);
            }
        });
        examine(&cluster(), &seen).into_iter().flat_map(|it| it.findings).map(|it| it.refusal.what).collect::<Vec<_>>()
    };
    assert_eq!(warned(15), Vec::<String>::new());
    assert_eq!(warned(14), ["of the 107 GB below /var/lib/containerd 14 % are free"]);
}

#[test]
fn what_a_host_is_connected_to() {
    let route = |to: &str, interface: &str| Route { to: to.parse().unwrap(), interface: interface.to_owned(), via: None };
    let docker = route("10.233.0.0/16", "docker0");
    insta::assert_snapshot!("route", refused("worker1", |facts| facts.routes.push(docker.clone())));
    let ours = [route("10.233.64.0/24", "flannel.1"), route("10.233.65.0/24", "cni0")];
    assert_eq!(refused("worker1", |facts| facts.routes.extend(ours.clone())), "");
    insta::assert_snapshot!("no_name_server", refused("worker1", |facts| facts.name_servers.clear()));
    let stub: std::net::IpAddr = "127.0.0.53".parse().unwrap();
    insta::assert_snapshot!("name_server_loop", refused("worker1", |facts| facts.name_servers = vec![stub]));
    let resolved = |facts: &mut HostFacts| {
        facts.name_servers = vec![stub];
        facts.resolved_servers = vec!["192.0.2.53".parse().unwrap()];
    };
    assert_eq!(refused("worker1", resolved), "", "the kubelet gets the servers of systemd-resolved");
    insta::assert_snapshot!("name_server_service", refused("worker1", |facts| facts.name_servers = vec!["10.233.0.10".parse().unwrap()]));
}

/// What is refused when something else was seen of a host.
fn refused_when_seen(cluster: &Cluster, host: &str, seen_there: Observations) -> String {
    let mut seen = seen_with(|_, _| {});
    seen.add_observations(host, seen_there);
    written(&check(cluster, &seen))
}

#[test]
fn what_others_have_installed_is_not_touched() {
    let unit = |name: &str, active: &str| {
        let state = UnitState { load: "loaded".into(), active: active.into(), file: "enabled".into(), ..UnitState::default() };
        Observations { units: [(name.to_owned(), state)].into(), ..Observations::default() }
    };
    insta::assert_snapshot!("docker", refused_when_seen(&cluster(), "worker1", unit("docker.service", "active")));
    insta::assert_snapshot!("k3s", refused_when_seen(&cluster(), "worker2", unit("k3s-agent.service", "failed")));
    insta::assert_snapshot!("containerd", refused_when_seen(&cluster(), "worker1", unit("containerd.service", "active")));
    let missing = UnitState { load: "not-found".into(), active: "inactive".into(), ..UnitState::default() };
    let none = Observations { units: [("docker.service".to_owned(), missing)].into(), ..Observations::default() };
    assert_eq!(refused_when_seen(&cluster(), "worker1", none), "");
}

#[test]
fn firewalls_are_refused_while_they_are_closed() {
    let with = |firewall: Firewall| Observations { firewall: Some(firewall), ..Observations::default() };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<String>>();
    let firewalld = |ports: &[&str], trusted: &[&str]| Firewall::Firewalld(crate::support::firewalld(ports, trusted));
    insta::assert_snapshot!("firewalld", refused_when_seen(&cluster(), "cp1", with(firewalld(&["22/tcp"], &[]))));
    let open = firewalld(&["2379-2380/tcp", "6443/tcp", "10000-20000/tcp", "8472/udp"], &["10.233.64.0/18"]);
    assert_eq!(refused_when_seen(&cluster(), "cp1", with(open)), "");
    // What is open in the default zone is closed in that of the interface with the host's address.
    let mut zones = crate::support::firewalld(&["2379-2380/tcp", "6443/tcp", "10250/tcp", "8472/udp"], &["10.233.64.0/18"]);
    let internal = Zone { interfaces: words(&["eth0"]), ports: words(&["6443/tcp"]), ..Zone::default() };
    zones.zones.insert("internal".to_owned(), internal);
    insta::assert_snapshot!("firewalld_zone", refused_when_seen(&cluster(), "cp1", with(Firewall::Firewalld(zones.clone()))));
    // A zone that the other hosts are in by their address goes before it, and one that accepts everything is open.
    let nodes = Zone { sources: words(&["10.20.0.0/24"]), accepts: true, ..Zone::default() };
    zones.zones.insert("nodes".to_owned(), nodes);
    assert_eq!(refused_when_seen(&cluster(), "cp1", with(Firewall::Firewalld(zones.clone()))), "");
    zones.zones.get_mut("nodes").unwrap().sources = words(&["10.20.0.12"]);
    let said = refused_when_seen(&cluster(), "cp1", with(Firewall::Firewalld(zones)));
    assert!(said.contains("10250/tcp (the kubelet) in the zone internal"), "one of two is in it: {said}");
    let ufw = Firewall::Ufw {
        rules: words(&["allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in", "allow tcp 10250 0.0.0.0/0 any 0.0.0.0/0 in comment=6b"]),
    };
    insta::assert_snapshot!("ufw", refused_when_seen(&cluster(), "worker1", with(ufw.clone())));
    for policy in [FirewallPolicy::Open, FirewallPolicy::Ignore] {
        let mut cluster = cluster();
        cluster.settings.host.firewall = policy;
        assert_eq!(refused_when_seen(&cluster, "worker1", with(ufw.clone())), "");
    }
}

#[test]
fn missing_packages_are_installed_where_that_can_be() {
    let without = |facts: &mut HostFacts| facts.commands.retain(|command| command != "tar");
    insta::assert_snapshot!("not_installable", refused("worker1", without));
    let installable = |facts: &mut HostFacts| {
        without(facts);
        facts.installable.insert("tar".to_owned());
    };
    assert_eq!(refused("worker1", installable), "", "a step installs it");
    let fresh_image = |facts: &mut HostFacts| {
        without(facts);
        facts.without_package_lists = true;
    };
    assert_eq!(refused("worker1", fresh_image), "", "apt tells when it has fetched its lists");
    let rhel = |facts: &mut HostFacts| {
        facts.commands.retain(|command| !["tar", "apt-get"].contains(&command.as_str()));
        facts.commands.insert("dnf".to_owned());
        facts.os_id = "rocky".to_owned();
        facts.os_like = vec!["rhel".to_owned()];
    };
    assert_eq!(refused("worker1", rhel), "", "dnf tells when it is done");
    let flock = |facts: &mut HostFacts| {
        facts.commands.remove("flock");
        facts.installable.insert("util-linux".to_owned());
    };
    assert!(refused("worker1", flock).contains("flock"), "without it no script of ours runs");
}

/// A host of a family that has no table is not taken for one of another.
#[test]
fn what_a_host_of_an_unknown_family_is_asked_for_is_refused() {
    let suse = |facts: &mut HostFacts| {
        facts.os_id = "opensuse-leap".to_owned();
        facts.os_like = vec!["suse".to_owned()];
        facts.commands.remove("apt-get");
    };
    // Before, it would have been told to run dnf, which it may have.
    let without_tar = |facts: &mut HostFacts| {
        suse(facts);
        facts.commands.remove("tar");
        facts.commands.insert("dnf".to_owned());
    };
    let refusals = |cluster: &Cluster, change: &dyn Fn(&mut HostFacts)| {
        let seen = seen_with(|host, facts| {
            if host == "worker1" {
                change(facts)
            }
        });
        check(cluster, &seen).iter().map(|refusal| format!("{refusal:?}")).collect::<Vec<String>>()
    };
    let plain = Cluster { time: Default::default(), ..cluster() };
    assert_eq!(refusals(&plain, &suse), [""; 0], "it has all that is needed");
    assert!(refusals(&plain, &without_tar).concat().contains("it lacks the commands tar"));
    let mut asking = cluster();
    assert!(asking.time.is_managed());
    asking.settings.host.trusted_certificates.insert("own".to_owned(), "PEM".to_owned());
    let refusals = refusals(&asking, &suse);
    let of_family: Vec<&String> = refusals.iter().filter(|refusal| refusal.contains("opensuse-leap")).collect();
    assert_eq!(of_family.len(), 2, "{refusals:?}");
    assert!(refusals.concat().contains("chrony has its configuration") && refusals.concat().contains("authorities"), "{refusals:?}");
}

#[test]
fn every_check_says_something_of_good_hosts_too() {
    let all = examine(&cluster(), &seen_with(|_, _| {}));
    assert_eq!(all.iter().filter(|it| it.host.is_none()).count(), 16);
    assert_eq!(all.iter().filter(|it| it.host.as_deref() == Some("worker2")).count(), 22);
    assert!(all.iter().all(|it| it.findings.is_empty() && !it.about.is_empty() && !it.name.is_empty()));
}

#[test]
fn limits_are_where_they_are_said_to_be() {
    assert_eq!(refused("worker1", |facts| facts.memory_bytes = 1_600_000_000), "", "only a control plane needs 1700 MB");
    assert_eq!(refused("cp1", |facts| facts.memory_bytes = 1_700_000_000), "");
    assert_eq!(refused("worker1", mounted("/var/lib/containerd", "/var", |it| it.free_bytes = 2_500_000_000)), "");
    assert_eq!(refused("worker1", mounted("/var/lib/etcd", "/var/lib/etcd", |it| it.free_bytes = 0)), "", "a worker has no etcd");
    assert_eq!(refused("worker1", |facts| facts.kernel = "5.13.0".to_owned()), "");
    assert_eq!(refused("worker1", |facts| facts.processors = 1), "");
    assert_eq!(refused("worker1", |facts| facts.selinux = SelinuxMode::Permissive), "");
    assert_eq!(refused("worker1", |facts| facts.certificate_authority = None), "");
    let ours = |facts: &mut HostFacts| {
        facts.cluster = Some("demo".to_owned());
        facts.listening_ports.extend([6443, 10250]);
        facts.storage.values_mut().for_each(|storage| storage.free_bytes = 0);
    };
    assert_eq!(refused("cp1", ours), "", "our own programs and data are no obstacle");
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let seen = seen_with(|_, facts| {
        facts.systemd = false;
        facts.cgroup_v2 = false;
    });
    assert_eq!(refusals(&seen).len(), 6);
}
