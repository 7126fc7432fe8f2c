//! Machines of Vagrant, as it prints them and as nobody should.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::model::{Cluster, Via};
use crate::{File, Input, Role, read_input};

/// What Vagrant 2.3.4 prints for two machines of VirtualBox.
const PRINTED: &str = "Host control-plane-1\n  HostName 127.0.0.1\n  User vagrant\n  Port 2222\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  \
     PasswordAuthentication no\n\n  IdentityFile /lab/.vagrant/machines/control-plane-1/virtualbox/private_key\n  IdentitiesOnly yes\n  LogLevel FATAL\n\n\
     Host worker-1\n  HostName 127.0.0.1\n  User vagrant\n  Port 2200\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  PasswordAuthentication no\n\n  \
     IdentityFile \"/my lab/.vagrant/machines/worker-1/virtualbox/private_key\"\n  IdentitiesOnly yes\n  LogLevel FATAL\n\n";

const KEY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

const HEAD: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1\n";

fn file(name: &str, text: impl Into<String>, role: Role) -> File {
    File { name: name.to_owned(), text: text.into(), role }
}

fn noted(name: &str, address: &str) -> File {
    let text = format!("{{\"address\":\"{address}\",\"hostKey\":\"{KEY}\"}}\n");
    file(&format!("{name}/kokctl.json"), text, Role::Machine { name: name.to_owned() })
}

/// Both machines, with these files besides.
fn read(printed: &str, more: Vec<File>) -> Input {
    let list = file("ssh-config", printed, Role::Machines { cluster: Some("vagrant".to_owned()) });
    let both = [noted("control-plane-1", "192.168.56.11"), noted("worker-1", "192.168.56.101")];
    read_input(&[list].into_iter().chain(both).chain(more).collect::<Vec<_>>())
}

fn cluster(input: Input) -> Cluster {
    assert_eq!(input.problems, []);
    input.cluster.unwrap()
}

fn manifest(rest: &str) -> Vec<File> {
    vec![file("cluster.yaml", format!("{HEAD}{rest}"), Role::Main { cluster: Some("lab".to_owned()) })]
}

fn wrong(input: &Input) -> String {
    assert!(input.cluster.is_none());
    assert!(input.problems.iter().all(|problem| problem.hint.is_some() && problem.position.is_some()), "{:?}", input.problems);
    input.problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn machines_are_hosts_with_their_own_addresses_keys_and_ports() {
    let of_variables = || vec![file("-e", "kube_network_plugin=flannel", Role::Extra)];
    for (more, name) in [(manifest("  network: {plugin: flannel}\n"), "berlin"), (of_variables(), "vagrant")] {
        let cluster = cluster(read(PRINTED, more));
        assert_eq!(cluster.name, name);
        let shown: Vec<_> = cluster
            .hosts
            .iter()
            .map(|host| {
                let ssh = &host.ssh;
                assert_eq!((ssh.user.as_deref(), ssh.host_key.as_deref(), &ssh.via), (Some("vagrant"), Some(KEY), &Some(Via::Direct)));
                let (roles, address) = ((host.roles.control_plane, host.roles.worker, host.roles.etcd), host.address.to_string());
                (host.name.as_str(), address, ssh.address.as_deref(), ssh.port, ssh.private_key_file.as_deref(), roles)
            })
            .collect();
        let [first, second] = ["/lab/.vagrant/machines/control-plane-1", "/my lab/.vagrant/machines/worker-1"]
            .map(|path| format!("{path}/virtualbox/private_key"));
        let at = Some("127.0.0.1");
        assert_eq!(
            shown,
            [
                ("control-plane-1", "192.168.56.11".to_owned(), at, Some(2222), Some(first.as_str()), (true, false, true)),
                ("worker-1", "192.168.56.101".to_owned(), at, Some(2200), Some(second.as_str()), (false, true, false)),
            ]
        );
        let key = cluster.positions.get("spec.hosts[1].ssh.privateKeyFile").unwrap();
        assert_eq!((&*key.file, key.line), ("ssh-config", 21), "what is wrong with the key points at the line that names it");
    }
}

#[test]
fn a_cluster_file_says_more_of_machines_and_wins() {
    let hosts = "  hosts:\n    - {name: worker-1, address: 10.9.0.3, roles: [worker, etcd], labels: {a: b}, ssh: {user: me}}\n";
    let cluster = cluster(read(PRINTED, manifest(&format!("{hosts}  network: {{plugin: flannel}}\n"))));
    let worker = cluster.host("worker-1").unwrap();
    assert_eq!((worker.address.to_string().as_str(), worker.roles.etcd, worker.labels.len()), ("10.9.0.3", true, 1));
    assert_eq!((worker.ssh.user.as_deref(), worker.ssh.port), (Some("me"), Some(2200)));
    assert!(!cluster.host("control-plane-1").unwrap().roles.etcd);
    let said = wrong(&read(PRINTED, manifest("  hosts: [{name: worker-2}]\n  network: {plugin: flannel}\n")));
    assert!(said.contains("cluster.yaml:6:18") && said.contains("did you mean `worker-1`"), "{said}");
}

#[test]
fn alone_a_control_plane_carries_pods() {
    let (first, _) = PRINTED.split_once("Host worker-1").unwrap();
    let list = file("ssh-config", first, Role::Machines { cluster: None });
    let files = [list, noted("control-plane-1", "192.168.56.11"), file("-e", "kube_network_plugin=flannel", Role::Extra)];
    let cluster = cluster(read_input(&files));
    assert!(cluster.hosts[0].roles.worker && cluster.hosts[0].roles.etcd);
}

#[test]
fn machines_that_are_not_known_enough_are_refused() {
    let list = || file("ssh-config", PRINTED, Role::Machines { cluster: None });
    let without = [list(), noted("worker-1", "192.168.56.101")];
    for more in [Vec::new(), manifest("  network: {plugin: flannel}\n")] {
        let said = wrong(&read_input(&without.iter().cloned().chain(more).collect::<Vec<_>>()));
        assert!(said.contains("ssh-config:1:1") && said.contains("address of the machine `control-plane-1`"), "{said}");
    }
    let said = wrong(&read(PRINTED, vec![noted("worker-2", "192.168.56.102")]));
    assert!(said.contains("`worker-2` is there") && said.contains("WORKERS"), "{said}");
    let said = wrong(&read(PRINTED, vec![noted("worker-1", "192.168.56.102")]));
    assert!(said.contains("there twice"), "{said}");
    let said = wrong(&read(&PRINTED.replace("worker-1", "k8s-1"), Vec::new()));
    assert!(said.contains("worker-1") && said.contains("does not name it"), "{said}");
    let files = [file("ssh-config", PRINTED.replace("worker-1", "k8s-1"), Role::Machines { cluster: None })];
    let both = [noted("control-plane-1", "192.168.56.11"), noted("k8s-1", "192.168.56.101")];
    let said = wrong(&read_input(&files.into_iter().chain(both).collect::<Vec<_>>()));
    assert!(said.contains("what the machine `k8s-1` is to do"), "{said}");
    let said = wrong(&read(PRINTED, vec![file("hosts.yaml", "all: {hosts: {a: }}\n", Role::Main { cluster: None })]));
    assert!(said.contains("described twice"), "{said}");
}

/// What is noted is read as strictly as any file.
#[test]
fn what_is_noted_may_be_wrong() {
    for (text, part) in [
        ("", "nothing, or more than one thing"),
        ("{\"address\":\"192.168.56.11\"}", "`hostKey` is missing"),
        ("{\"address\":\"here\",\"hostKey\":\"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU\"}", "`here` cannot be the address"),
        ("{\"address\":\"192.168.56.11\",\"hostKey\":\"none\"}", "`none` is no fingerprint"),
        ("{\"address\":\"192.168.56.11\",\"hostkey\":\"x\"}", "unknown field `hostkey`"),
        ("{\"address\":", "not the YAML"),
    ] {
        let list = file("ssh-config", PRINTED, Role::Machines { cluster: None });
        let first = file("kokctl.json", text, Role::Machine { name: "control-plane-1".to_owned() });
        let extra = file("-e", "kube_network_plugin=flannel", Role::Extra);
        let said = wrong(&read_input(&[list, first, noted("worker-1", "192.168.56.101"), extra]));
        assert!(said.contains(part) && said.contains("kokctl.json"), "{text}: {said}");
    }
}

/// Each wrong line is named, with what to do; nothing of it is taken.
#[test]
fn what_is_printed_is_not_trusted() {
    for (from, to, part) in [
        ("  Port 2222", "  Port 0x8", "ssh-config:4:1"),
        ("  Port 2222", "  Port 70000", "`70000` is no port"),
        ("  Port 2222", "", "has no `Port`"),
        ("  Port 2222", "  Port 2222\n  Port 2223", "`Port` twice"),
        ("  Port 2222", "  Prot 2222", "did you mean `Port`"),
        ("  Port 2222", "  ProxyCommand ssh -W %h:%p jump", "runs no program"),
        ("  Port 2222", "  Include /etc/passwd", "`Include`"),
        ("HostName 127.0.0.1", "HostName 127.0.0.1 more", "one value"),
        ("HostName 127.0.0.1", "HostName \"127.0.0.1", "can't be read"),
        ("HostName 127.0.0.1", "HostName -oProxyCommand=x", "cannot be `-oProxyCommand=x`"),
        ("User vagrant", "User \u{1b}[31mroot", "can't be read"),
        ("Host worker-1", "Host control-plane-1", "listed twice"),
        ("Host worker-1", "Host *", "it is a pattern"),
        ("Host control-plane-1", "hello from a Vagrantfile\nHost control-plane-1", "unknown option `hello`"),
        ("Host control-plane-1", "Port 1\nHost control-plane-1", "before the first machine"),
        ("  IdentitiesOnly yes", "  IdentityFile /b", "insert_key"),
    ] {
        let printed = PRINTED.replacen(from, to, 1);
        assert_ne!(printed, PRINTED);
        let said = wrong(&read(&printed, vec![file("-e", "kube_network_plugin=flannel", Role::Extra)]));
        assert!(said.contains(part), "{to}: {said}");
        assert!(!said.contains('\u{1b}'), "{said}");
    }
    assert!(wrong(&read("", Vec::new())).contains("lists no machines"));
    let garbage = "x y z\n".repeat(10_000);
    assert_eq!(read(&garbage, Vec::new()).problems.len(), 20, "the rest would hide the first");
}
