//! `kokctl operator`: the objects of kube-on-kube, applied to a meta-cluster, become a cluster; and an operator that is killed on the way is
//! gone on with by the next one.

use std::fs;

use serde_json::{Value, json};

use crate::api_server_support::ApiServer;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, cluster, hosts, up};
use crate::kube_on_kube_story::objects;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, condition, meta_cluster, object, operate, operate_with, status, succeeds};
use crate::operator_story::{declared, scheduled};
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};

/// A Lease that nobody renews is free after forty seconds.
const TAKEN_OVER: u64 = 75;
/// More than a cluster of one host takes on a busy machine.
const MADE: u64 = 420;
/// The operator has heard of something, and has said what it thinks of it.
const HEARD: u64 = 30;

#[test]
fn objects_of_kube_on_kube_become_a_cluster() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    objects::write(&lab, &kokctl, "cluster.yml");
    let server = meta_cluster(&lab);
    let mut clock = Clock::start();
    server.ok(&["apply", "-f", "-"], &fs::read_to_string(kokctl.manifest()).unwrap());
    let first = what_was_there_before_begins_when_somebody_says_so(&server, &kokctl);
    nothing_is_done_before_the_keys_are_compared(&server, &lab, &first);
    clock.lap("host keys");
    wait_for("a run", MADE, || status(&server, "operation")["progress"]["done"].as_u64() > Some(20));
    let done = status(&server, "operation")["progress"]["done"].clone();
    first.kill();
    clock.lap(&format!("killed after {done} steps"));
    let second = Operator::start(&kokctl, &server, "second");
    wait_for("the other operator", TAKEN_OVER, || status(&server, "operation")["attempt"] == 2);
    clock.lap("gone on with");
    let made = succeeds(&server, &second, "operation", MADE);
    clock.lap("made");
    is_told(&server, &lab, &made);
    cluster::assert_serves(&lab, DEFAULT_KUBERNETES_VERSION);
    no_step_was_done_twice(&kokctl);
    the_kubeconfig_works(&server, &lab, &kokctl);
    others_wait_and_one_is_cancelled(&server, &lab, &second);
    clock.lap("operations one after the other");
    hooks_may_come_after_the_action(&server, &lab, &kokctl, &second);
    clock.lap("hooks");
    declared::clusters_follow_their_objects(&server, &lab, &kokctl, &second);
    clock.lap("declared");
    scheduled::backups_are_made_by_the_schedule(&server, &lab, &second, &kokctl.folder().join("scheduled"));
    clock.lap("backups by a schedule");
    plans_are_shown(&server, &lab, &second);
    let asked = a_plan_is_to_be_approved(&server, &lab);
    second.kill();
    let third = Operator::start_with(&kokctl, &server, "third", &["--run-deadline", "60"]);
    it_is_approved_later_than_a_run_may_take(&server, &lab, &third, &asked);
    clock.lap("plans");
    operate(&server, &lab, "down", "reset.yml");
    succeeds(&server, &third, "down", MADE);
    bare::assert_bare(&lab);
    assert_eq!(object(&server, "kok", lab.name())["status"]["phase"], "Pending");
    nothing_secret_was_said(&server, &lab, &[&third]);
    third.terminate();
    clock.lap("taken down");
}

/// Objects of an operator before this one are read, and nothing begins by itself.
fn what_was_there_before_begins_when_somebody_says_so(server: &ApiServer, kokctl: &Kokctl<'_>) -> Operator {
    let created = object(server, "kokop", "operation")["metadata"]["creationTimestamp"].as_str().unwrap().to_owned();
    let later = || {
        server.ok(&["create", "configmap", "now", "--dry-run=server", "-n", NAMESPACE, "-o", "jsonpath={.metadata.creationTimestamp}"], "")
    };
    wait_for("a time that is later by the API server's clock", HEARD, || later() > created);
    let operator = Operator::start(kokctl, server, "first");
    let accepted = || condition(&status(server, "operation")["conditions"], "Accepted").cloned().unwrap_or_default();
    wait_for("an operation that is not begun", HEARD, || accepted()["reason"] == "FoundAtTakeOver");
    assert_eq!((&accepted()["status"], status(server, "operation").get("startTime")), (&json!("False"), None));
    server.ok(&["annotate", "kokop", "operation", "kokctl.io/take-over=true"], "");
    operator
}

fn nothing_is_done_before_the_keys_are_compared(server: &ApiServer, lab: &Lab, operator: &Operator) {
    let cluster = || object(server, "kok", lab.name());
    let unknown = || condition(&cluster()["status"]["clusterConditions"], "HostKeysTrusted").is_some_and(|it| it["status"] == "False");
    wait_for("unknown host keys", HEARD, unknown);
    let said = cluster()["status"].clone();
    let offered = said["hosts"][0]["offeredHostKey"].as_str().unwrap_or_default().to_owned();
    assert!(offered.contains("ssh-ed25519 SHA256:"), "{said:#}\n{}", operator.log());
    assert_eq!(status(server, "operation")["phase"], "Pending");
    for host in hosts(lab) {
        let print = host.ssh(&["ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub"]).unwrap().stdout;
        assert!(offered.contains(print.split_whitespace().nth(1).unwrap()), "{offered} {print}");
        assert!(!host.ssh(&["test", "-e", "/var/lib/kokctl"]).unwrap().success(), "nothing is changed before");
    }
    let wrong = format!("kokctl.io/trusted-host-keys=sha256:{}", "0".repeat(64));
    server.ok(&["annotate", "kok", lab.name(), &wrong], "");
    let right = format!("kokctl.io/trusted-host-keys={}", said["hostKeys"]["digest"].as_str().unwrap());
    server.ok(&["annotate", "--overwrite", "kok", lab.name(), &right], "");
    wait_for("trust", HEARD, || {
        condition(&cluster()["status"]["clusterConditions"], "HostKeysTrusted").is_some_and(|it| it["status"] == "True")
    });
}

/// What people and other programs see of it.
fn is_told(server: &ApiServer, lab: &Lab, made: &Value) {
    let operation = object(server, "kokop", "operation");
    assert_eq!(operation["metadata"]["labels"], json!({"clusterName": lab.name(), "hasCompleted": "done"}));
    assert_eq!(operation["metadata"]["ownerReferences"][0]["name"], lab.name());
    assert_eq!((&made["status"], &made["progress"]["failed"], &made["hasModified"]), (&json!("Succeeded"), &json!(0), &json!(false)));
    assert!(made["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(condition(&made["conditions"], "Ready").unwrap()["status"], "True");
    server.ok(&["wait", "--for=condition=Ready", "--timeout=1s", "kokop/operation"], "");
    let cluster = object(server, "kok", lab.name())["status"].clone();
    assert_eq!((&cluster["phase"], &cluster["hostSummary"]["text"]), (&json!("Ready"), &json!("1/1")), "{cluster:#}");
    assert_eq!((&cluster["conditions"][0]["clusterOps"], &cluster["conditions"][0]["status"]), (&json!("operation"), &json!("Succeeded")));
    let lease = format!("kokctl-{}", object(server, "kok", lab.name())["metadata"]["uid"].as_str().unwrap());
    wait_for("a Lease that nobody holds", HEARD, || object(server, "lease", &lease)["spec"].get("holderIdentity").is_none());
    let events = server.ok(&["get", "events", "-n", "default", "-o", "jsonpath={.items[*].reason}"], "");
    for reason in ["HostKeysUnknown", "Started", "PlanMade", "Resumed", "Succeeded"] {
        assert!(events.contains(reason), "{events}");
    }
}

/// The second run looks before it does anything.
fn no_step_was_done_twice(kokctl: &Kokctl<'_>) {
    let journals = runs(kokctl);
    let mut done: Vec<&str> = journals
        .lines()
        .filter(|line| line.contains("\"event\":\"step-done\""))
        .filter_map(|line| line.split("\"step\":\"").nth(1)?.split('"').next())
        // A token is made for each run.
        .filter(|step| !step.contains("token"))
        .collect();
    done.sort_unstable();
    let twice: Vec<_> = done.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    assert!(done.len() > 50 && twice.is_empty(), "{} steps, twice: {twice:?}", done.len());
}

fn runs(kokctl: &Kokctl<'_>) -> String {
    let runs = fs::read_dir(kokctl.folder().join("state/kokctl/kubeonkube/kokctl/runs")).unwrap();
    runs.map(|run| fs::read_to_string(run.unwrap().path().join("events.jsonl")).unwrap()).collect()
}

fn the_kubeconfig_works(server: &ApiServer, lab: &Lab, kokctl: &Kokctl<'_>) {
    let name = format!("{}-kubeconfig", lab.name());
    let secret = object(server, "secret", &name);
    assert_eq!(
        (&secret["type"], secret["metadata"]["ownerReferences"][0]["kind"].as_str()),
        (&json!("cluster.x-k8s.io/secret"), Some("Cluster"))
    );
    let text = server.ok(&["get", "secret", &name, "-n", NAMESPACE, "-o", "go-template={{.data.value | base64decode}}"], "");
    let path = kokctl.folder().join("member.conf");
    fs::write(&path, text).unwrap();
    let member = crate::cluster_support::kokctl::program_of(kokctl.bundle(), "kubectl");
    let output =
        lab.command(member).unwrap().args(["--kubeconfig", path.to_str().unwrap(), "get", "nodes", "-o", "name"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "node/cp1", "{output:?}");
}

/// One after the other; a cluster that is as it is to be is not changed; and what is cancelled while it waits is never begun.
fn others_wait_and_one_is_cancelled(server: &ApiServer, lab: &Lab, operator: &Operator) {
    for (name, playbook) in [("again", "cluster.yml"), ("looks", "ping.yml"), ("never", "reset.yml")] {
        operate(server, lab, name, playbook);
    }
    server.ok(&["annotate", "kokop", "never", "kokctl.io/cancel=true"], "");
    let again = succeeds(server, operator, "again", MADE);
    assert_eq!((&again["plan"]["changes"], &again["attempt"]), (&json!(0), &json!(1)), "{again:#}");
    let looks = succeeds(server, operator, "looks", MADE);
    assert!(looks["startTime"].as_str() >= again["endTime"].as_str(), "{looks:#} {again:#}");
    wait_for("the end of what was cancelled", HEARD, || status(server, "never")["phase"] == "Cancelled");
    assert_eq!(status(server, "never").get("run"), None, "it was never begun");
    assert_eq!(object(server, "kok", lab.name())["status"]["phase"], "Ready");
}

/// What the action has made of the cluster counts, whatever only looks afterwards.
fn hooks_may_come_after_the_action(server: &ApiServer, lab: &Lab, kokctl: &Kokctl<'_>, operator: &Operator) {
    let hook = |action: &str| json!({"actionType": "playbook", "action": action});
    server.ok(&["delete", "secret", &format!("{}-kubeconfig", lab.name()), "-n", NAMESPACE], "");
    let after = json!([hook("kubeconfig.yml"), hook("cluster-info.yml")]);
    operate_with(server, lab, "hooked", json!({"action": "cluster.yml", "postHook": after}));
    succeeds(server, operator, "hooked", MADE);
    the_kubeconfig_works(server, lab, kokctl);
    let cluster = object(server, "kok", lab.name())["status"].clone();
    let ready = condition(&cluster["clusterConditions"], "Ready").cloned().unwrap_or_default();
    assert_eq!((&cluster["phase"], &ready["status"]), (&json!("Ready"), &json!("True")), "{cluster:#}");
    let secret = &cluster["certificates"]["kubeconfigSecret"]["name"];
    assert_eq!(secret, &json!(format!("{}-kubeconfig", lab.name())), "{cluster:#}");
    let end = cluster["certificates"]["earliestEnd"].as_str().and_then(|end| end.parse::<jiff::Timestamp>().ok());
    let days = end.map(|end| end.duration_since(jiff::Timestamp::now()).as_hours() / 24);
    assert!(days.is_some_and(|days| (300..=366).contains(&days)), "{days:?}: {cluster:#}");
}

/// One that is only shown changes nothing.
fn plans_are_shown(server: &ApiServer, lab: &Lab, operator: &Operator) {
    operate_with(server, lab, "shown", json!({"action": "reset.yml", "operator": {"dryRun": true}}));
    let shown = succeeds(server, operator, "shown", MADE)["plan"].clone();
    assert!(shown["changes"].as_u64() > Some(0) && shown["ref"] == format!("{NAMESPACE}/shown-plan"), "{shown:#}");
    let read = ["get", "secret", "shown-plan", "-n", NAMESPACE, "-o", "go-template={{index .data \"plan.json\" | base64decode}}"];
    let plan: Value = serde_json::from_str(&server.ok(&read, "")).unwrap();
    assert_eq!(plan["digest"], shown["digest"]);
    assert_eq!(object(server, "kok", lab.name())["status"]["phase"], "Ready");
}

fn cordoned(lab: &Lab) -> String {
    cluster::kubectl(lab, "get node cp1 -o jsonpath='{.spec.unschedulable}'")
}

/// It waits, also where another one was approved. The status it has then.
fn a_plan_is_to_be_approved(server: &ApiServer, lab: &Lab) -> Value {
    let cordon = json!({"action": "cordon", "extraArgs": "-e node=cp1", "operator": {"approval": "Manual"}});
    operate_with(server, lab, "asks", cordon);
    wait_for("a plan to approve", HEARD, || status(server, "asks")["phase"] == "AwaitingApproval");
    assert_eq!(cordoned(lab), "");
    approve(server, &format!("sha256:{}", "0".repeat(64)));
    wait_for("a plan in the status", HEARD, || status(server, "asks")["plan"]["digest"].is_string());
    let asked = status(server, "asks");
    assert_eq!(asked["phase"], "AwaitingApproval", "another plan was approved");
    asked
}

fn approve(server: &ApiServer, digest: &str) {
    server.ok(&["annotate", "--overwrite", "kokop", "asks", &format!("kokctl.io/approved-plan={digest}")], "");
}

/// Nobody works while a plan waits: the time that a run may take is over by then, and the replica that made the plan is gone.
fn it_is_approved_later_than_a_run_may_take(server: &ApiServer, lab: &Lab, operator: &Operator, asked: &Value) {
    wait_for("the other operator", TAKEN_OVER, || {
        let status = status(server, "asks");
        (&status["attempt"], &status["phase"]) == (&json!(2), &json!("AwaitingApproval"))
    });
    let began: jiff::Timestamp = asked["startTime"].as_str().unwrap().parse().unwrap();
    let late = || jiff::Timestamp::now().duration_since(began).as_secs() > 65;
    wait_for("an approval that is late", TAKEN_OVER, late);
    assert_eq!((&status(server, "asks")["phase"], cordoned(lab)), (&json!("AwaitingApproval"), String::new()));
    approve(server, status(server, "asks")["plan"]["digest"].as_str().unwrap());
    succeeds(server, operator, "asks", MADE);
    assert_eq!(cordoned(lab), "true");
}

/// Of the private key nothing stands anywhere but in the Secret that its owner has made.
fn nothing_secret_was_said(server: &ApiServer, lab: &Lab, operators: &[&Operator]) {
    let said = ["kok", "kokop", "events", "configmaps", "leases"].map(|kind| server.ok(&["get", kind, "-A", "-o", "json"], "")).concat();
    let logs: String = operators.iter().map(|operator| operator.log()).collect();
    for line in objects::lines_of_the_login(lab) {
        assert!(!said.contains(&line) && !logs.contains(&line));
    }
}
