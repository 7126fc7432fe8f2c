//! One process that makes two clusters at the same time, as an operator does: `tests/examples/two_clusters.rs`. What one of them is told, keeps and
//! remembers is not the other's.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use serde_json::{Value, json};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::up;

/// More than both take on a busy machine.
const DEADLINE_SECONDS: &str = "600";

#[test]
fn one_process_makes_two_clusters_and_is_cancelled_in_one_of_them() {
    let mut clock = Clock::start();
    let labs = [up(2), up(1)];
    let of_each = labs.each_ref().map(Kokctl::new);
    clock.lap("two labs");
    let report = made(&labs, &of_each);
    clock.lap("two clusters, and ten times nothing to do");
    let [first, second] = [&report["clusters"][0], &report["clusters"][1]];
    let nothing = || (0..10).map(|_| json!("nothing-to-do"));
    let endings = |first: &[&str]| Value::Array(first.iter().map(|ending| json!(ending)).chain(nothing()).collect());
    assert_eq!(first["endings"], endings(&["stopped", "complete"]), "{report:#}");
    assert_eq!(second["endings"], endings(&["complete"]), "{report:#}");
    assert_eq!((&first["hosts"], &second["hosts"]), (&json!(["cp1", "worker1"]), &json!(["cp1"])));
    assert_ne!(first["controller"], second["controller"]);
    for (lab, kokctl) in labs.iter().zip(&of_each) {
        keeps_its_own(kokctl.folder(), lab.name());
    }
    cluster::assert_serves(&labs[0], DEFAULT_KUBERNETES_VERSION);
    let ready = "get node cp1 -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'";
    assert_eq!(cluster::kubectl(&labs[1], ready), "True");
    stays_small(&report["memory"]);
    clock.lap("both serve");
}

/// Runs the program, which has to print nothing.
fn made(labs: &[Lab; 2], of_each: &[Kokctl<'_>; 2]) -> Value {
    let report = of_each[0].folder().join("report.json");
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", DEADLINE_SECONDS]).arg(program()).arg(&report).arg(of_each[0].bundle());
    for (lab, kokctl) in labs.iter().zip(of_each) {
        command.arg(lab.facts().unwrap().network_namespace).arg(kokctl.manifest()).arg(state_of(kokctl.folder()));
    }
    // The settings of who runs the tests must not decide.
    let output = command.env_remove("SSH_AUTH_SOCK").env("HOME", of_each[0].folder()).stdin(Stdio::null()).output().unwrap();
    let said = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
    assert!(output.status.success(), "{:?}: {said}", output.status);
    assert_eq!(said, "", "the engine prints nothing");
    serde_json::from_slice(&fs::read(report).unwrap()).unwrap()
}

fn state_of(folder: &Path) -> PathBuf {
    folder.join("state/kokctl")
}

/// The journals are of its own runs, and name no other cluster.
fn keeps_its_own(folder: &Path, cluster: &str) {
    let runs = fs::read_dir(state_of(folder).join("runs")).unwrap().map(|run| run.unwrap().path());
    let mut clusters = BTreeSet::new();
    for run in runs {
        let journal = fs::read_to_string(run.join("events.jsonl")).unwrap();
        let started: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
        clusters.insert(started["cluster"].as_str().unwrap().to_owned());
    }
    assert_eq!(clusters.into_iter().collect::<Vec<_>>(), [cluster]);
}

/// What the first rounds leave to the allocator is used again by the later ones.
fn stays_small(memory: &Value) {
    let memory: Vec<u64> = memory.as_array().unwrap().iter().map(|kilobytes| kilobytes.as_u64().unwrap()).collect();
    println!("memory after each round in kB: {memory:?}");
    let early = memory[..3].iter().max().unwrap();
    let late = memory[7..].iter().min().unwrap();
    assert!(memory.len() == 10 && late * 10 <= early * 11, "memory grows: {memory:?} kB");
}

/// Built beside this program, see `tests/make/stories.sh`.
fn program() -> PathBuf {
    let path = env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples/two_clusters");
    assert!(path.is_file(), "{} is not built: run `cargo build -p kok-tests --example two_clusters` first", path.display());
    path
}
