//! The operator as its users run it: two pods of a meta-cluster that kokctl has made, by what is in deploy/. By a Secret, a Cluster and an operation
//! they make a second cluster; the pod that is at it is deleted in the middle, and the other one goes on.

use std::fs;

use serde_json::{Value, json};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::{Kokctl, program_of};
use crate::cluster_support::up;
use crate::kube_on_kube_story::objects;
use crate::lab_support::wait_for;
use crate::operator_pod_story::{Meta, NAMESPACE, member, one_host};
use crate::operator_story::{Kubectl, condition, object, status};
use kok_tests::lab::Lab;

/// More than a cluster of one host takes on a busy machine.
const MADE: u64 = 420;
/// The operator has heard of something, and has said what it thinks of it.
const HEARD: u64 = 30;
/// A pod that is asked to end has let go of what it was at; the other one has it within the time of a Lease, if not at once.
const TAKEN_OVER: u64 = 75;

#[test]
fn pods_of_a_meta_cluster_make_another_cluster() {
    let mut clock = Clock::start();
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let meta = Meta::make(&lab, &kokctl);
    clock.lap("a meta-cluster");
    meta.has_the_image(&kokctl);
    meta.has_the_bundle(&kokctl);
    clock.lap("image and bundle are on its host");
    meta.runs_the_operator(&kokctl);
    clock.lap("both replicas are ready");
    is_asked_for(&meta, &lab);
    keys_are_trusted(&meta, &lab);
    wait_for("a run", MADE, || status(&meta, "make")["progress"]["done"].as_u64() > Some(20));
    let before = meta.logs();
    let first = meta.at_work("member").expect("somebody is at it");
    meta.ok(&["delete", "pod", "-n", NAMESPACE, &first], "");
    clock.lap(&format!("{first} is deleted"));
    wait_for("the other pod", TAKEN_OVER, || status(&meta, "make")["attempt"] == 2 || is_over(&status(&meta, "make")));
    let second = meta.at_work("member");
    clock.lap(&format!("{second:?} goes on"));
    wait_for("the end of the operation", MADE, || is_over(&status(&meta, "make")));
    let made = status(&meta, "make");
    assert_eq!((&made["phase"], &made["attempt"]), (&json!("Succeeded"), &json!(2)), "{made:#}\n{}", meta.logs());
    assert!(second.as_ref().is_none_or(|second| *second != first), "{first} itself went on");
    clock.lap("made");
    is_ready(&meta, &lab, &kokctl);
    meta.runs_the_operator(&kokctl);
    nothing_was_forbidden_or_told(&lab, &(before + &meta.logs()));
    nothing_had_to_be_started_again(&meta);
}

fn is_over(operation: &Value) -> bool {
    ["Succeeded", "Failed"].iter().any(|end| operation["status"] == *end)
}

/// As deploy/README.md has it.
fn is_asked_for(meta: &Meta<'_>, lab: &Lab) {
    let key = format!("--from-file=ssh-privatekey={}", lab.private_key_path().display());
    meta.ok(&["create", "secret", "generic", "member-ssh", "-n", NAMESPACE, "--type=kubernetes.io/ssh-auth", &key], "");
    let login = format!("spec:\n  sshAuthRef: {{namespace: {NAMESPACE}, name: member-ssh}}\n");
    let cluster = one_host(lab, "member", &member(lab)).replacen("spec:\n", &login, 1);
    let of_this_machine = ["privateKeyFile:", "knownHostsFile:"];
    let lines = cluster.lines().filter(|line| !of_this_machine.iter().any(|field| line.trim_start().starts_with(field)));
    let cluster: String = lines.map(|line| format!("{line}\n")).collect();
    let operation = json!({
        "apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": {"name": "make"},
        "spec": {"cluster": "member", "actionType": "playbook", "action": "cluster.yml"},
    });
    meta.ok(&["apply", "--validate=strict", "-f", "-"], &format!("{cluster}---\n{operation}\n"));
}

fn keys_are_trusted(meta: &Meta<'_>, lab: &Lab) {
    let cluster = || object(meta, "kok", "member")["status"].clone();
    let unknown = || condition(&cluster()["clusterConditions"], "HostKeysTrusted").is_some_and(|it| it["status"] == "False");
    wait_for("unknown host keys", HEARD, || unknown() || is_over(&status(meta, "make")));
    let said = cluster();
    let print = member(lab).ssh(&["ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub"]).unwrap().stdout;
    let offered = said["hosts"][0]["offeredHostKey"].as_str().unwrap_or_default();
    assert!(offered.contains(print.split_whitespace().nth(1).unwrap()), "{offered} {print} {said:#}\n{}", meta.logs());
    let trusted = format!("kokctl.io/trusted-host-keys={}", said["hostKeys"]["digest"].as_str().unwrap());
    meta.ok(&["annotate", "kok", "member", &trusted], "");
}

/// The kubeconfig in its Secret leads to the new cluster, whose node is Ready.
fn is_ready(meta: &Meta<'_>, lab: &Lab, kokctl: &Kokctl<'_>) {
    meta.ok(&["wait", "--for=condition=Ready", "--timeout=10s", "kokop/make"], "");
    let cluster = object(meta, "kok", "member")["status"].clone();
    assert_eq!((&cluster["phase"], &cluster["hostSummary"]["text"]), (&json!("Ready"), &json!("1/1")), "{cluster:#}");
    assert!(condition(&cluster["clusterConditions"], "StateKept").is_none_or(|it| it["status"] != "False"), "{cluster:#}");
    let template = "go-template={{.data.value | base64decode}}";
    let text = meta.ok(&["get", "secret", "member-kubeconfig", "-n", NAMESPACE, "-o", template], "");
    let path = kokctl.folder().join("member.conf");
    fs::write(&path, text).unwrap();
    let mut command = lab.command(program_of(kokctl.bundle(), "kubectl")).unwrap();
    let output =
        command.arg("--kubeconfig").arg(&path).args(["wait", "--for=condition=Ready", "--timeout=60s", "node/worker1"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Its roles are enough, and nothing of the key is in what it says.
fn nothing_was_forbidden_or_told(lab: &Lab, logs: &str) {
    assert!(logs.contains("serves"), "{logs}");
    let forbidden: Vec<&str> = logs.lines().filter(|line| line.to_lowercase().contains("forbidden")).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    for line in objects::lines_of_the_login(lab) {
        assert!(!logs.contains(&line));
    }
}

/// Neither the memory nor a probe has ended a pod.
fn nothing_had_to_be_started_again(meta: &Meta<'_>) {
    let counts = "jsonpath={.items[*].status.containerStatuses[*].restartCount}";
    assert_eq!(meta.ok(&["get", "pods", "-n", NAMESPACE, "-o", counts], ""), "0 0", "{}", meta.logs());
}
