//! Certificates that end soon are made anew, and what runs has the new ones.

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use crate::certificates_story::aged::{self, Left};
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{kubectl, node_hosts};
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{ok, up};
use crate::highly_available_story::any;
use crate::lab_support::wait_for;
use crate::members_story::killed;

/// What is left of certificates that were aged.
pub const SOON: Left = Left::Minutes(20);

#[test]
fn certificates_are_renewed() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let cp1 = lab.host("cp1").unwrap();
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    all_is_well(&kokctl);
    kubelets_are_known(&lab, &cp1);
    a_file_that_nobody_has_read_is_found(&kokctl, &cp1);
    clock.lap("status");
    they_are_renewed_by_their_own_verb(&lab, &kokctl, &cp1);
    clock.lap("certs renew, killed once");
    a_part_is_renewed(&kokctl, &cp1);
    clock.lap("certs renew of a part");
    apply_renews_them(&lab, &kokctl, &cp1);
    clock.lap("apply");
    an_ended_cluster_is_mended(&lab, &kokctl, &cp1);
    clock.lap("apply of a cluster whose certificates have ended");
}

fn certs(kokctl: &Kokctl<'_>, verb: &str, more: &[&str]) -> KokctlOutput {
    let manifest = kokctl.manifest();
    kokctl.run(&[&["certs", verb, "-f", manifest.to_str().unwrap()], more].concat())
}

/// What each certificate says of itself.
fn certificates(kokctl: &Kokctl<'_>) -> Vec<Value> {
    let said = certs(kokctl, "status", &["--json"]);
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// None is late, and every program that runs has what its file has: seen from outside where something is shown. An API server reads its own within a minute.
pub fn all_is_well(kokctl: &Kokctl<'_>) {
    wait_for("what runs has what the files have", 90, || certs(kokctl, "status", &[]).code == 0);
    let said = certs(kokctl, "status", &[]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    print!("{}", said.stdout);
    let found = certificates(kokctl);
    for certificate in &found {
        let has = certificate["running"]["has"].as_str().unwrap();
        assert!(["yes", "none"].contains(&has), "{certificate}");
        assert!(certificate["daysLeft"].as_i64().unwrap() > 300, "{certificate}");
    }
    let of = |host: &str| found.iter().filter(|it| it["host"] == host).map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>();
    let expected = [
        "apiserver",
        "apiserver-kubelet-client",
        "apiserver-etcd-client",
        "front-proxy-client",
        "etcd/server",
        "etcd/peer",
        "etcd/healthcheck-client",
        "admin.conf",
        "controller-manager.conf",
        "scheduler.conf",
        "kubelet.conf",
        "kubelet",
        "ca",
        "etcd/ca",
        "front-proxy-ca",
    ];
    assert_eq!(of("cp1"), expected);
    assert_eq!(of("worker1"), ["kubelet.conf", "kubelet", "ca"]);
    let shown: Vec<&str> = found.iter().filter(|it| it["running"]["because"] == "shown").map(|it| it["name"].as_str().unwrap()).collect();
    let planes = found.iter().filter(|it| it["name"] == "apiserver").count();
    let expected: Vec<&str> = ["apiserver", "etcd/server", "etcd/peer", "kubelet"].repeat(planes).into_iter().chain(["kubelet"]).collect();
    assert_eq!(shown, expected, "handshakes through SSH");
    let kubelets: Vec<_> = found.iter().filter(|it| it["name"] == "kubelet").map(|it| it["signedBy"].as_str().unwrap()).collect();
    assert_eq!(kubelets, vec!["kubernetes"; planes + 1]);
}

/// Whoever trusts the cluster's authority knows each kubelet by the address and by the name of its node, as metrics-server does.
fn kubelets_are_known(lab: &Lab, cp1: &Host) {
    for host in node_hosts(lab) {
        let (name, address) = (host.name(), host.address());
        let by_address = format!(
            "KUBECONFIG=/dev/null kubectl --server=https://{address}:10250 --certificate-authority=/etc/kubernetes/pki/ca.crt \
             --client-certificate=/etc/kubernetes/pki/apiserver-kubelet-client.crt --client-key=/etc/kubernetes/pki/apiserver-kubelet-client.key \
             get --raw /healthz"
        );
        assert_eq!(ok(cp1, &by_address), "ok", "{name}");
        let by_name = format!(
            "openssl s_client -connect {address}:10250 -CAfile /etc/kubernetes/pki/ca.crt -verify_hostname {name} -verify_return_error"
        );
        assert!(ok(cp1, &format!("{by_name} </dev/null 2>&1")).contains("Verify return code: 0 (ok)"), "{name}");
    }
}

fn a_file_that_nobody_has_read_is_found(kokctl: &Kokctl<'_>, cp1: &Host) {
    ok(
        cp1,
        "cd /etc/kubernetes && cp -p scheduler.conf /run/scheduler.conf && cat /run/scheduler.conf >scheduler.conf && rm /run/scheduler.conf",
    );
    let said = certs(kokctl, "status", &[]);
    assert!(said.code == 3 && said.stderr.contains("scheduler.conf of cp1: kube-scheduler was started on"), "{said:?}");
    let said = certs(kokctl, "renew", &[]);
    assert!(said.code == 0 && said.stdout.contains("2 changes"), "{said:?}");
    all_is_well(kokctl);
}

/// Serial numbers of all leaves, of those inside kubeconfigs, and of what the kubelet shows.
pub fn serials(host: &Host) -> Vec<String> {
    ok(host, aged::SERIALS).lines().map(str::to_owned).collect()
}

fn is_late(kokctl: &Kokctl<'_>) {
    let said = certs(kokctl, "status", &[]);
    assert!(said.code == 3 && said.stderr.contains("11 certificates are about to end"), "{said:?}");
}

/// All are others than before, and every program has them.
fn are_new(lab: &Lab, kokctl: &Kokctl<'_>, host: &Host, before: &[String]) {
    let after = serials(host);
    assert_eq!(after.len(), 11, "{after:?}");
    assert!(after.iter().all(|serial| !before.contains(serial)), "{before:?} {after:?}");
    all_is_well(kokctl);
    assert!(kubectl(lab, "wait --for=condition=Ready --timeout=60s nodes --all").contains("worker1"));
    kokctl.has_nothing_to_do();
    let said = certs(kokctl, "renew", &[]);
    assert!(said.code == 0 && said.stdout.starts_with("nothing to do"), "{said:?}");
}

fn they_are_renewed_by_their_own_verb(lab: &Lab, kokctl: &Kokctl<'_>, cp1: &Host) {
    aged::age(cp1, SOON);
    let before = serials(cp1);
    is_late(kokctl);
    let after = any((0..=17).collect());
    println!("certs renew is killed after {after} steps");
    killed::after(kokctl, &["certs", "renew"], after);
    let said = certs(kokctl, "renew", &[]);
    assert_eq!(said.code, 0, "{said:?}");
    are_new(lab, kokctl, cp1, &before);
}

/// Whoever names some gets these, whatever is left of them.
fn a_part_is_renewed(kokctl: &Kokctl<'_>, cp1: &Host) {
    let before = serials(cp1);
    let said = certs(kokctl, "renew", &["--part", "front-proxy", "--all", "--limit", "cp1"]);
    assert!(said.code == 0 && said.stdout.starts_with("nothing to do"), "they are not an hour old: {said:?}");
    assert_eq!(serials(cp1), before);
    let said = certs(kokctl, "renew", &["--part", "nothing"]);
    assert_eq!(said.code, 2, "{said:?}");
}

fn apply_renews_them(lab: &Lab, kokctl: &Kokctl<'_>, cp1: &Host) {
    aged::age(cp1, SOON);
    let before = serials(cp1);
    is_late(kokctl);
    kokctl.converge("apply");
    are_new(lab, kokctl, cp1, &before);
}

/// Nothing works any more: neither etcd nor the API server nor a kubelet takes part with what it has.
fn an_ended_cluster_is_mended(lab: &Lab, kokctl: &Kokctl<'_>, cp1: &Host) {
    let worker = lab.host("worker1").unwrap();
    aged::age_kubelet(cp1, cp1, Left::Ended);
    aged::age_kubelet(cp1, &worker, Left::Ended);
    aged::age(cp1, Left::Ended);
    let before = serials(cp1);
    // As after a power cut: whoever goes on with what it has read would hide it.
    for host in [cp1, &worker] {
        host.power_off().unwrap();
        host.power_on().unwrap();
    }
    let said = certs(kokctl, "status", &[]);
    assert!(said.code == 3 && said.stderr.contains("13 certificates have ended"), "{said:?}");
    kokctl.converge("apply");
    are_new(lab, kokctl, cp1, &before);
}
