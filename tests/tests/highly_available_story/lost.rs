//! Any one control plane may be lost: the others answer, and each worker goes on by its own way to them.

use kok_tests::lab::{Host, Lab};

use super::any;
use crate::cluster_support::cluster::{control_planes, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{hosts, ok};
use crate::lab_support::wait_for;

pub fn any_control_plane(lab: &Lab, kokctl: &Kokctl<'_>) {
    let lost = any(control_planes(lab));
    println!("{} loses its power", lost.name());
    lost.power_off().unwrap();
    let workers: Vec<Host> = hosts(lab).into_iter().filter(|host| !host.name().starts_with("cp")).collect();
    for worker in &workers {
        goes_on(lab, worker);
    }
    is_refused(kokctl, &lost);
    lost.power_on().unwrap();
    wait_for("all members of etcd and API servers are ready", 120, || {
        let said = kokctl.verb("status", &[]);
        said.code == 0 && said.stdout.matches(": API server ready; etcd ready, 3 members").count() == 3
    });
    // Pods of the host may still be on their way back; then there is something to wait for and nothing to change.
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// A worker's load balancer knows an API server that answers, and its kubelet writes its lease.
fn goes_on(lab: &Lab, worker: &Host) {
    // Two seconds between two questions, and a second one in vain.
    wait_for("the load balancer has an API server", 30, || ok(worker, HEALTH).contains(" 200 "));
    let lease = || kubectl(lab, &format!("-n kube-node-lease get lease {} -o jsonpath='{{.spec.renewTime}}'", worker.name()));
    let before = lease();
    // A kubelet renews its lease every 10 s; one whose connection led to the lost host first has to find that out.
    wait_for("the kubelet renews its lease", 60, || lease() > before);
}

/// Asks the load balancer's own page for its health.
const HEALTH: &str = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/8081; printf \"GET /healthz HTTP/1.0\\r\\n\\r\\n\" >&3; head -n 1 <&3'";

/// What is asked of all hosts needs all of them; it says so, and nothing is changed.
fn is_refused(kokctl: &Kokctl<'_>, lost: &Host) {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains(&format!("cannot connect to {}", lost.name())), "{said:?}");
    let said = kokctl.verb("status", &[]);
    assert_eq!(said.stdout.matches(": API server ready; etcd ready, 3 members").count(), 2, "{said:?}");
}
