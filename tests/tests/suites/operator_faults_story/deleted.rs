//! Clusters that are deleted while something of them is under way: they go, whatever their hosts, Secrets and namespaces have come to.

use std::time::Instant;

use serde_json::json;

use super::{HEARD, OperatorStory, ROUND, TAKEN_OVER, is_over, objects};
use crate::cluster_support::{bare, ok};
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, condition, object, status};

/// A Cluster whose hosts stay is gone by then, in seconds.
const GONE: f64 = 30.0;
/// What hosts may take to be taken down, in seconds, the least that can be said.
const DEADLINE: u64 = 60;
/// Of another tenant than the operator.
const TENANT: &str = "tenant";

/// Makes the Cluster anew, of which nothing was begun yet, with what it names in this namespace.
fn anew(story: &OperatorStory<'_>, namespace: &str, policy: &str) {
    let mut cluster = objects::cluster(story.lab, namespace);
    cluster["spec"]["operator"] = json!({"deletionPolicy": policy, "deletionDeadlineSeconds": DEADLINE});
    story.server.ok(&["apply", "-f", "-"], &cluster.to_string());
}

fn delete(story: &OperatorStory<'_>) -> Instant {
    story.server.ok(&["delete", "kok", story.lab.name(), "--wait=false"], "");
    Instant::now()
}

/// Waits until the Cluster is gone, with all that goes with it. The seconds that it took.
pub fn is_gone(story: &OperatorStory<'_>, operator: &Operator, since: Instant) -> f64 {
    let there = |kind: &str| story.server.ok(&["get", kind, "-A", "-o", "name"], "");
    wait_for("the end of the Cluster", DEADLINE + HEARD, || there("kok").is_empty());
    let took = since.elapsed().as_secs_f64();
    for kind in ["kokop", "leases"] {
        wait_for(&format!("the end of {kind}"), TAKEN_OVER, || !there(kind).lines().any(is_ours));
    }
    assert!(!operator.log().contains("panicked"), "{}", operator.log());
    took
}

/// Leases of the API server itself are none of a Cluster.
fn is_ours(name: &str) -> bool {
    name.contains("kokctl-") || name.contains("clusteroperation")
}

fn is_free(story: &OperatorStory<'_>) -> bool {
    ok(&story.host(), "grep -s run= /var/lib/kokctl/holder || :").is_empty()
}

/// The hosts stay as they are: what is at work ends, and nothing is begun any more.
pub fn hosts_stay(story: &OperatorStory<'_>, operator: &Operator) {
    story.begins("orphan", 1);
    let since = delete(story);
    let took = story.server.kubectl(&["wait", "--for=delete", &format!("kok/{}", story.lab.name()), "--timeout=30s"], "");
    let gone = since.elapsed().as_secs_f64();
    assert!(took.success && gone <= GONE, "{gone}: {}", took.stderr);
    wait_for("a run that is to end", HEARD, || story.server.ok(&["get", "kokop", "-o", "name"], "").is_empty());
    story.lets(super::STEPS);
    wait_for("a host that nobody holds", HEARD, || is_free(story));
    assert_eq!(story.begun("orphan"), [1, 2]);
    is_gone(story, operator, since);
    println!("deleted mid-run, Orphan: the Cluster was gone after {gone:.1} s, the hook at work ended, and the host was let go");
}

/// The hosts are taken down, once what is at work has ended.
pub fn hosts_are_taken_down(story: &OperatorStory<'_>, operator: &Operator) {
    anew(story, NAMESPACE, "Reset");
    story.begins("reset", 1);
    let since = delete(story);
    wait_for("a run that is being cancelled", HEARD, || status(&story.server, "reset")["phase"] == "Cancelling");
    story.lets(2);
    let let_go = Instant::now();
    let took = is_gone(story, operator, since);
    assert_eq!(story.begun("reset"), [1, 2]);
    bare::is_bare(&story.host());
    println!(
        "deleted mid-run, Reset: gone after {took:.1} s, {:.1} s after the hook at work; its host is bare",
        let_go.elapsed().as_secs_f64()
    );
}

/// A host does not answer any more: it is named, and the others are taken down.
pub fn a_host_is_dead(story: &OperatorStory<'_>, operator: &Operator) {
    anew(story, NAMESPACE, "Reset");
    story.begins("dead", 1);
    let dead = story.lab.host("worker1").unwrap();
    dead.power_off().unwrap();
    story.ends_well("dead", &[operator]);
    let took = is_gone(story, operator, delete(story));
    let said = given_up(story);
    assert!(said.contains("worker1 did not answer"), "{said}");
    bare::is_bare(&story.host());
    dead.power_on().unwrap();
    println!("deleted, Reset, a host dead: gone after {took:.1} s of {DEADLINE} s and half a minute; the others are bare; told: {said}");
}

/// The login is gone before the Cluster: nobody can reach the hosts, and it goes all the same.
pub fn the_secret_is_gone(story: &OperatorStory<'_>, operator: &Operator) {
    anew(story, NAMESPACE, "Reset");
    story.begins("secret", 1);
    story.server.ok(&["delete", "secret", "ssh-auth", "-n", NAMESPACE], "");
    let since = delete(story);
    story.lets(2);
    let took = is_gone(story, operator, since);
    let said = given_up(story);
    assert!(said.contains("the hosts are left as they are"), "{said}");
    story.server.ok(&["apply", "-f", "-"], &objects::login(story.lab, NAMESPACE).to_string());
    println!("deleted, Reset, Secret gone: gone after {took:.1} s of {DEADLINE} s and half a minute; told: {said}");
}

/// What was told last of hosts that are given up.
fn given_up(story: &OperatorStory<'_>) -> String {
    let fields = "-o=jsonpath={range .items[*]}{.note}{.message}{\"\\n\"}{end}";
    let all = story.server.ok(&["get", "events", "-n", "default", "--field-selector=reason=HostsGivenUp", fields], "");
    all.lines().last().unwrap_or_default().to_owned()
}

/// The namespace goes with the Secret, while an operation is under way: that ends, others say what they wait for, and the Cluster goes.
pub fn the_namespace_is_gone(story: &OperatorStory<'_>, operator: &Operator) {
    story.server.ok(&["create", "namespace", TENANT], "");
    let subject = format!("--serviceaccount={NAMESPACE}:kokctl-operator");
    story.server.ok(&["create", "rolebinding", "operator", "-n", TENANT, "--clusterrole=cluster-admin", &subject], "");
    story.server.ok(&["apply", "-f", "-"], &objects::login(story.lab, TENANT).to_string());
    anew(story, TENANT, "Reset");
    story.begins("tenant", 1);
    story.server.ok(&["delete", "namespace", TENANT, "--timeout=60s"], "");
    story.lets(super::STEPS);
    wait_for("the end of the run", ROUND, || is_over(&status(&story.server, "tenant")));
    let ended = status(&story.server, "tenant");
    assert_eq!(ended["phase"], "Succeeded", "{ended:#}\n{}", operator.log());
    story.operates("next", json!({}));
    let since = Instant::now();
    let ready = || condition(&object(&story.server, "kok", story.lab.name())["status"]["clusterConditions"], "InputsReady").cloned();
    wait_for("what is missing", HEARD, || ready().is_some_and(|it| it["status"] == "False"));
    let (told, said) = (since.elapsed().as_secs_f64(), ready().unwrap()["message"].to_string());
    let took = is_gone(story, operator, delete(story));
    println!(
        "namespace deleted mid-run: the run ended well; the next one said {said} after {told:.1} s; the Cluster was gone after {took:.1} s"
    );
}
