//! Files that somebody changed by hand: shown by `plan`, repaired by `apply`.

use std::collections::BTreeSet;
use std::time::Instant;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};
use serde_json::Value;

use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, fingerprint};
use crate::cluster_support::{cluster, escrow, ok};
use crate::draw::draw;
use crate::lab_support::wait_for;

const CONTAINERD: &str = "/etc/containerd/config.toml";
const SCHEDULER: &str = "/etc/kubernetes/manifests/kube-scheduler.yaml";
const KUBELET: &str = "/var/lib/kubelet/config.yaml";
const KUBELET_FLAGS: &str = "/var/lib/kubelet/kubeadm-flags.env";

/// A file of a host that is not as it should be.
struct Drift<'a> {
    host: Host,
    /// What somebody did, as shell.
    by: &'a str,
    /// Lines that the plan has to have.
    plan: &'a [&'a str],
    /// The service that reads the file; it has to be started anew.
    unit: Option<&'a str>,
    file: &'a str,
}

/// What is changed, by its name in the draw.
type Change = (&'static str, fn(&Lab, &Kokctl<'_>));

const CHANGES: [Change; 6] = [
    ("configuration of containerd", configuration_of_containerd),
    ("manifest of the scheduler", manifest_of_the_scheduler),
    ("kubeconfig of the scheduler", kubeconfig_of_the_scheduler),
    ("configuration of a kubelet", configuration_of_a_kubelet),
    ("kubeconfig of the super-admin", kubeconfig_of_the_super_admin),
    ("proxies", |lab, _| proxies_are_started_again(lab)),
];

pub fn is_shown_and_repaired(lab: &Lab, kokctl: &Kokctl<'_>) {
    let drawn = draw("what somebody changed by hand", &CHANGES.map(|(name, _)| name), 2);
    for (_, change) in CHANGES.iter().filter(|(name, _)| drawn.contains(name)) {
        change(lab, kokctl);
    }
    cluster::assert_complete(lab, DEFAULT_KUBERNETES_VERSION);
}

/// Those that are started find what the ones before them have made; all Services have to go on, which is looked at next.
fn proxies_are_started_again(lab: &Lab) {
    cluster::kubectl(lab, "-n kube-system delete pod -l k8s-app=kube-proxy");
    cluster::kubectl(lab, "-n kube-system rollout status daemonset/kube-proxy --timeout=90s");
}

fn configuration_of_containerd(lab: &Lab, kokctl: &Kokctl<'_>) {
    let drift = Drift {
        host: lab.host("worker1").unwrap(),
        by: "echo '# edited by hand' >>/etc/containerd/config.toml",
        plan: &[
            "worker1:",
            "  file /etc/containerd/config.toml: replace the content",
            "    because its content is not what it should be",
            "      --- /etc/containerd/config.toml (host)",
            "      +++ /etc/containerd/config.toml (desired)",
            "      -# edited by hand",
        ],
        unit: Some("containerd.service"),
        file: CONTAINERD,
    };
    repairs(lab, kokctl, &drift);
}

/// One with the certificate of somebody else, as one that has ended: it is made anew, and the scheduler reads it.
fn kubeconfig_of_the_scheduler(lab: &Lab, kokctl: &Kokctl<'_>) {
    let restarts =
        || cluster::kubectl(lab, "-n kube-system get pod kube-scheduler-cp1 -o jsonpath='{.status.containerStatuses[0].restartCount}'");
    let before = restarts();
    let drift = Drift {
        host: lab.host("cp1").unwrap(),
        by: "cp /etc/kubernetes/admin.conf /etc/kubernetes/scheduler.conf",
        plan: &[
            "cp1:",
            "  file /etc/kubernetes/scheduler.conf: write",
            "  controller manager and scheduler know their kubeconfigs: restart",
            "    because /etc/kubernetes/scheduler.conf changed after kube-scheduler was started",
        ],
        unit: None,
        // What of it does not change: the kubeconfig is another one afterwards.
        file: SCHEDULER,
    };
    repairs(lab, kokctl, &drift);
    wait_for("the scheduler was started with its own kubeconfig", 60, || restarts() != before);
}

fn manifest_of_the_scheduler(lab: &Lab, kokctl: &Kokctl<'_>) {
    let host = lab.host("cp1").unwrap();
    let drift = Drift {
        host: host.clone(),
        by: "rm /etc/kubernetes/manifests/kube-scheduler.yaml",
        plan: &[
            "cp1:",
            "  static pods of control-plane: write",
            "    because /etc/kubernetes/manifests/kube-scheduler.yaml does not exist",
        ],
        unit: None,
        file: SCHEDULER,
    };
    repairs(lab, kokctl, &drift);
    wait_for("the scheduler runs again", 60, || {
        cluster::kubectl(
            lab,
            "-n kube-system get pod kube-scheduler-cp1 --ignore-not-found -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'",
        ) == "True"
            && !ok(&host, "grep -l '^kube-scheduler' /proc/[0-9]*/cmdline || true").is_empty()
    });
}

/// No drift, but a wish that changes: it comes, and goes again.
fn kubeconfig_of_the_super_admin(lab: &Lab, kokctl: &Kokctl<'_>) {
    const PATH: &str = "/etc/kubernetes/super-admin.conf";
    let host = lab.host("cp1").unwrap();
    escrow::write_field(kokctl, true);
    for _ in 0..2 {
        assert!(kokctl.converge("apply").contains(": 3 hosts, 1 change, "));
        assert_eq!(ok(&host, &format!("stat -c %a:%U {PATH}")), "600:root");
        let asked = ok(&host, &format!("kubectl --kubeconfig {PATH} auth whoami -o jsonpath='{{.status.userInfo.groups}}'"));
        assert!(asked.contains("system:masters"), "{asked}");
        kokctl.has_nothing_to_do();
        ok(&host, &format!("rm {PATH}"));
    }
    kokctl.converge("apply");
    escrow::write_field(kokctl, false);
    assert!(kokctl.converge("plan").contains(&format!("because {PATH} is no longer asked for")));
    kokctl.converge("apply");
    ok(&host, &format!("[ ! -e {PATH} ]"));
    kokctl.has_nothing_to_do();
}

/// Both files of a worker's kubelet, edited and gone: kubeadm itself would put back only one of them.
fn configuration_of_a_kubelet(lab: &Lab, kokctl: &Kokctl<'_>) {
    let domain = "sed -i 's/^clusterDomain: .*/clusterDomain: edited.by.hand/' /var/lib/kubelet/config.yaml";
    let cases = [
        (KUBELET, domain, "was changed by hand", "      -clusterDomain: edited.by.hand"),
        (KUBELET_FLAGS, "sed -i '$a # mine' /var/lib/kubelet/kubeadm-flags.env", "was changed by hand", "      -# mine"),
        (
            KUBELET,
            "chown nobody /var/lib/kubelet/config.yaml",
            "may be written by others than root: it has mode 0644 and owner 65534",
            "worker2:",
        ),
        (KUBELET, "rm /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env", "does not exist", "worker2:"),
    ];
    let drawn = draw("what is done to a kubelet's files", &cases.map(|(_, by, ..)| by), 2);
    for (file, by, because, difference) in cases.into_iter().filter(|(_, by, ..)| drawn.contains(by)) {
        let plan = format!("    because {file} {because}");
        let drift = Drift {
            host: lab.host("worker2").unwrap(),
            by,
            plan: &["worker2:", "  node: write", &plan, difference],
            unit: Some("kubelet.service"),
            file,
        };
        let flags = || ok(&drift.host, &format!("cat {KUBELET_FLAGS}"));
        let before = flags();
        assert!(before.contains("--node-ip="), "{before}");
        repairs(lab, kokctl, &drift);
        assert_eq!(flags(), before, "{KUBELET_FLAGS} after {by}");
        assert_eq!(ok(&drift.host, &format!("stat -c %U {KUBELET}")), "root");
    }
}

/// Hosts of a plan of which more is said than that they are looked at again.
fn changed(plan: &str) -> BTreeSet<&str> {
    let (mut host, mut hosts) = ("", BTreeSet::new());
    for line in plan.lines() {
        match line.strip_suffix(':').filter(|name| !name.contains(' ')) {
            Some(name) => host = name,
            None if line.starts_with("  ") && !line.starts_with("   ") && !line.ends_with(": look again") => drop(hosts.insert(host)),
            None => {}
        }
    }
    hosts
}

fn repairs(lab: &Lab, kokctl: &Kokctl<'_>, drift: &Drift<'_>) {
    let content = || ok(&drift.host, &format!("cat {}", drift.file));
    let started = || drift.unit.map(|unit| ok(&drift.host, &format!("systemctl show -P InvocationID {unit}")));
    let (as_it_was, before) = (content(), started());
    ok(&drift.host, drift.by);
    let began = Instant::now();
    let lap = |what: &str| println!("{:8.1} s  {}: {what}", began.elapsed().as_secs_f64(), drift.file);
    let edited = fingerprint(lab);
    let plan = kokctl.converge("plan");
    for line in drift.plan {
        assert!(plan.lines().any(|found| found == *line), "{line:?} in {plan}");
    }
    assert_eq!(changed(&plan), [drift.host.name()].into(), "only one host is concerned: {plan}");
    let status = kokctl.verb("status", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(status.stdout.contains(&format!(" on 1 host ({}: ", drift.host.name())), "{status:?}");
    let status = kokctl.verb("status", &["--json", "--bundle", kokctl.bundle().to_str().unwrap()]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let found: Vec<&String> = status["drift"]["changes"].as_object().unwrap().keys().collect();
    assert_eq!((&status["drift"]["state"], &found[..]), (&Value::from("found"), &[&drift.host.name().to_owned()][..]), "{status}");
    assert_same(&edited, &fingerprint(lab), "plan must not change anything");
    lap("plan");
    kokctl.converge("apply");
    lap("apply");
    assert_eq!(content(), as_it_was, "{}", drift.file);
    if drift.unit.is_some() {
        assert_ne!(started(), before, "{:?} has to read the file again", drift.unit);
    }
    kokctl.has_nothing_to_do();
    lap("apply again");
}
