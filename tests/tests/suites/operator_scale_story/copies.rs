//! A thousand Clusters with the operations that are kept of each: copies of one of each kind that an operator has attended to.

use jiff::{SignedDuration, Timestamp};
use kok_tests::lab::Lab;
use serde_json::{Value, json};

use super::etcd;
use crate::lab_support::wait_for;
use crate::operator_faults_story::{HEARD, OperatorStory, ROUND, is_over};
use crate::operator_story::{object, operate, status};

/// How many.
pub const CLUSTERS: usize = 1000;
/// Operations that are kept of each.
pub const KEPT: usize = 30;
/// Bytes of a Cluster, without what the API server notes of who has written it.
const BYTES: usize = 12 << 10;
/// What the operator attends to first, and all others are copies of.
const FIRST: &str = "first-of-all";

/// One of the Clusters.
struct Numbered {
    number: usize,
    name: String,
    uid: String,
}

impl Numbered {
    fn new(number: usize) -> Self {
        Self { number, name: name(number), uid: uid(number, 0) }
    }
}

/// Makes all that there is to know. The Cluster of the story is one of them.
pub fn make(story: &OperatorStory<'_>) {
    attends(story);
    let cluster = etcd::get(story.lab, &etcd::place("clusters", story.lab.name()));
    let operation = etcd::get(story.lab, &etcd::place("clusteroperations", FIRST));
    let uid = cluster["metadata"]["uid"].as_str().unwrap();
    let own = Numbered { number: 0, name: story.lab.name().to_owned(), uid: uid.to_owned() };
    etcd::put(story.lab, (1..KEPT).map(|number| copied(story.lab, &operation, &own, number)));
    let others: Vec<Numbered> = (1..CLUSTERS).map(Numbered::new).collect();
    etcd::put(story.lab, others.iter().map(|of| described(story.lab, &cluster, of)));
    let kept = |of| (0..KEPT).map(move |number| (of, number));
    etcd::put(story.lab, others.iter().flat_map(kept).map(|(of, number)| copied(story.lab, &operation, of, number)));
    are_there(story);
}

/// The name of another Cluster than the story's.
fn name(number: usize) -> String {
    format!("cluster-{number:04}")
}

/// The name of an operation of a Cluster; the larger its number, the older it is.
pub fn name_of(cluster: &str, number: usize) -> String {
    format!("{cluster}-op-{number:02}")
}

fn uid(cluster: usize, operation: usize) -> String {
    format!("{cluster:08x}-0000-4000-8000-{operation:012x}")
}

/// One operation from its beginning to its end, by an operator that ends then.
fn attends(story: &OperatorStory<'_>) {
    let operator = story.replica("first", 8081);
    operate(&story.server, story.lab, FIRST, "ping.yml");
    wait_for("the end of the first operation", ROUND, || is_over(&status(&story.server, FIRST)));
    let made = || object(&story.server, "kokop", FIRST);
    wait_for("its label", HEARD, || made()["metadata"]["labels"]["hasCompleted"] == "done");
    assert_eq!(made()["status"]["phase"], "Succeeded", "{:#}\n{}", made(), operator.log());
    operator.terminate();
}

/// A Cluster of this name and uid, with as many hosts as make it as long as it is to be, and with its operations in its status.
fn described(lab: &Lab, cluster: &Value, of: &Numbered) -> (String, String) {
    let mut copy = cluster.clone();
    let first = copy["status"]["conditions"][0].clone();
    let listed = (0..KEPT).map(|number| {
        let mut entry = first.clone();
        entry["clusterOps"] = json!(name_of(&of.name, number));
        entry
    });
    copy["status"]["conditions"] = listed.collect();
    (copy["metadata"]["name"], copy["metadata"]["uid"]) = (json!(of.name), json!(of.uid));
    let mut lean = copy.clone();
    lean["metadata"]["managedFields"] = Value::Null;
    let mut hosts = copy["spec"]["hosts"].as_array().unwrap().clone();
    let of_host = |number: usize| {
        let address = format!("192.0.{}.{}", number / 250 + 2, number % 250 + 1);
        json!({"name": format!("worker{number}"), "address": address, "roles": ["worker"]})
    };
    let missing = BYTES.saturating_sub(lean.to_string().len());
    hosts.extend((2..2 + missing / of_host(50).to_string().len()).map(of_host));
    copy["spec"]["hosts"] = hosts.into();
    (etcd::place("clusters", &of.name), copy.to_string().replace(lab.name(), &of.name))
}

/// An operation of this Cluster that has ended as the first one has, some minutes before it.
fn copied(lab: &Lab, operation: &Value, of: &Numbered, number: usize) -> (String, String) {
    let (meta, name) = (&operation["metadata"], name_of(&of.name, number));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let first = text(&meta["creationTimestamp"]);
    let before = first.parse::<Timestamp>().unwrap() - SignedDuration::from_mins(i64::try_from(number).unwrap());
    let created = |time: &str| format!("\"creationTimestamp\":\"{time}\"");
    let copy = operation.to_string().replace(&text(&meta["uid"]), &uid(of.number, number + 1));
    let copy = copy.replace(&text(&meta["ownerReferences"][0]["uid"]), &of.uid).replace(FIRST, &name).replace(lab.name(), &of.name);
    (etcd::place("clusteroperations", &name), copy.replace(&created(&first), &created(&before.to_string())))
}

/// The API server has heard of all of them, and would take each as it is.
fn are_there(story: &OperatorStory<'_>) {
    wait_for("all Clusters", HEARD, || count(story, "clusters") == CLUSTERS);
    wait_for("all operations", HEARD, || count(story, "clusteroperations") == CLUSTERS * KEPT);
    let last = name(CLUSTERS - 1);
    for (kind, name) in [("kok", last.clone()), ("kokop", name_of(&last, KEPT - 1)), ("kokop", name_of(story.lab.name(), KEPT - 1))] {
        story.server.ok(&["annotate", kind, &name, "--dry-run=server", "looked=at"], "");
    }
    let (cluster, operation) = (object(&story.server, "kok", &last), object(&story.server, "kokop", &name_of(&last, 0)));
    assert_eq!(operation["metadata"]["ownerReferences"][0]["uid"], cluster["metadata"]["uid"]);
    assert_eq!(operation["spec"]["cluster"], last.as_str());
    println!("{CLUSTERS} Clusters of {} bytes, {} operations of {} bytes", bytes(&cluster), CLUSTERS * KEPT, bytes(&operation));
}

fn bytes(object: &Value) -> usize {
    object.to_string().len()
}

/// How many there are of a kind.
pub fn count(story: &OperatorStory<'_>, plural: &str) -> usize {
    let path = format!("/apis/kubeonkube.clay.io/v1alpha1/{plural}?limit=1");
    let page: Value = serde_json::from_str(&story.server.ok(&["get", "--raw", &path], "")).unwrap();
    let more = page["metadata"]["remainingItemCount"].as_u64().unwrap_or_default();
    page["items"].as_array().unwrap().len() + usize::try_from(more).unwrap()
}
