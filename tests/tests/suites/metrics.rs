//! metrics-server of upstream, as an addon: it asks every kubelet over TLS and trusts the cluster's CA alone, so `kubectl top` works where kubelets show what that
//! has signed, and says nothing of one that shows another certificate until `apply` has put that right.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};
use kok_tests::release::paths::default_cache;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{kubectl, node_hosts};
use crate::cluster_support::kokctl::{Kokctl, image_of, program};
use crate::cluster_support::{ok, up};
use crate::lab_support::wait_for;

const MANIFEST: &str = include_str!("metrics_story/metrics-server.yaml");

#[test]
fn kubelets_are_measured_and_known() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let (image, archive) = image_of(&metrics_server(), "metrics-server");
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    node_hosts(&lab).iter().for_each(|host| import(host, &image, &archive));
    assert!(!MANIFEST.contains("insecure-tls"), "kubelets are to be known");
    fs::write(kokctl.folder().join("metrics-server.yaml"), MANIFEST.replace("IMAGE", &image)).unwrap();
    let addon = "  addons:\n  - {name: metrics-server, manifest: metrics-server.yaml}\n";
    kokctl.write_manifest(&format!("{}\n{addon}", lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap().trim_end()));
    kokctl.converge("apply");
    is_available(&lab);
    are_measured(&lab);
    clock.lap("metrics-server");
    // One that nobody of the cluster has signed is not trusted: it is really looked at.
    one_that_shows_its_own_is_not_measured(&lab, &kokctl);
    clock.lap("a kubelet that shows its own");
}

fn metrics_server() -> PathBuf {
    let to = default_cache().unwrap().join("tool-metrics-server");
    let release = program().with_file_name("release");
    let output = Command::new(release).args(["build", "--only", "metrics-server", "--output"]).arg(&to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    to
}

/// Its owner's part: the lab has no registry.
fn import(host: &Host, image: &str, archive: &Path) {
    let script = format!(
        "ctr -n k8s.io images import - >/dev/null && ctr -n k8s.io images label {image} io.cri-containerd.pinned=pinned >/dev/null"
    );
    let output = host.ssh_command("root", script).unwrap().stdin(File::open(archive).unwrap()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// It is ready when it has measured every kubelet once.
fn is_available(lab: &Lab) {
    kubectl(lab, "-n kube-system rollout status deployment/metrics-server --timeout=120s");
    kubectl(lab, "wait --for=condition=Available --timeout=60s apiservice/v1beta1.metrics.k8s.io");
}

fn measured(lab: &Lab, what: &str) -> String {
    let cp1 = lab.host("cp1").unwrap();
    ok(&cp1, &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf top {what} --no-headers 2>/dev/null || :"))
}

/// Within three rounds of asking.
fn are_measured(lab: &Lab) {
    let since = kubectl(lab, "get --raw /apis/metrics.k8s.io/v1beta1/nodes");
    let names: Vec<String> = node_hosts(lab).iter().map(|host| host.name().to_owned()).collect();
    let has_all =
        |said: &str| names.iter().all(|name| said.lines().any(|line| line.starts_with(name.as_str()) && !line.contains("unknown")));
    wait_for("kubectl top says something of each node", 60, || has_all(&measured(lab, "nodes")));
    wait_for("and of pods", 60, || measured(lab, "pods -n kube-system").contains("coredns"));
    wait_for("of a moment after this one", 60, || kubectl(lab, "get --raw /apis/metrics.k8s.io/v1beta1/nodes") != since);
}

/// Somebody gives worker1's kubelet a certificate of its own; the node is not measured any more, and `apply` has it known again.
fn one_that_shows_its_own_is_not_measured(lab: &Lab, kokctl: &Kokctl<'_>) {
    let worker = lab.host("worker1").unwrap();
    let own = "cd /var/lib/kubelet/pki && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=own \
               -keyout kubelet.key -out kubelet.crt 2>/dev/null && systemctl restart kubelet";
    ok(&worker, own);
    wait_for("worker1 is not measured", 120, || {
        !measured(lab, "nodes").lines().any(|line| line.starts_with("worker1") && !line.contains("unknown"))
    });
    kokctl.converge("apply");
    are_measured(lab);
}
