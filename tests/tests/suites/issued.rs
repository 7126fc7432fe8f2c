//! A cluster whose certificates and kubeconfigs somebody else has signed: no host, nor kokctl, ever has the key of an authority.

use std::fs;

use crate::cluster_support::arguments::Arguments;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{self, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, connection_costs, hosts, ok, secrets, snapshot, up};
use crate::issued_story::owner::Owner;
use crate::lab_support::wait_for;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};

/// Seven leaves and five kubeconfigs of the control plane, one kubeconfig of the worker.
const ALL: usize = 7 + 5 + 1;

#[test]
fn a_cluster_comes_to_be_without_the_key_of_any_authority() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let started = Arguments::watch();
    connection_costs::log_every_command(&lab);
    let before = snapshot::bare_state(&lab);
    let owner = Owner::new(&kokctl);
    assert_eq!(owner.sign_what_is_missing(), ALL);
    clock.lap("signed by the owner");
    kokctl.converge("apply");
    clock.lap("apply");
    cluster::assert_serves(&lab, DEFAULT_KUBERNETES_VERSION);
    nobody_has_a_key(&lab);
    clock.lap("pods and services");
    connection_costs::costs_one_connection_each(&lab, || kokctl.has_nothing_to_do());
    what_is_missing_is_told_before_any_host_is_asked(&lab, &kokctl, &owner);
    clock.lap("apply again, and without a file");
    renewed(&lab, &kokctl, &owner);
    clock.lap("renewed");
    secrets::nothing_was_said(&lab, &kokctl, &started);
    assert_eq!(kokctl.verb("reset", &["--yes"]).code, 0);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("reset");
}

fn nobody_has_a_key(lab: &Lab) {
    for host in hosts(lab) {
        assert_eq!(ok(&host, "find /etc/kubernetes /var/lib/kokctl -name '*ca.key'"), "", "{}", host.name());
        // What the kubelet would ask the cluster to sign.
        assert_eq!(ok(&host, "find /var/lib/kubelet/pki -name 'kubelet-client-*'"), "", "{}", host.name());
        assert_eq!(
            ok(&host, "grep ^rotateCertificates: /var/lib/kubelet/config.yaml || :"),
            "rotateCertificates: false",
            "{}",
            host.name()
        );
    }
    let manager = ok(&lab.host("cp1").unwrap(), "cat /etc/kubernetes/manifests/kube-controller-manager.yaml");
    assert!(!manager.contains("ca.key"), "{manager}");
    assert_eq!(kubectl(lab, "get csr -o name"), "", "nobody would sign what is asked for");
}

fn what_is_missing_is_told_before_any_host_is_asked(lab: &Lab, kokctl: &Kokctl<'_>, owner: &Owner<'_>) {
    let as_it_was = snapshot::fingerprint(lab);
    let path = owner.file("worker1", "kubelet.conf");
    let aside = path.with_extension("aside");
    fs::rename(&path, &aside).unwrap();
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.contains("error: issued/worker1/kubelet.conf is missing"), "{said:?}");
    assert!(said.stderr.contains("CN=system:node:worker1, O=system:nodes"), "{said:?}");
    fs::rename(&aside, &path).unwrap();
    snapshot::assert_same(&as_it_was, &snapshot::fingerprint(lab), "nothing was to be done");
}

/// As with a new year: what was issued anew gets to the hosts, and those who have read the old one at their start are started again.
fn renewed(lab: &Lab, kokctl: &Kokctl<'_>, owner: &Owner<'_>) {
    let (plane, worker) = (lab.host("cp1").unwrap(), lab.host("worker1").unwrap());
    let programs = ["kube-controller-manager", "kube-scheduler"];
    let pods = || programs.map(|name| kubectl(lab, &format!("-n kube-system get pod {name}-cp1 -o jsonpath='{{.metadata.uid}}'")));
    let (pods_before, kubelets_before) = (pods(), [&plane, &worker].map(kubelet));
    let leaves = ["pki/apiserver.crt", "pki/etcd/peer.crt", "controller-manager.conf", "scheduler.conf", "kubelet.conf"];
    assert_eq!(owner.sign_again("cp1", &leaves) + owner.sign_again("worker1", &["kubelet.conf"]), leaves.len() + 1);
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
    for leaf in leaves.into_iter().filter(|path| path.ends_with(".crt")) {
        let on_host = ok(&plane, &format!("cat /etc/kubernetes/{leaf}"));
        assert_eq!(
            on_host.trim(),
            fs::read_to_string(owner.file("cp1", leaf)).unwrap().trim(),
            "{leaf} is not the one that was issued anew"
        );
    }
    wait_for("controller manager and scheduler are others", 60, || pods().iter().zip(&pods_before).all(|(is, was)| is != was));
    for (host, before) in [&plane, &worker].into_iter().zip(kubelets_before) {
        assert_ne!(kubelet(host), before, "{}: the kubelet still has the kubeconfig that it began with", host.name());
    }
    let pki = "/etc/kubernetes/pki";
    let as_member = format!("-CAfile {pki}/etcd/ca.crt -cert {pki}/etcd/peer.crt -key {pki}/etcd/peer.key");
    for (what, port, with, file) in [("the API server", 6443, "", "apiserver.crt"), ("etcd", 2380, as_member.as_str(), "etcd/peer.crt")] {
        wait_for(&format!("{what} shows its new certificate"), 60, || {
            let shown =
                format!("openssl s_client -connect {}:{port} {with} </dev/null 2>/dev/null | openssl x509 -noout -serial", plane.address());
            ok(&plane, &shown) == ok(&plane, &format!("openssl x509 -noout -serial -in {pki}/{file}"))
        });
    }
    cluster::assert_serves(lab, DEFAULT_KUBERNETES_VERSION);
    nobody_has_a_key(lab);
}

/// The process of a host's kubelet.
fn kubelet(host: &Host) -> String {
    ok(host, "systemctl show --property MainPID kubelet.service")
}
