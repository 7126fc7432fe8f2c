//! A cluster that somebody upgrades with kubeadm while kokctl is used: it says so, changes nothing before that has ended, and goes on then.

use std::fs::{self, File};
use std::path::PathBuf;

use kok_tasks::bundle::Bundle;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION as NEW, Host, Lab, LabSpec};
use serde_json::Value;

use crate::cluster_support::cluster::{assert_complete, control_planes, kubectl, node_hosts};
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{bare, hosts, ok};
use crate::lab_support::wait_for;

/// The version before that the bundle holds.
const OLD: &str = "1.36.3";

/// What kubeadm asks of hosts, and those of the lab can't give: `tests/src/lab/inventory.rs`.
const IGNORED: &str = "--ignore-preflight-errors=SystemVerification,NumCPU,Mem";

const KUBECONFIG: &str = "KUBECONFIG=/etc/kubernetes/admin.conf";

/// The way that kubeadm's own documentation has: the first control plane, the others, then every kubelet, drained.
pub fn by_kubeadm_alone() {
    let lab = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    kokctl.write_manifest(&lab.inventory(OLD).unwrap());
    kokctl.converge("apply");
    programs_and_images_are_brought(&lab, &kokctl);
    let planes = control_planes(&lab);
    // It runs our pause with `-v` as a Job and waits until that has ended.
    let said = ok(&planes[0], &format!("{KUBECONFIG} kubeadm upgrade apply v{NEW} --yes {IGNORED} 2>&1"));
    assert!(said.contains(&format!("was upgraded to \"v{NEW}\"")), "{said}");
    is_told(&lab, &kokctl);
    is_refused_with_either_version(&lab, &kokctl);
    for plane in &planes[1..] {
        ok(plane, &format!("{KUBECONFIG} kubeadm upgrade node {IGNORED} 2>&1"));
    }
    let said = refused(&lab, &kokctl, NEW, "apply");
    assert!(said.contains("1. on cp1, cp2, cp3, worker1, worker2 in turn `kubectl drain NODE`"), "kubelets are left: {said}");
    node_hosts(&lab).iter().for_each(|host| kubelet_is_upgraded(&lab, host));
    ends_well(&lab, &kokctl);
}

fn ends_well(lab: &Lab, kokctl: &Kokctl<'_>) {
    kokctl.write_manifest(&lab.inventory(NEW).unwrap());
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
    logs_are_read(lab);
    assert_complete(lab, NEW);
    let status = kokctl.verb("status", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(status.code == 0 && status.stdout.contains("drift: none") && !status.stdout.contains("versions:"), "{status:?}");
    assert_eq!(kokctl.verb("reset", &["--yes"]).code, 0);
    bare::assert_bare(lab);
}

/// An API server keeps connections to kubelets, and the first question over one to a kubelet that was started anew meanwhile may fail.
fn logs_are_read(lab: &Lab) {
    for host in node_hosts(lab) {
        let of_host = format!("-n kube-system get pods -l k8s-app=kube-proxy --field-selector spec.nodeName={} -o name", host.name());
        succeeds(lab, &format!("-n kube-system logs --tail=1 {}", kubectl(lab, &of_host)));
    }
}

/// Only control planes run these.
const OF_CONTROL_PLANES: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// What a package manager and a registry would bring: to each host what runs on it, for a registry gives what is asked for.
fn programs_and_images_are_brought(lab: &Lab, kokctl: &Kokctl<'_>) {
    let bundle = Bundle::parse(&fs::read_to_string(kokctl.bundle().join("bundle.json")).unwrap()).unwrap();
    let release = bundle.release(NEW).unwrap();
    let mut everywhere: Vec<(PathBuf, String)> = Vec::new();
    let mut on_control_planes = Vec::new();
    for name in ["kubeadm", "kubelet"] {
        let file = bundle.files.iter().find(|file| file.name == name && file.version == NEW).unwrap();
        everywhere.push((kokctl.bundle().join(&file.path), format!("cat >/root/{name} && chmod 755 /root/{name}")));
    }
    for (component, reference) in &release.images {
        let image = bundle.images.iter().find(|image| image.reference == *reference).unwrap();
        let import = format!(
            "ctr -n k8s.io images import --digests=false - && ctr -n k8s.io images label {reference} io.cri-containerd.pinned=pinned"
        );
        let needed = if OF_CONTROL_PLANES.contains(&component.as_str()) { &mut on_control_planes } else { &mut everywhere };
        needed.push((kokctl.bundle().join(&image.path), import));
    }
    assert_eq!(on_control_planes.len(), OF_CONTROL_PLANES.len());
    node_hosts(lab).iter().for_each(|host| bring(host, &everywhere));
    control_planes(lab).iter().for_each(|host| bring(host, &on_control_planes));
}

fn bring(host: &Host, files: &[(PathBuf, String)]) {
    for (file, script) in files {
        let output = host.ssh_command("root", script).unwrap().stdin(File::open(file).unwrap()).output().unwrap();
        assert!(output.status.success(), "{}: {}: {output:?}", host.name(), file.display());
    }
    ok(host, "[ ! -e /root/kubeadm ] || mv -f /root/kubeadm /usr/local/bin/kubeadm");
}

/// Drained, as every kubelet of another minor version is changed.
fn kubelet_is_upgraded(lab: &Lab, host: &Host) {
    let name = host.name();
    succeeds(lab, &format!("drain {name} --ignore-daemonsets --delete-emptydir-data --force --timeout=60s"));
    if !name.starts_with("cp") {
        ok(host, &format!("kubeadm upgrade node {IGNORED} 2>&1"));
    }
    ok(host, "mv -f /root/kubelet /usr/local/bin/kubelet && systemctl restart kubelet");
    succeeds(lab, &format!("wait --for=jsonpath='{{.status.nodeInfo.kubeletVersion}}'=v{NEW} --timeout=20s node/{name}"));
    succeeds(lab, &format!("wait --for=condition=Ready --timeout=20s node/{name}"));
    succeeds(lab, &format!("uncordon {name}"));
}

/// kubectl on cp1, until it has done that: a new kubelet makes its static pods anew, and an API server that was started refuses even administrators
/// until it has read their rights.
fn succeeds(lab: &Lab, arguments: &str) {
    let planes = control_planes(lab);
    let line = format!("kubectl --kubeconfig /etc/kubernetes/admin.conf {arguments} >/dev/null 2>&1");
    wait_for(arguments, 300, || planes[0].ssh(&["sh", "-c", &line]).is_ok_and(|output| output.success()));
}

/// `status` shows it with versions by host, and does not call it drift.
fn is_told(lab: &Lab, kokctl: &Kokctl<'_>) {
    let bundle = ["--bundle", kokctl.bundle().to_str().unwrap()];
    kokctl.write_manifest(&lab.inventory(OLD).unwrap());
    let said = kokctl.verb("status", &bundle);
    assert_eq!(said.code, 0, "{said:?}");
    let told = format!("versions: Kubernetes {OLD} and {NEW} run side by side");
    assert!(said.stdout.contains(&told) && said.stdout.contains("drift: not judged"), "{}", said.stdout);
    is_the_table(&said.stdout);
    let said = kokctl.verb("status", &[&bundle[..], &["--json"]].concat());
    let status: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(status["drift"]["state"], "upgrading");
    let versions = |host: &str, program: &str, which: &str| {
        let of_host = status["hosts"].as_array().unwrap().iter().find(|it| it["host"] == host).unwrap();
        of_host["versions"][program][which].as_str().unwrap().to_owned()
    };
    for (host, version) in [("cp1", NEW), ("cp2", OLD), ("cp3", OLD)] {
        assert_eq!(["running", "next"].map(|which| versions(host, "kube-apiserver", which)), [version; 2], "{host}");
    }
    assert_eq!(["cp1", "worker2"].map(|host| versions(host, "kubelet", "running")), [OLD; 2]);
}

/// Which host has what, line by line.
fn is_the_table(said: &str) {
    let words = |host: &str| {
        let line = said.lines().find(|line| line.trim_start().starts_with(host)).unwrap_or_else(|| panic!("{host}: {said}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let [cp1, others, workers] = ["cp1  ", "cp2, cp3  ", "worker1, worker2  "].map(words);
    assert_eq!((&cp1[1..4], &cp1[5]), (&[NEW; 3].map(str::to_owned)[..], &OLD.to_owned()), "{said}");
    assert_eq!((&others[2..5], &others[6]), (&[OLD; 3].map(str::to_owned)[..], &OLD.to_owned()), "{said}");
    assert_eq!(workers.last().map(String::as_str), Some(OLD), "{said}");
}

/// Where kokctl and kubeadm write, and when containerd and the kubelet were started.
const CHANGED: &str = "find /etc /usr/local /opt /var/lib/kokctl -printf '%p %m %U %s %T@\\n' 2>/dev/null | sort | sha256sum
systemctl show -p ExecMainStartTimestampMonotonic kubelet containerd";

fn is_refused_with_either_version(lab: &Lab, kokctl: &Kokctl<'_>) {
    // The first look remembers what it has hashed.
    is_the_table(&refused(lab, kokctl, OLD, "plan"));
    let state = || hosts(lab).iter().map(|host| ok(host, CHANGED)).collect::<Vec<_>>();
    let before = state();
    let said = refused(lab, kokctl, OLD, "apply");
    assert!(said.contains(&format!("and the file asks for {OLD}")) && said.contains(&format!("write kubernetesVersion: {NEW}")), "{said}");
    is_the_table(&said);
    for verb in ["plan", "apply"] {
        let said = refused(lab, kokctl, NEW, verb);
        assert!(said.contains(&format!("and the file asks for {NEW}")), "{said}");
        assert!(said.contains("1. `kubeadm upgrade node`") && said.contains("on cp2, cp3 in turn"), "{said}");
        is_the_table(&said);
    }
    assert_eq!(before, state(), "nothing is changed");
}

/// What is said on standard error of a run that is refused with that version in the file.
fn refused(lab: &Lab, kokctl: &Kokctl<'_>, version: &str, verb: &str) -> String {
    kokctl.write_manifest(&lab.inventory(version).unwrap());
    let KokctlOutput { code, stdout, stderr } = kokctl.verb(verb, &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!((code, stdout.as_str()), (3, ""), "{verb} with {version}: {stderr}");
    assert!(stderr.contains(&format!("several versions of Kubernetes run ({OLD}, {NEW})")), "{stderr}");
    stderr
}
