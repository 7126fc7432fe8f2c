//! A founding whose replica is killed again and again: another one goes on each time, and nothing is done twice.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use super::deleted::is_gone;
use super::{HEARD, OperatorStory, TAKEN_OVER, is_over, replica};
use crate::cluster_support::{bare, cluster};
use crate::lab_support::wait_for;
use crate::operator_story::{Operator, operate, status};
use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;

/// After so many steps in all the replica at work is killed.
const MOMENTS: [usize; 5] = [5, 16, 28, 40, 50];
/// More than a cluster of one host takes on a busy machine.
const MADE: u64 = 420;
/// Another one is at it within this time, in seconds.
const GONE_ON: f64 = 60.0;

/// Makes the cluster of the lab. Returns those that are left.
pub fn at_five_moments(story: &OperatorStory<'_>, mut replicas: Vec<Operator>) -> Vec<Operator> {
    operate(&story.server, story.lab, "make", "cluster.yml");
    for (place, moment) in MOMENTS.into_iter().enumerate() {
        let attempt = place as u64 + 2;
        wait_for(&format!("{moment} steps"), MADE, || {
            assert!(!is_over(&status(&story.server, "make")), "it is over after {} steps", done(story).len());
            done(story).len() >= moment
        });
        let name = replica(&status(&story.server, "make"));
        let (killed, others): (Vec<Operator>, Vec<Operator>) = replicas.into_iter().partition(|operator| operator.name() == name);
        killed.into_iter().for_each(Operator::kill);
        let (since, steps) = (Instant::now(), done(story).len());
        replicas = others;
        replicas.push(story.replica(&format!("r{attempt}"), 8082 + u16::try_from(attempt).unwrap()));
        wait_for("the other replica", TAKEN_OVER, || status(&story.server, "make")["attempt"] == attempt);
        let taken = since.elapsed().as_secs_f64();
        println!("killed after {steps} steps: attempt {attempt} began after {taken:.1} s");
        assert!(taken <= GONE_ON, "{taken}");
    }
    wait_for("the end", MADE, || is_over(&status(&story.server, "make")));
    let made = status(&story.server, "make");
    let logs: String = replicas.iter().map(Operator::log).collect();
    assert_eq!((&made["phase"], &made["attempt"]), (&json!("Succeeded"), &json!(MOMENTS.len() + 1)), "{made:#}\n{logs}");
    no_step_was_done_twice(story);
    cluster::assert_serves(story.lab, DEFAULT_KUBERNETES_VERSION);
    operate(&story.server, story.lab, "again", "cluster.yml");
    wait_for("the end of what has nothing to do", MADE, || is_over(&status(&story.server, "again")));
    let again = status(&story.server, "again");
    assert_eq!((&again["phase"], &again["plan"]["changes"]), (&json!("Succeeded"), &json!(0)), "{again:#}");
    replicas
}

/// The steps that journals of all replicas say were done.
fn done(story: &OperatorStory<'_>) -> Vec<String> {
    let folders = fs::read_dir(story.kokctl.folder().join("states")).unwrap().map(|state| state.unwrap().path());
    let runs = folders.flat_map(|state| fs::read_dir(state.join("kubeonkube/kokctl/runs")).into_iter().flatten());
    let journals = runs.map(|run| fs::read_to_string(run.unwrap().path().join("events.jsonl")).unwrap_or_default());
    let text: String = journals.collect();
    // What was being written when its replica was killed is no line.
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|it| it["event"] == "step-done").map(|it| it["step"].as_str().unwrap().to_owned()).collect()
}

fn no_step_was_done_twice(story: &OperatorStory<'_>) {
    // A token is made for each run.
    let mut done: Vec<String> = done(story).into_iter().filter(|step| !step.contains("token")).collect();
    done.sort_unstable();
    let twice: Vec<_> = done.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    println!("{} steps in {} attempts, {} of them twice", done.len(), MOMENTS.len() + 1, twice.len());
    assert!(done.len() > 50 && twice.is_empty(), "twice: {twice:?}");
}

/// The cluster goes with its Cluster, also where etcd, kubelet and pods are at work.
pub fn a_cluster_goes_with_its_object(story: &OperatorStory<'_>, operators: &[Operator]) {
    let policy = json!({"spec": {"operator": {"deletionPolicy": "Reset"}}}).to_string();
    story.server.ok(&["patch", "kok", story.lab.name(), "--type=merge", "-p", &policy], "");
    let held = || !story.server.ok(&["get", "kok", "-o", "jsonpath={.items[0].metadata.finalizers}"], "").is_empty();
    wait_for("a Cluster that does not go by itself", HEARD, held);
    story.server.ok(&["delete", "kok", story.lab.name(), "--wait=false"], "");
    let took = is_gone(story, &operators[0], Instant::now());
    bare::assert_bare(story.lab);
    println!("deleted, Reset: a cluster that worked was gone after {took:.1} s, and its host is bare");
}
