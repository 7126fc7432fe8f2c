//! An operator that has nothing to do, and very much to know.

use std::time::{Duration, Instant};

use super::copies::{CLUSTERS, KEPT, count, name_of};
use super::{metrics, sum};
use crate::lab_support::wait_for;
use crate::operator_faults_story::many::is_well;
use crate::operator_faults_story::{HEARD, OperatorStory, ROUND};
use crate::operator_story::{NAMESPACE, Operator, operate, status, succeeds};

/// Where it has its health and its metrics.
const HEALTH: u16 = 8082;
const METRICS: u16 = 8092;
/// It is ready within this time, in seconds: it has read everything once.
const READY: u64 = 60;
/// Afterwards it has nothing more to do within this time.
const SETTLED: u64 = 120;
/// For how long it has to have done nothing then.
const QUIET: Duration = Duration::from_secs(5);
/// The pause between two probes.
const PROBED: Duration = Duration::from_secs(10);
/// For how long it is looked at, at rest.
const REST: u64 = 120;
/// Memory that it has at rest at the most, in kB. The design has 80 MB and 35 MB of what it knows; the story's program is not optimized, and of what the first
/// list took some is given back to the system only when it is needed.
const MEMORY: u64 = 160_000;
/// Part of a processor that it takes at rest at the most: it asks every three seconds whether the API server answers.
const PROCESSOR: f64 = 0.05;
/// What is asked for by then is heard of, in seconds.
const HEARD_SOON: u64 = 10;

/// How an operator is now.
struct Seen {
    at: Instant,
    processor: f64,
    memory: u64,
    writes: f64,
}

impl Seen {
    fn now(story: &OperatorStory<'_>, operator: &Operator) -> Self {
        let writes = writes(story);
        let (processor, memory) = (operator.processor_time(), operator.kilobytes("VmRSS"));
        Self { at: Instant::now(), processor, memory, writes }
    }

    /// Whether nothing was done between this and a later look.
    fn is_quiet_until(&self, later: &Self) -> bool {
        let part = (later.processor - self.processor) / later.at.duration_since(self.at).as_secs_f64();
        later.writes == self.writes && part < PROCESSOR && later.memory.abs_diff(self.memory) < 1000
    }
}

/// What the operator has asked the API server to write so far, by its own count.
fn writes(story: &OperatorStory<'_>) -> f64 {
    let verbs = ["create", "update", "patch", "delete"].map(|verb| format!("verb=\"{verb}\""));
    sum(&metrics(story.lab, METRICS), "kokctl_api_requests_total", &verbs.each_ref().map(String::as_str))
}

/// What the API server was asked to write so far of Clusters and operations, whoever has asked.
fn written(story: &OperatorStory<'_>) -> f64 {
    let all = story.server.ok(&["get", "--raw", "/metrics"], "");
    let is_ours = |line: &&str| line.contains("group=\"kubeonkube.clay.io\"");
    let ours: String = all.lines().filter(is_ours).map(|line| format!("{line}\n")).collect();
    let verbs = ["POST", "PUT", "PATCH", "APPLY", "DELETE"].map(|verb| format!("verb=\"{verb}\""));
    sum(&ours, "apiserver_request_total", &verbs.each_ref().map(String::as_str))
}

/// One that is started, until it has nothing more to do.
pub fn starts(story: &OperatorStory<'_>) -> Operator {
    let before = written(story);
    let more = ["--accept-new-host-keys", &format!("--metrics=127.0.0.1:{METRICS}"), &format!("--namespaces={NAMESPACE}")];
    let began = Instant::now();
    let operator = Operator::start_apart(&story.kokctl, &story.server, "of-many", HEALTH, &more);
    wait_for("an operator that is ready", READY, || is_well(story.lab, HEALTH, "readyz"));
    let (ready, processor) = (began.elapsed().as_secs_f64(), operator.processor_time());
    let mut last = Seen::now(story, &operator);
    wait_for("an operator at rest", SETTLED, || {
        if last.at.elapsed() < QUIET {
            return false;
        }
        let before = std::mem::replace(&mut last, Seen::now(story, &operator));
        before.is_quiet_until(&last)
    });
    let settled = began.elapsed().as_secs_f64();
    println!("ready after {ready:.1} s and {processor:.1} s of a processor, at rest after {settled:.1} s with {:.1} s", last.processor);
    println!("memory: {} kB, {} kB at the most so far", last.memory, operator.memory());
    println!("{} writes of the operator until then, {} to Clusters and operations", last.writes, written(story) - before);
    decisions(story);
    operator
}

/// What it took to decide about one cluster.
fn decisions(story: &OperatorStory<'_>) {
    let all = metrics(story.lab, METRICS);
    let of = |name: &str, labels: &[&str]| sum(&all, &format!("kokctl_reconcile_seconds_{name}"), labels);
    let (decided, took) = (of("count", &[]), of("sum", &[]));
    let slow = decided - of("bucket", &["le=\"0.001\""]);
    println!("{decided} decisions of {:.3} ms, {slow} of more than a millisecond", took / decided * 1000.0);
}

/// Two minutes in which nobody asks for anything.
pub fn costs_nothing(story: &OperatorStory<'_>, operator: &Operator) {
    let (before, written_before) = (Seen::now(story, operator), written(story));
    let mut probed = Instant::now();
    wait_for("two minutes", REST + 10, || {
        // As often as Kubernetes asks: each look costs the operator something.
        if probed.elapsed() >= PROBED {
            probed = Instant::now();
            assert!(["livez", "readyz"].iter().all(|probe| is_well(story.lab, HEALTH, probe)), "a probe has failed");
        }
        before.at.elapsed().as_secs() >= REST
    });
    let after = Seen::now(story, operator);
    let written = written(story) - written_before;
    let part = (after.processor - before.processor) / after.at.duration_since(before.at).as_secs_f64();
    let (own, most) = (operator.kilobytes("RssAnon"), operator.memory());
    println!("at rest: {} kB of memory ({own} of its own, {most} at the most so far), {:.2} % of a processor", after.memory, part * 100.0);
    println!("at rest: {} writes of the operator in {REST} s, {written} to Clusters and operations", after.writes - before.writes);
    assert!(after.memory <= MEMORY && part <= PROCESSOR, "{} {part}", after.memory);
    assert_eq!((after.writes, written), (before.writes, 0.0), "{}", operator.log());
}

/// Something is asked for among all that there is: it is heard of and done, and the oldest one of its Cluster makes room for it.
pub fn hears_of_one(story: &OperatorStory<'_>, operator: &Operator) {
    operate(&story.server, story.lab, "among-all", "ping.yml");
    let asked = Instant::now();
    wait_for("an operation that is heard of", HEARD_SOON, || status(&story.server, "among-all")["phase"].is_string());
    let heard = asked.elapsed().as_secs_f64();
    succeeds(&story.server, operator, "among-all", ROUND);
    let ended = asked.elapsed().as_secs_f64();
    let oldest = name_of(story.lab.name(), KEPT - 1);
    let is_there = |name: &str| story.server.kubectl(&["get", "kokop", name, "-o", "name"], "").success;
    wait_for("room for it", HEARD, || !is_there(&oldest));
    let pruned = asked.elapsed().as_secs_f64();
    assert!(is_there(&name_of(story.lab.name(), KEPT - 2)) && is_there("among-all"));
    assert_eq!(count(story, "clusteroperations"), CLUSTERS * KEPT, "nothing else went");
    println!(
        "one more operation: heard of after {heard:.1} s, over after {ended:.1} s; the oldest of its Cluster was gone after {pruned:.1} s"
    );
}
