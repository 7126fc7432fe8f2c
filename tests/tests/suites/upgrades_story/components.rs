//! Components of their own.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION as NEW, Lab};

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::highly_available_story::any;
use crate::lab_support::wait_for;
use crate::members_story::killed;
use crate::upgrades::OLD;

/// The older of the two that the bundle holds.
pub const OLD_CONTAINERD: &str = "2.2.9";

/// Before the file's version of Kubernetes comes: containerd is replaced below pods that run, on one host alone, killed, and on the other; nothing else is.
pub fn are_upgraded_alone(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    kubectl(lab, "wait --for=condition=Available --timeout=60s deployment/stays");
    let all = "get pods -A -o jsonpath='{range .items[*]}{.metadata.name} {.status.containerStatuses[*].containerID}{\"\\n\"}{end}'";
    // Those of the check of the network may be ending still.
    let pods = || kubectl(lab, all).lines().filter(|line| !line.starts_with("network-check-")).map(str::to_owned).collect::<Vec<_>>();
    let runtimes = || kubectl(lab, "get nodes -o jsonpath='{.items[*].status.nodeInfo.containerRuntimeVersion}'");
    let both = |version: &str| format!("containerd://{version} containerd://{version}");
    assert_eq!(runtimes(), both(OLD_CONTAINERD));
    let before = pods();
    let upgrade = |options: &[&str]| kokctl.verb("upgrade", &[&["--part", "components", "--bundle", bundle][..], options].concat());
    let said = upgrade(&["--check"]);
    assert!(said.code == 0 && said.stdout.contains(&format!("Kubernetes stays {OLD}")), "{said:?}");
    assert!(said.stdout.contains("containerd"), "what changes is listed: {said:?}");
    assert_ne!(upgrade(&["--to", NEW]).code, 0);
    let after = any((1..=3).collect());
    println!("upgrade --part components is killed after {after} steps");
    killed::after(kokctl, &["upgrade", "--part", "components", "--limit", "worker1", "--yes", "--bundle", bundle], after);
    let said = upgrade(&["--limit", "worker1", "--yes"]);
    assert!(said.code == 0, "{said:?}");
    let said = upgrade(&["--yes"]);
    assert!(said.code == 0 && said.stdout.contains("has the components of the bundle"), "{said:?}");
    let said = upgrade(&["--yes"]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
    wait_for("nodes that say the new containerd", 60, || !runtimes().contains(OLD_CONTAINERD));
    assert_eq!(pods(), before, "containers go on");
    let kubelets = kubectl(lab, "get nodes -o jsonpath='{.items[*].status.nodeInfo.kubeletVersion}'");
    assert_eq!(kubelets, format!("v{OLD} v{OLD}"));
}
