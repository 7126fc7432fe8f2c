//! The cluster as it is seen from the machine of its owner.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use serde_json::{Value, json};

use crate::cluster_support::kokctl::{Kokctl, program_of};

pub fn shows_the_cluster(lab: &Lab, kokctl: &Kokctl<'_>) {
    status_for_people(lab, kokctl);
    status_for_programs(lab, kokctl);
    status_while_a_host_is_away(lab, kokctl);
    kubeconfig_works(lab, kokctl);
    kubeconfig_is_merged(lab, kokctl);
}

fn status_for_people(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("status", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    let endpoint = format!("endpoint https://{}:6443: answers", lab.host("cp1").unwrap().address());
    assert_eq!(said.stdout.lines().nth(1), Some(endpoint.as_str()));
    assert_eq!(said.stdout.lines().nth(3), Some("drift: none; apply would have nothing to do"), "{}", said.stdout);
    let rows: Vec<Vec<&str>> = said.stdout.lines().skip(5).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(said.stdout.lines().next(), Some(format!("cluster {}: API server ready", lab.name()).as_str()));
    let certificates = said.stdout.lines().nth(2).unwrap_or_default();
    assert!(certificates.starts_with("certificates: the first end on ") && certificates.contains("apiserver of cp1"), "{certificates}");
    assert!(!said.stderr.contains("certificate"), "{}", said.stderr);
    let version = format!("v{DEFAULT_KUBERNETES_VERSION}");
    for (row, (host, role)) in rows.iter().zip([("cp1", "control-plane"), ("worker1", "worker"), ("worker2", "worker")]) {
        let address = lab.host(host).unwrap().address();
        assert_eq!(*row, [host, &address, role, "debian", "12", "active", "active", "Ready", &version], "{}", said.stdout);
    }
    assert_eq!(rows.len(), 3, "{}", said.stdout);
}

fn status_for_programs(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("status", &["--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let status: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(status["cluster"], lab.name());
    assert_eq!(status["apiServer"], "ready");
    assert_eq!(status["endpoint"]["state"], "answers");
    assert_eq!(status["drift"]["state"], "unknown", "without a bundle nobody knows");
    let hosts = status["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 3);
    for host in hosts {
        assert_eq!(host["node"], "Ready", "{host}");
        assert_eq!(host["kubeletVersion"], format!("v{DEFAULT_KUBERNETES_VERSION}"));
        let etcd = host["etcd"].as_str();
        let right = if host["host"] == "cp1" { etcd.is_some_and(|said| said.starts_with("ready, 1 member, ")) } else { etcd.is_none() };
        assert!(right, "{host}");
    }
    let said = kokctl.verb("status", &["--json", "--bundle", kokctl.bundle().to_str().unwrap()]);
    let status: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, &status["drift"]), (0, &json!({"state": "none"})), "{said:?}");
    let certificates = status["certificates"].as_array().unwrap();
    assert_eq!(certificates.len(), 13, "seven leaves, three kubeconfigs and three authorities: {certificates:?}");
    for certificate in certificates {
        let days = certificate["daysLeft"].as_i64().unwrap();
        assert!(if certificate["authority"] == true { days > 3600 } else { (360..=365).contains(&days) }, "{certificate}");
    }
}

/// What can be seen is shown, and what can't is named.
fn status_while_a_host_is_away(lab: &Lab, kokctl: &Kokctl<'_>) {
    let away = lab.host("worker2").unwrap();
    away.cut().unwrap();
    let said = kokctl.verb("status", &[]);
    away.heal().unwrap();
    assert_eq!(said.code, 3, "{said:?}");
    let row = |host: &str| said.stdout.lines().find(|line| line.starts_with(host)).unwrap_or_default().to_owned();
    assert!(row("worker1").contains("active"), "{}", said.stdout);
    assert!(row("worker2").contains("unreachable") && row("worker2").contains("unknown"), "{}", said.stdout);
    assert!(said.stderr.contains("worker2"), "{}", said.stderr);
}

/// What it prints holds a key, so it is kept out of the transcript that is searched for secrets.
fn kubeconfig_works(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = kokctl.manifest();
    let output = kokctl.command(&["kubeconfig", "-f", manifest.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = kokctl.folder().join("kubeconfig");
    fs::write(&path, output.stdout).unwrap();
    let mut kubectl = lab.command(program_of(kokctl.bundle(), "kubectl")).unwrap();
    kubectl.arg("--kubeconfig").arg(&path).args(["--request-timeout=20s", "get", "nodes", "-o", "name"]);
    let output = kubectl.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "node/cp1\nnode/worker1\nnode/worker2\n", "{output:?}");
    fs::remove_file(&path).unwrap();
}

/// Into a file that has another cluster already.
fn kubeconfig_is_merged(lab: &Lab, kokctl: &Kokctl<'_>) {
    let path = kokctl.folder().join("own");
    let others = "contexts:\n- name: other\n  context: {cluster: a, user: b}\ncurrent-context: other\nx-mine: 0600\n";
    fs::write(&path, others).unwrap();
    let merge = || kokctl.verb("kubeconfig", &["--merge", "--into", path.to_str().unwrap()]);
    let said = merge();
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("is the current one now (before: other)"), "{said:?}");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("x-mine: 0600\n") && text.contains("name: other\n"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut kubectl = lab.command(program_of(kokctl.bundle(), "kubectl")).unwrap();
    kubectl.arg("--kubeconfig").arg(&path).args(["--context", lab.name(), "--request-timeout=20s", "get", "nodes", "-o", "name"]);
    let output = kubectl.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "node/cp1\nnode/worker1\nnode/worker2\n", "{output:?}");
    let again = merge();
    assert!(again.code == 0 && again.stdout.contains("nothing to do"), "{again:?}");
    assert!(fs::read_to_string(&path).unwrap() == text, "the second time nothing changes");
    fs::remove_file(&path).unwrap();
}
