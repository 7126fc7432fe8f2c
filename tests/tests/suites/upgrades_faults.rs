//! What can go wrong in an upgrade: an image that is missing, a disk that is full, a budget that lets no pod go, and a worker that does not come back. Each is
//! named, nothing else is lost by it, and the same word goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION as NEW, Host, Lab};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{assert_complete, kubectl};
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput, image_of};
use crate::cluster_support::{ok, up};
use crate::upgrades::OLD;

/// The drain of a node waits for so long here, by Kubespray's own variable.
const DRAIN: &str = "\n  vars:\n    drain_timeout: 60s\n";

/// Ends every kubelet of the new version that begins.
const NEVER: &str = r#"while :; do
  for process in $(pgrep -x kubelet); do
    case $("/proc/$process/exe" --version 2>/dev/null) in *" vNEW") kill -9 "$process" ;; esac
  done
  sleep 0.2
done
"#;

#[test]
fn each_is_named_and_gone_on_from() {
    let lab = up(4);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.write_manifest(&lab.inventory(OLD).unwrap().replacen("\n  vars:\n", DRAIN, 1));
    kokctl.converge("apply");
    clock.lap("a cluster");
    kokctl.write_manifest(&lab.inventory(NEW).unwrap().replacen("\n  vars:\n", DRAIN, 1));
    an_image_is_missing(&lab, &kokctl);
    clock.lap("an image is missing");
    a_disk_is_full(&lab, &kokctl);
    clock.lap("a disk is full");
    a_budget_lets_no_pod_go(&lab, &kokctl);
    clock.lap("a budget lets no pod go");
    one_does_not_come_back(&lab, &kokctl);
    clock.lap("a worker does not come back");
    let said = upgrade(&kokctl, kokctl.bundle(), &["--yes"]);
    assert!(said.code == 0 && said.stdout.contains(&format!("has Kubernetes {NEW}")), "{said:?}");
    kokctl.has_nothing_to_do();
    assert_complete(&lab, NEW);
    let cordoned = kubectl(&lab, "get nodes -o jsonpath='{.items[?(@.spec.unschedulable==true)].metadata.name}'");
    assert_eq!(cordoned, "", "all nodes take pods again");
}

fn upgrade(kokctl: &Kokctl<'_>, bundle: &Path, options: &[&str]) -> KokctlOutput {
    let said = kokctl.verb("upgrade", &[&["--bundle", bundle.to_str().unwrap()], options].concat());
    println!("$ kokctl upgrade {}\n{}{}", options.join(" "), said.stdout, said.stderr);
    said
}

/// The versions of kubelets, as the API knows them, by node.
fn kubelets(lab: &Lab) -> Vec<(String, String)> {
    let said = kubectl(lab, "get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}{\"\\n\"}{end}'");
    said.lines().filter_map(|line| line.split_once(' ')).map(|(node, version)| (node.to_owned(), version[1..].to_owned())).collect()
}

fn all_have(lab: &Lab, version: &str) {
    assert!(kubelets(lab).iter().all(|(_, has)| has == version), "{:?}", kubelets(lab));
}

/// Of a bundle that lacks a file of its own list: no host is touched.
fn an_image_is_missing(lab: &Lab, kokctl: &Kokctl<'_>) {
    let copy = kokctl.folder().join("bundle");
    // No links: another one changes the times by which files are known that are being sent.
    assert!(Command::new("cp").arg("-r").arg(kokctl.bundle()).arg(&copy).status().unwrap().success());
    let (_, archive) = image_of(kokctl.bundle(), "kube-proxy");
    let name: PathBuf = archive.strip_prefix(kokctl.bundle()).unwrap().to_owned();
    fs::remove_file(copy.join(&name)).unwrap();
    let said = upgrade(kokctl, &copy, &["--yes"]);
    assert!(said.code == 2 && said.stderr.contains(name.to_str().unwrap()) && said.stderr.contains("the bundle lacks"), "{said:?}");
    fs::remove_dir_all(copy).unwrap();
    all_have(lab, OLD);
    let server = ok(&lab.host("cp1").unwrap(), "cat /etc/kubernetes/manifests/kube-apiserver.yaml");
    assert!(server.contains(&format!(":v{OLD}")), "{server}");
}

/// No write to the place of its programs succeeds. That is seen before anything is changed, or where the programs are written.
fn a_disk_is_full(lab: &Lab, kokctl: &Kokctl<'_>) {
    let worker2 = lab.host("worker2").unwrap();
    worker2.fill("/usr/local").unwrap();
    let said = upgrade(kokctl, kokctl.bundle(), &["--yes"]);
    assert!(matches!(said.code, 3 | 4) && said.stderr.contains("worker2") && said.stderr.contains("/usr/local"), "{said:?}");
    worker2.free("/usr/local").unwrap();
    kubectl(lab, "wait --for=condition=Ready --timeout=60s nodes --all");
}

/// One pod of which one has to be there. It is in the way, and if that does not matter the drain gives up; the node takes pods again.
fn a_budget_lets_no_pod_go(lab: &Lab, kokctl: &Kokctl<'_>) {
    let image = image_of(kokctl.bundle(), "pause").0;
    let pinned = r#"{"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "worker1"}}}}}"#;
    kubectl(lab, &format!("create deployment stays --image={image}"));
    kubectl(lab, &format!("patch deployment stays -p '{pinned}'"));
    kubectl(lab, "rollout status deployment/stays --timeout=60s");
    kubectl(lab, "create poddisruptionbudget stays --selector=app=stays --min-available=1");
    // The pod of before the patch counts for it until it is gone.
    kubectl(lab, "wait --for=jsonpath='{.status.expectedPods}'=1 --timeout=60s poddisruptionbudget/stays");
    let said = upgrade(kokctl, kokctl.bundle(), &["--yes"]);
    assert!(said.code == 3 && said.stderr.contains("budgets") && said.stderr.contains("stays"), "{said:?}");
    let said = upgrade(kokctl, kokctl.bundle(), &["--yes", "--ignore", "budgets", "--max-fail", "1"]);
    assert!(said.code == 4 && said.stderr.contains("worker1") && said.stderr.contains("stays"), "{said:?}");
    let others = |node: &str| ["cp1", "worker2", "worker3"].contains(&node);
    assert!(kubelets(lab).iter().all(|(node, has)| (has == NEW) == others(node)), "{:?}", kubelets(lab));
    assert_eq!(kubectl(lab, "get node worker1 -o jsonpath='{.spec.unschedulable}'"), "");
    kubectl(lab, "wait --for=condition=Available --timeout=5s deployment/stays");
    kubectl(lab, "delete poddisruptionbudget stays");
}

/// Its new kubelet ends again and again: it is named, and its pods are elsewhere.
fn one_does_not_come_back(lab: &Lab, kokctl: &Kokctl<'_>) {
    let worker1: Host = lab.host("worker1").unwrap();
    let begin = "systemd-run --quiet --unit=never sh /root/never.sh";
    ok(&worker1, &format!("cat >/root/never.sh <<'END'\n{}END\n{begin}", NEVER.replace("NEW", NEW)));
    let said = upgrade(kokctl, kokctl.bundle(), &["--yes"]);
    assert!(said.code == 4 && said.stderr.contains("worker1"), "{said:?}");
    ok(&worker1, "systemctl stop never; rm /root/never.sh");
}
