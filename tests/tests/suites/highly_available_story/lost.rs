//! Any one control plane may be lost: the others answer, and each worker goes on by its own way to them.

use kok_tests::lab::{Host, Lab, LabSpec};

use super::any;
use crate::cluster_support::cluster::{control_planes, has_own_etcd, kubectl, node_hosts};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{hosts, ok};
use crate::lab_support::wait_for;

/// Before there is a cluster, all of its control planes have to be there: it says so, and nothing is changed.
pub fn before_the_start(lab: &Lab, kokctl: &Kokctl<'_>) {
    let off = any(control_planes(lab));
    println!("{} is off before the start", off.name());
    off.power_off().unwrap();
    let others = || hosts(lab).iter().filter(|host| host.name() != off.name()).map(|host| ok(host, CHANGED)).collect::<Vec<_>>();
    let before = others();
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{said:?}");
    assert!(said.stderr.contains(&format!("error: cannot connect to {}", off.name())), "{said:?}");
    assert!(said.stderr.contains(&format!("at: host {} (", off.name())) && said.stderr.contains("   hint: "), "{said:?}");
    assert_eq!(before, others(), "nothing must change");
    off.power_on().unwrap();
}

/// Where kokctl writes first of all.
const CHANGED: &str = "find /etc /usr/local /opt /var/lib/kokctl -printf '%p %m %U %s %T@\\n' 2>/dev/null | sort | sha256sum";

/// One that is chosen at random.
pub fn any_control_plane(lab: &Lab, kokctl: &Kokctl<'_>) {
    is_lost(lab, kokctl, &any(control_planes(lab)));
}

/// Each of them in turn, on hosts of their own.
pub fn each_control_plane() {
    let lab = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    kokctl.converge("apply");
    control_planes(&lab).iter().for_each(|lost| is_lost(&lab, &kokctl, lost));
}

fn is_lost(lab: &Lab, kokctl: &Kokctl<'_>, lost: &Host) {
    println!("{} loses its power", lost.name());
    lost.power_off().unwrap();
    let workers: Vec<Host> = node_hosts(lab).into_iter().filter(|host| !host.name().starts_with("cp")).collect();
    assert!(!workers.is_empty());
    for worker in &workers {
        goes_on(lab, worker);
    }
    is_refused(lab, kokctl, lost);
    lost.power_on().unwrap();
    all_are_back(lab, kokctl);
}

/// Every control plane works, with its member of etcd, and there is nothing to do.
pub fn all_are_back(lab: &Lab, kokctl: &Kokctl<'_>) {
    wait_for("all members of etcd and API servers are ready", 120, || {
        let said = kokctl.verb("status", &[]);
        said.code == 0 && ready(lab, &said.stdout) == control_planes(lab).len()
    });
    // Pods of the host may still be on their way back; then there is something to wait for and nothing to change.
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// A worker's load balancer knows an API server that answers, and its kubelet writes its lease.
fn goes_on(lab: &Lab, worker: &Host) {
    // Two seconds between two questions, and a second one in vain.
    wait_for("the load balancer has an API server", 30, || ok(worker, HEALTH).contains(" 200 "));
    // As its kubelet asks: by the name that leads to the load balancer on the worker itself.
    wait_for("the API answers by the worker's own way", 30, || ok(worker, ASK) == "ok");
    let lease = || kubectl(lab, &format!("-n kube-node-lease get lease {} -o jsonpath='{{.spec.renewTime}}'", worker.name()));
    let before = lease();
    // A kubelet renews its lease every 10 s; one whose connection led to the lost host first has to find that out.
    wait_for("the kubelet renews its lease", 60, || lease() > before);
}

/// Asks an API server that proves who it is.
const ASK: &str = "curl -s --max-time 10 --cacert /etc/kubernetes/pki/ca.crt https://lb-apiserver.kubernetes.local:6443/readyz || :";

/// Asks the load balancer's own page for its health.
const HEALTH: &str = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/8081; printf \"GET /healthz HTTP/1.0\\r\\n\\r\\n\" >&3; head -n 1 <&3'";

/// What is asked of all hosts needs all of them; it says so, and nothing is changed.
fn is_refused(lab: &Lab, kokctl: &Kokctl<'_>, lost: &Host) {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains(&format!("cannot connect to {}", lost.name())), "{said:?}");
    let said = kokctl.verb("status", &[]);
    assert_eq!(ready(lab, &said.stdout), control_planes(lab).len() - 1, "{said:?}");
}

/// How many control planes are, as `status` says; those that have a member of etcd with that member.
fn ready(lab: &Lab, status: &str) -> usize {
    let is_ready = |host: &Host| {
        let etcd = if has_own_etcd(lab) { ";" } else { "; etcd ready, 3 members" };
        status.contains(&format!("  {}: API server ready{etcd}", host.name()))
    };
    control_planes(lab).iter().filter(|host| is_ready(host)).count()
}
