//! What a Cluster names goes, and comes back.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use super::{HEARD, OperatorStory, is_over, objects};
use crate::kube_on_kube_story::objects as kube_on_kube;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, condition, object, status};

/// What is missing is told within this time, in seconds.
const TOLD: f64 = 10.0;
/// What has come is seen within this time, in seconds: it is asked for once a minute at the least.
const SEEN: f64 = 70.0;
/// A status is written once a second, and lies no more than this behind, in seconds.
const WRITTEN: u64 = 5;
/// For how long something is missing: until it is asked for three times.
const MISSING: u64 = 20;

/// Whether the Cluster's inputs are there, as its status says it, with what is not.
fn ready(story: &OperatorStory<'_>, cluster: &str) -> (Value, String) {
    let ready =
        condition(&object(&story.server, "kok", cluster)["status"]["clusterConditions"], "InputsReady").cloned().unwrap_or_default();
    (ready["status"].clone(), ready["message"].as_str().unwrap_or_default().to_owned())
}

/// Waits until this is told to be missing, and for a while longer.
fn is_missing(story: &OperatorStory<'_>, cluster: &str, what: &str, since: Instant) -> f64 {
    wait_for(what, HEARD, || ready(story, cluster) == (json!("False"), format!("{what} is not there")));
    let told = since.elapsed().as_secs_f64();
    assert!(told <= TOLD, "{told}");
    wait_for("a while", HEARD, || since.elapsed().as_secs() >= MISSING);
    told
}

/// The run at work goes on without it; the next one waits for it.
pub fn secret_is_removed(story: &OperatorStory<'_>, operator: &Operator) {
    story.begins("removed", 1);
    story.server.ok(&["delete", "secret", "ssh-auth", "-n", NAMESPACE], "");
    story.ends_well("removed", &[operator]);
    story.describes("keyless");
    story.lets(1);
    story.operates("keyless", json!({}));
    let told = is_missing(story, story.lab.name(), &format!("Secret {NAMESPACE}/ssh-auth"), Instant::now());
    assert_eq!((&status(&story.server, "keyless")["phase"], story.begun("keyless")), (&json!("Pending"), vec![]));
    story.server.ok(&["apply", "-f", "-"], &objects::login(story.lab, NAMESPACE).to_string());
    let since = Instant::now();
    wait_for("its first hook", SEEN as u64, || !story.begun("keyless").is_empty());
    let seen = since.elapsed().as_secs_f64();
    wait_for("a status without what was missing", HEARD, || ready(story, story.lab.name()).0 == "True");
    wait_for("a status that says so", WRITTEN, || status(&story.server, "keyless")["phase"] == "Running");
    let said = status(&story.server, "keyless");
    assert!(!said.to_string().contains("is not there"), "{said:#}");
    story.ends_well("keyless", &[operator]);
    println!("Secret removed: the run went on; the next one said so after {told:.1} s, and went on {seen:.1} s after it was back");
}

/// The objects of kube-on-kube, whose inventory comes last. They are another Cluster, of which the host is only looked at.
pub fn inventory_comes_late(story: &OperatorStory<'_>, operator: &Operator) {
    kube_on_kube::write(story.lab, &story.kokctl, "ping.yml");
    let all = fs::read_to_string(story.kokctl.manifest()).unwrap();
    let (maps, others) = all.split_at(all.find("apiVersion: kubeonkube").unwrap());
    let (inventory, rest) = maps.split_once("---\n").unwrap();
    let others = others.replace(story.lab.name(), "late").replace("name: operation", "name: looks");
    story.server.ok(&["apply", "-f", "-"], &[rest, &others].concat());
    let told = is_missing(story, "late", &format!("ConfigMap {NAMESPACE}/hosts-conf"), Instant::now());
    story.server.ok(&["apply", "-f", "-"], inventory);
    let since = Instant::now();
    wait_for("the end of the look", SEEN as u64, || is_over(&status(&story.server, "looks")));
    let seen = since.elapsed().as_secs_f64();
    let said = status(&story.server, "looks");
    assert_eq!(said["phase"], "Succeeded", "{said:#}\n{}", operator.log());
    assert_eq!(ready(story, "late").0, "True");
    println!("ConfigMap late: told after {told:.1} s, and the operation ended well {seen:.1} s after it had come");
}
