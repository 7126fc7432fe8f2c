//! Fifty Clusters of one light host each, by two replicas.

use std::time::Instant;

use kok_tests::lab::{Host, Lab};
use serde_json::{Value, json};

use super::{OperatorStory, is_over, objects};
use crate::cluster_support::hosts;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, status};

/// How many.
pub const CLUSTERS: usize = 50;
/// Replicas, each with ten runs at once.
const AT_ONCE: usize = 20;
/// All of them, on a busy machine.
const ALL: u64 = 600;
/// Memory of a replica at the most, in kB.
const MEMORY: u64 = 600_000;
/// Writes of a replica at the most, in a second.
const WRITES: f64 = 20.0;
/// A replica that starts is ready within this time, in seconds.
const READY: f64 = 10.0;

/// A round of operations, as it went.
struct Went {
    /// Seconds from the first start to the last end.
    took: f64,
    /// The longest of 95 % of them, in seconds from the first start.
    most: i64,
}

/// All of them at the same moment.
pub fn fifty_at_once(story: &OperatorStory<'_>, replicas: &[Operator]) {
    let clusters: Vec<Value> = hosts(story.lab).iter().map(|host| cluster(story.lab, host)).collect();
    story.server.ok(&["apply", "-f", "-"], &list(clusters));
    wait_for("both replicas", ALL, || [8081, 8082].iter().all(|port| is_well(story.lab, *port, "readyz")));
    let went = round(story, "first", &hosts(story.lab), replicas);
    let memory: Vec<u64> = replicas.iter().map(Operator::memory).collect();
    println!("{CLUSTERS} Clusters: all ended after {:.1} s; memory of the replicas {memory:?} kB", went.took);
    assert!(memory.iter().all(|kilobytes| *kilobytes <= MEMORY), "{memory:?}");
    // Of what has nothing to do any more, to be compared with the same beside a dead host.
    let before = round(story, "second", &hosts(story.lab), replicas);
    one_is_dead(story, replicas, &before);
}

/// The others take as long as they did; and a replica that starts does not wait for it.
fn one_is_dead(story: &OperatorStory<'_>, replicas: &[Operator], before: &Went) {
    let (dead, others): (Vec<Host>, Vec<Host>) = hosts(story.lab).into_iter().partition(|host| host.name() == "worker7");
    dead[0].power_off().unwrap();
    operate(story, "third", &dead);
    wait_for("a host that does not answer", ALL, || status(&story.server, &name("third", &dead[0]))["lastError"]["kind"] == "Host");
    let went = round(story, "third", &others, replicas);
    println!("one dead of {CLUSTERS}: p95 of the others {} s, and {} s without it", went.most, before.most);
    assert!(went.most as f64 <= before.most as f64 * 1.1 + 2.0, "{} {}", went.most, before.most);
    let started = Instant::now();
    let _third = story.replica("c", 8083);
    wait_for("a replica that is ready", ALL, || is_well(story.lab, 8083, "readyz"));
    let ready = started.elapsed().as_secs_f64();
    println!("a replica that starts meanwhile is ready after {ready:.1} s");
    assert!(ready <= READY, "{ready}");
}

fn name(round: &str, host: &Host) -> String {
    format!("{round}-{}", host.name())
}

fn list(items: Vec<Value>) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// A Cluster of one host.
fn cluster(lab: &Lab, host: &Host) -> Value {
    let mut cluster = objects::cluster(lab, NAMESPACE);
    cluster["metadata"]["name"] = json!(host.name());
    let hooks = (1..=5).map(|number| json!({"name": format!("step-{number}"), "at": "beforePreparation", "script": "sleep 0.5"}));
    cluster["spec"]["hosts"] = json!([{"name": host.name(), "address": host.address(), "roles": ["control-plane", "worker"]}]);
    cluster["spec"]["time"] = json!({"sources": [host.name()]});
    cluster["spec"]["hooks"] = hooks.collect();
    cluster
}

fn operate(story: &OperatorStory<'_>, round: &str, hosts: &[Host]) {
    let operation = |host: &Host| {
        let spec = json!({"cluster": host.name(), "actionType": "playbook", "action": "cluster.yml", "extraArgs": "--tags=hooks"});
        let meta = json!({"name": name(round, host)});
        json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": meta, "spec": spec})
    };
    story.server.ok(&["create", "-f", "-"], &list(hosts.iter().map(operation).collect()));
}

/// Operations of a round, by the Cluster of each of these hosts.
fn round(story: &OperatorStory<'_>, round: &str, hosts: &[Host], replicas: &[Operator]) -> Went {
    let (writes, since) = (writes(story), Instant::now());
    operate(story, round, hosts);
    let of_round = || {
        let all: Value = serde_json::from_str(&story.server.ok(&["get", "kokop", "-o", "json"], "")).unwrap();
        let all = all["items"].as_array().unwrap().clone();
        let is_of = |it: &Value| hosts.iter().any(|host| it["metadata"]["name"] == name(round, host).as_str());
        all.into_iter().filter(is_of).map(|it| it["status"].clone()).collect::<Vec<Value>>()
    };
    wait_for("the end of all", ALL, || {
        for port in [8081, 8082] {
            assert!(["livez", "readyz"].iter().all(|probe| is_well(story.lab, port, probe)), "a probe has failed");
        }
        of_round().iter().all(is_over)
    });
    let (took, all) = (since.elapsed().as_secs_f64(), of_round());
    let logs = || replicas.iter().map(Operator::log).collect::<String>();
    for status in &all {
        assert_eq!(status["phase"], "Succeeded", "{status:#}\n{}", logs());
    }
    let times: Vec<(i64, i64)> = all.iter().map(|status| (second(status, "startTime"), second(status, "endTime"))).collect();
    let at_once = times.iter().map(|(start, _)| times.iter().filter(|(from, to)| from <= start && start < to).count()).max().unwrap();
    let written = (self::writes(story) - writes) / took / replicas.len() as f64;
    println!("{round}: {} operations, {at_once} at once at the most, {written:.1} writes a second of a replica", all.len());
    assert!(at_once <= AT_ONCE && written <= WRITES, "{at_once} {written}");
    let first = times.iter().map(|(start, _)| *start).min().unwrap();
    let mut ends: Vec<i64> = times.iter().map(|(_, end)| end - first).collect();
    ends.sort_unstable();
    Went { took, most: ends[ends.len() * 95 / 100] }
}

fn second(status: &Value, field: &str) -> i64 {
    status[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}

/// What the API server was asked to write so far of what the operator writes.
fn writes(story: &OperatorStory<'_>) -> f64 {
    let metrics = story.server.ok(&["get", "--raw", "/metrics"], "");
    let is_write = |line: &&str| {
        line.starts_with("apiserver_request_total{")
            && ["POST", "PUT", "PATCH", "APPLY", "DELETE"].iter().any(|verb| line.contains(&format!("verb=\"{verb}\"")))
    };
    metrics.lines().filter(is_write).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Whether a replica with its health at this port answers this probe well.
pub fn is_well(lab: &Lab, port: u16, probe: &str) -> bool {
    let mut curl = lab.command("curl").unwrap();
    let address = format!("http://127.0.0.1:{port}/{probe}");
    curl.args(["-fsS", "--noproxy", "*", "--max-time", "5", &address]).output().unwrap().status.success()
}
