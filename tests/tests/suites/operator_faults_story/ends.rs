//! Operations that wait for others, and such that end before their end.

use std::io::Read as _;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use super::{HEARD, OperatorStory, ROUND, STEPS, is_over, objects};
use crate::cluster_support::kokctl::Kokctl;
use crate::lab_support::wait_for;
use crate::operator_story::{Operator, condition, object, status};

/// So many are made at once.
const QUEUED: usize = 10;
/// Ten looks at a host, one after the other.
const ALL: u64 = 240;
/// Hosts that another run holds are asked for once a minute.
const ASKED_AGAIN: u64 = 90;
/// What `activeDeadlineSeconds` says.
const DEADLINE: i64 = 20;

fn time(status: &Value, field: &str) -> jiff::Timestamp {
    status[field].as_str().unwrap().parse().unwrap()
}

/// One after the other in their order, whichever replica attends to them.
pub fn ten_wait_for_each_other(story: &OperatorStory<'_>) {
    story.begins("first", 1);
    let name = |number: usize| format!("queued-{number}");
    let operation = |number: usize| {
        let spec = json!({"cluster": story.lab.name(), "actionType": "playbook", "action": "ping.yml"});
        json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": {"name": name(number)}, "spec": spec})
    };
    let all: Vec<Value> = (0..QUEUED).map(operation).collect();
    story.server.ok(&["create", "-f", "-"], &json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string());
    let accepted = |number: usize| condition(&status(&story.server, &name(number))["conditions"], "Accepted").cloned().unwrap_or_default();
    wait_for("all of them in their order", HEARD, || {
        let behind = |number: usize| if number == 0 { "behind first".to_owned() } else { format!("behind {}", name(number - 1)) };
        (0..QUEUED).all(|number| accepted(number)["message"] == behind(number).as_str())
    });
    let first = story.ends_well("first", &[]);
    let since = Instant::now();
    wait_for("the end of all", ALL, || (0..QUEUED).all(|number| is_over(&status(&story.server, &name(number)))));
    let took = since.elapsed().as_secs_f64();
    let ended: Vec<Value> = std::iter::once(first).chain((0..QUEUED).map(|number| status(&story.server, &name(number)))).collect();
    for pair in ended.windows(2) {
        assert_eq!(pair[1]["phase"], "Succeeded", "{:#}", pair[1]);
        assert!(time(&pair[1], "startTime") >= time(&pair[0], "endTime"), "{:#} {:#}", pair[0], pair[1]);
    }
    println!("{QUEUED} operations at once: one after the other in their order, the last one ended {took:.1} s after the one before them");
}

/// Who holds the hosts is told to the other, whichever it is.
pub fn command_line_and_operator_refuse_each_other(story: &OperatorStory<'_>, replicas: &[Operator]) {
    let command_line = Kokctl::new(story.lab);
    let describes = |round: &str| {
        let mut manifest = objects::manifest(story.lab);
        manifest["spec"]["hooks"] = objects::hooks(round);
        command_line.write_manifest(&manifest.to_string());
    };
    let (manifest, bundle) = (command_line.manifest(), command_line.bundle().to_str().unwrap().to_owned());
    let arguments = ["apply", "-f", manifest.to_str().unwrap(), "--bundle", &bundle, "--only", "hooks"];
    story.begins("served", 1);
    let (old, _) = story.at_work("served", replicas);
    describes("elsewhere");
    let refused = command_line.run(&arguments);
    let run = old.runs().pop().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(refused.code, 3, "{refused:?}");
    for part in ["another kokctl is at work on these hosts", &format!("the run {run} of {}@", old.name()), "holds them since 20"] {
        assert!(refused.stderr.contains(part), "{part:?} in {}", refused.stderr);
    }
    story.ends_well("served", &[old]);
    story.lets(1);
    let mut running = command_line.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    story.waits_after("elsewhere", 1);
    story.describes("behind");
    gives_up_waiting(story);
    story.operates("behind", json!({}));
    let held = || condition(&object(&story.server, "kok", story.lab.name())["status"]["clusterConditions"], "HeldByAnother").cloned();
    let since = Instant::now();
    wait_for("who holds the hosts", HEARD, || held().is_some_and(|held| held["status"] == "True"));
    let (told, message) = (since.elapsed().as_secs_f64(), held().unwrap()["message"].to_string());
    assert!(message.contains("they are held by ") && message.contains('@'), "{message}");
    let because = || status(&story.server, "behind")["lastError"]["because"].to_string();
    wait_for("since when", HEARD, || because().contains("holds them since 20"));
    story.lets(STEPS);
    let mut said = String::new();
    running.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(running.wait().unwrap().success(), "{said}");
    let free = Instant::now();
    wait_for("the hooks of the operator", ASKED_AGAIN, || !story.begun("behind").is_empty());
    let taken = free.elapsed().as_secs_f64();
    story.ends_well("behind", &[]);
    assert_eq!(held().unwrap()["status"], "False");
    println!("held by the command line: told after {told:.1} s, gone on with {taken:.1} s after that had ended; and refused by it: {run}");
}

/// One that is cancelled while another run holds the hosts has done nothing, and says nothing of the Cluster.
fn gives_up_waiting(story: &OperatorStory<'_>) {
    let cluster = || object(&story.server, "kok", story.lab.name())["status"].clone();
    let before = cluster()["phase"].clone();
    let held = || condition(&cluster()["clusterConditions"], "HeldByAnother").is_some_and(|held| held["status"] == "True");
    story.operates("gives-up", json!({}));
    wait_for("who holds the hosts", HEARD, held);
    story.server.ok(&["annotate", "kokop", "gives-up", "kokctl.io/cancel=true"], "");
    wait_for("the end of what only waited", HEARD, || status(&story.server, "gives-up")["phase"] == "Cancelled");
    assert_eq!((&cluster()["phase"], held()), (&before, false), "{:#}", cluster());
}

/// What is at work ends, nothing else begins, and the next operation does the rest.
pub fn one_is_cancelled(story: &OperatorStory<'_>, replicas: &[Operator]) {
    story.begins("cancelled", 1);
    story.server.ok(&["annotate", "kokop", "cancelled", "kokctl.io/cancel=true"], "");
    let since = Instant::now();
    wait_for("an operation that is being cancelled", HEARD, || status(&story.server, "cancelled")["phase"] == "Cancelling");
    let heard = since.elapsed().as_secs_f64();
    story.lets(STEPS);
    let let_go = Instant::now();
    wait_for("the end", HEARD, || status(&story.server, "cancelled")["phase"] == "Cancelled");
    let ended = let_go.elapsed().as_secs_f64();
    assert_eq!(story.begun("cancelled"), [1, 2]);
    let said = status(&story.server, "cancelled");
    assert_eq!((&said["status"], &condition(&said["conditions"], "Ready").unwrap()["reason"]), (&json!("Failed"), &json!("Cancelled")));
    story.operates("rest", json!({}));
    rest_is_done(story, "rest", "cancelled", replicas);
    println!("cancelled: heard after {heard:.1} s, ended {ended:.1} s after the hook at work");
}

/// Another operation has begun what was left, and nothing anew.
fn rest_is_done(story: &OperatorStory<'_>, operation: &str, round: &str, replicas: &[Operator]) {
    wait_for("the rest", ROUND, || is_over(&status(&story.server, operation)));
    let said = status(&story.server, operation);
    let logs: String = replicas.iter().map(Operator::log).collect();
    assert_eq!(said["phase"], "Succeeded", "{said:#}\n{logs}");
    assert_eq!(story.begun(round), (1..=STEPS).collect::<Vec<_>>());
}

/// It takes longer than it may: what is at work is awaited, and the operation has failed.
pub fn one_is_late(story: &OperatorStory<'_>, replicas: &[Operator]) {
    story.begins_with("late", 1, json!({"activeDeadlineSeconds": DEADLINE}));
    let began = time(&status(&story.server, "late"), "startTime");
    let since = |began: jiff::Timestamp| jiff::Timestamp::now().duration_since(began).as_secs_f64();
    wait_for("a run that is late", HEARD, || since(began) > DEADLINE as f64 + 5.0);
    assert!(!is_over(&status(&story.server, "late")), "what is at work is awaited");
    story.lets(STEPS);
    let let_go = Instant::now();
    wait_for("the end", HEARD, || is_over(&status(&story.server, "late")));
    let ended = let_go.elapsed().as_secs_f64();
    let said = status(&story.server, "late");
    assert_eq!(
        (&said["phase"], &condition(&said["conditions"], "Ready").unwrap()["reason"]),
        (&json!("Failed"), &json!("DeadlineExceeded"))
    );
    assert!(said["lastError"]["hint"].to_string().contains("activeDeadlineSeconds"), "{said:#}");
    assert_eq!(story.begun("late"), [1, 2]);
    story.operates("rest-of-late", json!({}));
    rest_is_done(story, "rest-of-late", "late", replicas);
    println!("later than {DEADLINE} s: ended {ended:.1} s after the hook at work, and the next one did the rest");
}

/// A run ends as it would have; nothing begins until it is taken back.
pub fn one_is_suspended(story: &OperatorStory<'_>, replicas: &[Operator]) {
    let set = |is: bool| {
        let patch = json!({"spec": {"operator": {"suspend": is}}}).to_string();
        story.server.ok(&["patch", "kok", story.lab.name(), "--type=merge", "-p", &patch], "");
    };
    let phase = || story.server.ok(&["get", "kok", story.lab.name(), "-o", "jsonpath={.status.phase}"], "");
    let before = phase();
    story.begins("goes-on", 1);
    set(true);
    story.operates("suspended", json!({}));
    let accepted = || condition(&status(&story.server, "suspended")["conditions"], "Accepted").cloned().unwrap_or_default();
    let since = Instant::now();
    wait_for("an operation that is not begun", HEARD, || accepted()["reason"] == "Suspended");
    let told = since.elapsed().as_secs_f64();
    story.ends_well("goes-on", &replicas.iter().collect::<Vec<_>>());
    story.describes("suspended");
    story.lets(STEPS);
    wait_for("a Cluster that says so", HEARD, || phase() == "Suspended");
    assert_eq!((&accepted()["reason"], status(&story.server, "suspended").get("run")), (&json!("Suspended"), None));
    set(false);
    let since = Instant::now();
    wait_for("its first hook", HEARD, || !story.begun("suspended").is_empty());
    let begun = since.elapsed().as_secs_f64();
    story.ends_well("suspended", &[]);
    assert_eq!(phase(), before, "which it was in between");
    println!("suspended: told after {told:.1} s, the run before it ended well; begun {begun:.1} s after it was taken back");
}
