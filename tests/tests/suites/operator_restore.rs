//! A backup is restored, and an etcd without its data recovered, by operations that somebody has approved: without a run by hand, also where the operator is
//! killed while nothing of the cluster works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kok_tests::lab::Lab;
use serde_json::{Value, json};

use crate::api_server_support::ApiServer;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{ok, up};
use crate::highly_available_story::units::ETCDCTL;
use crate::kube_on_kube_story::objects;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, meta_cluster, object, operate, operate_with, status, succeeds};

/// More than a cluster of one host takes on a busy machine.
const MADE: u64 = 420;
/// Hosts are asked for what they have, and a plan is made.
const ASKED: u64 = 90;
/// A Lease that nobody renews is free after forty seconds.
const TAKEN_OVER: u64 = 75;
/// Made for this test, and used for nothing else.
const OWN: (&str, &str) = (
    "AGE-SECRET-KEY-1GZS0YPMX3JPQEKQQSF8NT8N0QWCTNNCRD94JZNK5CX7F4Q3AD92QYF8ZZW",
    "age1ga6w2xwdthxpx3sej5cvaajjfxkghuepgkctd5m5rra4et8dmvlse0r603",
);

#[test]
fn what_loses_data_is_done_by_operations_that_somebody_has_approved() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let backups = kokctl.folder().join("backups");
    fs::create_dir(&backups).unwrap();
    let server = meta_cluster(&lab);
    let first = Operator::start_with(&kokctl, &server, "first", &["--accept-new-host-keys"]);
    asked_for(&server, &lab, &kokctl, &backups);
    succeeds(&server, &first, "operation", MADE);
    clock.lap("a cluster");
    kubectl(&lab, "create configmap before --from-literal=n=1");
    operate(&server, &lab, "keep", "backup-create");
    succeeds(&server, &first, "keep", ASKED);
    let name = only_file(&backups);
    kubectl(&lab, "delete configmap before");
    kubectl(&lab, "create configmap after --from-literal=n=1");
    is_refused(&server, &lab, &name);
    clock.lap("a backup, and what is refused");
    let second = restored(&server, &lab, &kokctl, (first, &name));
    assert_eq!(kubectl(&lab, "get configmaps before after --ignore-not-found -o name").trim(), "configmap/before");
    clock.lap("restored, by the operator that came after the one that was killed");
    recovered(&server, &lab, &kokctl, &second);
    assert_eq!(kubectl(&lab, "get configmaps before later --ignore-not-found -o name").trim(), "configmap/before");
    clock.lap("recovered from a snapshot");
    operate(&server, &lab, "again", "cluster.yml");
    let again = succeeds(&server, &second, "again", MADE);
    assert_eq!(again["plan"]["changes"], 0, "{again:#}");
    founded_again(&server, &lab, &second, &name);
    assert_eq!(kubectl(&lab, "get configmaps before later --ignore-not-found -o name").trim(), "configmap/before");
    clock.lap("taken down, and founded anew from the backup");
    nothing_secret_was_said(&server, &second);
    second.terminate();
}

/// The objects of kube-on-kube, with backups for one recipient, whose private key is in a Secret that the Cluster names.
fn asked_for(server: &ApiServer, lab: &Lab, kokctl: &Kokctl<'_>, backups: &Path) {
    objects::write(lab, kokctl, "cluster.yml");
    let variables = format!("    etcd_backup_prefix: {}\n    backup_recipients: [{}]\n", backups.display(), OWN.1);
    let all =
        fs::read_to_string(kokctl.manifest()).unwrap().replacen("  group_vars.yml: |\n", &format!("  group_vars.yml: |\n{variables}"), 1);
    let all = all.replacen(
        "  sshAuthRef: {name: ssh-auth",
        &format!("  operator: {{secretFilesRef: {{name: opens, namespace: {NAMESPACE}}}}}\n  sshAuthRef: {{name: ssh-auth"),
        1,
    );
    let key = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "opens", "namespace": NAMESPACE}, "stringData": {"age.key": OWN.0}});
    server.ok(&["apply", "-f", "-"], &key.to_string());
    server.ok(&["apply", "-f", "-"], &all);
}

fn only_file(folder: &Path) -> String {
    let names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let [name] = names.as_slice() else { panic!("{names:?}") };
    name.clone()
}

fn of_backup(name: &str, more: &str) -> Value {
    json!({"action": "restore", "extraArgs": format!("-e backup={name} {more}"), "operator": {"approval": "Manual"}})
}

fn fails(server: &ApiServer, name: &str) -> Value {
    wait_for(&format!("the end of {name}"), ASKED, || ["Succeeded", "Failed"].iter().any(|end| status(server, name)["status"] == *end));
    let status = status(server, name);
    assert_eq!(status["phase"], "Failed", "{status:#}");
    status
}

/// Without an approval, without the key, with another backup, and where nothing has to be recovered: and the cluster goes on.
fn is_refused(server: &ApiServer, lab: &Lab, name: &str) {
    let says = |operation: &str, fields: Value, words: &str| {
        operate_with(server, lab, operation, fields);
        let status = fails(server, operation);
        assert!(status.to_string().contains(words), "{words}: {status:#}");
    };
    let unasked = json!({"action": "restore", "extraArgs": format!("-e backup={name} -e identity=age.key")});
    says("unasked", unasked, "approval: Manual");
    says("unasked-recovery", json!({"action": "recover"}), "approval: Manual");
    says("unopened", of_backup(name, ""), "neither a private key");
    says("other-key", of_backup(name, "-e identity=no.key"), "no.key");
    says("no-backup", of_backup("none.kokctl-backup", "-e identity=age.key"), "none.kokctl-backup");
    says("nameless", json!({"action": "restore", "operator": {"approval": "Manual"}}), "names no backup");
    says("needless", json!({"action": "recover", "operator": {"approval": "Manual"}}), "works");
    assert!(kubectl(lab, "get configmap after -o name").contains("after"));
}

/// It waits for the approval of exactly its plan while the cluster goes on. The operator is killed while the API is away, and the next one goes on.
fn restored(server: &ApiServer, lab: &Lab, kokctl: &Kokctl<'_>, (first, name): (Operator, &str)) -> Operator {
    operate_with(server, lab, "back", of_backup(name, "-e identity=age.key"));
    is_asked(server, "back");
    assert!(kubectl(lab, "get configmap after -o name").contains("after"), "nothing is done before");
    (0..20).for_each(|number| drop(kubectl(lab, &format!("create configmap more-{number} --from-literal=n=1"))));
    let events = server.ok(
        &["get", "events", "-n", "default", "--field-selector=reason=DataLoss", "-o", "jsonpath={.items[*].note}{.items[*].message}"],
        "",
    );
    assert!(events.contains("SINCE IT WAS MADE IS LOST") && events.contains("of its changes are lost"), "{events}");
    approve(server, "back");
    let host = lab.host("cp1").unwrap();
    wait_for("a restore under way", ASKED, || host.ssh(&["test", "-e", "/var/lib/kokctl/recover"]).unwrap().success());
    first.kill();
    assert!(host.ssh(&["test", "-e", "/var/lib/kokctl/recover"]).unwrap().success(), "it was killed in the middle");
    let second = Operator::start(kokctl, server, "second");
    wait_for("the other operator", TAKEN_OVER, || status(server, "back")["attempt"] == 2);
    let back = succeeds(server, &second, "back", MADE);
    assert_eq!(back["attempt"], 2, "{back:#}");
    second
}

fn is_asked(server: &ApiServer, operation: &str) {
    wait_for("a plan to approve", ASKED, || {
        let status = status(server, operation);
        assert_ne!(status["phase"], "Failed", "{status:#}");
        status["phase"] == "AwaitingApproval" && status["plan"]["digest"].is_string()
    });
}

fn approve(server: &ApiServer, operation: &str) {
    let digest = status(server, operation)["plan"]["digest"].as_str().unwrap().to_owned();
    server.ok(&["annotate", "--overwrite", "kokop", operation, &format!("kokctl.io/approved-plan={digest}")], "");
}

/// The data of etcd are gone, and a snapshot is there.
fn recovered(server: &ApiServer, lab: &Lab, kokctl: &Kokctl<'_>, second: &Operator) {
    let snapshot = saved(lab, kokctl);
    kubectl(lab, "create configmap later --from-literal=n=1");
    ok(&lab.host("cp1").unwrap(), "systemctl stop etcd && rm -rf /var/lib/etcd/member");
    let fields = |more: &str| json!({"action": "recover-control-plane.yml", "extraArgs": more, "operator": {"approval": "Manual"}});
    operate_with(server, lab, "empty", fields(""));
    let empty = fails(server, "empty");
    assert!(empty.to_string().contains("no host that answers has data of etcd"), "{empty:#}");
    operate_with(server, lab, "anew", fields(&format!("-e etcd_snapshot={}", snapshot.display())));
    is_asked(server, "anew");
    approve(server, "anew");
    succeeds(server, second, "anew", MADE);
}

/// On a host that has nothing any more: the founding is approved, and then the restore; nothing else is asked.
fn founded_again(server: &ApiServer, lab: &Lab, operator: &Operator, name: &str) {
    operate(server, lab, "down", "reset.yml");
    succeeds(server, operator, "down", MADE);
    operate_with(server, lab, "elsewhere", of_backup(name, "-e identity=age.key -e new_hosts=yes"));
    is_asked(server, "elsewhere");
    let digest = || status(server, "elsewhere")["plan"]["digest"].clone();
    let founding = digest();
    approve(server, "elsewhere");
    wait_for("the plan of the restore", MADE, || {
        let status = status(server, "elsewhere");
        assert_ne!(status["phase"], "Failed", "{status:#}");
        status["phase"] == "AwaitingApproval" && status["plan"]["digest"] != founding
    });
    let restore = digest();
    approve(server, "elsewhere");
    wait_for("the end of the restore", MADE, || {
        let status = status(server, "elsewhere");
        let is_asked_again = status["phase"] == "AwaitingApproval" && status["plan"]["digest"] != restore;
        assert!(!is_asked_again, "{status:#}");
        status["phase"] == "Succeeded" || status["phase"] == "Failed"
    });
    succeeds(server, operator, "elsewhere", ASKED);
}

/// A snapshot on this machine.
fn saved(lab: &Lab, kokctl: &Kokctl<'_>) -> PathBuf {
    let save = format!("{ETCDCTL} snapshot save /var/tmp/story.db >&2 && base64 -w 0 /var/tmp/story.db && rm /var/tmp/story.db");
    let (encoded, path) = (kokctl.folder().join("story.b64"), kokctl.folder().join("story.db"));
    fs::write(&encoded, ok(&lab.host("cp1").unwrap(), &save)).unwrap();
    let decoded = Command::new("base64").arg("-d").arg(&encoded).output().unwrap();
    assert!(decoded.status.success());
    fs::write(&path, decoded.stdout).unwrap();
    path
}

/// The key that opens the backup is in its Secret alone.
fn nothing_secret_was_said(server: &ApiServer, operator: &Operator) {
    let said = ["kok", "kokop", "events", "configmaps"].map(|kind| server.ok(&["get", kind, "-A", "-o", "json"], "")).concat();
    assert!(!said.contains(OWN.0) && !operator.log().contains(OWN.0));
    let cluster = object(server, "kok", server.ok(&["get", "kok", "-o", "jsonpath={.items[0].metadata.name}"], "").trim());
    assert_eq!(cluster["status"]["phase"], "Ready", "{cluster:#}");
}
