//! SIGKILL in the middle of a founding, and then a host off the network: `apply` goes on with the same authorities. `make test-faults` does each
//! at twenty points.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use kok_tests::lab::Lab;
use serde_json::Value;

use super::any;
use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{hosts, ok};

/// Repeats the moment of an earlier failure, as that test printed it.
const MOMENT: &str = "KOK_TEST_FOUNDING_KILL_AT";

/// Longer than kokctl takes to find that a link is dead.
const AWAY: Duration = Duration::from_secs(25);

/// Authorities are made, sent, started with and joined within so many of a hundred changes.
const LATEST: usize = 90;

pub fn at_a_random_moment(lab: &Lab, kokctl: &Kokctl<'_>) {
    let moment = std::env::var(MOMENT).map_or_else(|_| any((1..=LATEST).collect()), |text| text.parse().unwrap());
    println!("apply is killed at {MOMENT}={moment} (so many of a hundred changes are done)");
    kill(kokctl, moment);
    let found = authorities(lab);
    cut_off(lab, kokctl);
    kokctl.converge("apply");
    let all = authorities(lab);
    assert_eq!(all.len(), 1, "the control planes have one authority: {all:?}");
    assert!(found.is_empty() || found == all, "the authority of the first run is the cluster's: {found:?}, {all:?}");
}

fn begin(kokctl: &Kokctl<'_>) -> Child {
    let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle());
    let arguments = ["apply", "--json", "-f", manifest.to_str().unwrap(), "--bundle", bundle.to_str().unwrap()];
    let errors = File::create(errors(kokctl)).unwrap();
    kokctl.command(&arguments).stdout(Stdio::piped()).stderr(errors).spawn().unwrap()
}

fn errors(kokctl: &Kokctl<'_>) -> PathBuf {
    kokctl.folder().join("errors")
}

/// Somewhere in the run that follows, any host is silent for a while, and comes back. A run that needed it just then may have to give up.
fn cut_off(lab: &Lab, kokctl: &Kokctl<'_>) {
    let mut apply = begin(kokctl);
    let mut events = BufReader::new(apply.stdout.take().unwrap()).lines().map(Result::unwrap);
    let plan = events.by_ref().find(|line| line.contains("\"event\":\"plan-made\"")).expect("all hosts are there");
    let changes = changes(&plan);
    let host = any(hosts(lab));
    let after = any((0..changes * 9 / 10).collect());
    println!("{} is cut off after {after} changes of {changes}", host.name());
    let done = |line: &String| line.contains("\"event\":\"step-done\"");
    events.by_ref().filter(&done).take(after).for_each(drop);
    // Somebody has to read on, or the run would wait for that.
    let rest = thread::spawn(move || events.collect::<Vec<String>>());
    host.cut().unwrap();
    thread::sleep(AWAY);
    host.heal().unwrap();
    let rest = rest.join().unwrap();
    let changed = after > 0 || rest.iter().any(done);
    let code = apply.wait().unwrap().code();
    let errors = fs::read_to_string(errors(kokctl)).unwrap();
    kokctl.note(&errors);
    // A run that has not changed anything yet refuses to begin, and says so.
    let refused = code == Some(3) && !changed && errors.contains("nothing was changed");
    assert!(refused || matches!(code, Some(0 | 4)), "{code:?}: {:?}\n{errors}", rest.last());
}

fn kill(kokctl: &Kokctl<'_>, percent: usize) {
    let mut apply = begin(kokctl);
    let done = |line: &String| line.contains("\"event\":\"step-done\"");
    let mut events = BufReader::new(apply.stdout.take().unwrap()).lines().map(Result::unwrap);
    let changes = changes(&events.by_ref().find(|line| line.contains("\"event\":\"plan-made\"")).expect("all hosts are there"));
    let after = (changes * percent / 100).max(1);
    let counted = events.filter(done).take(after).count();
    assert_eq!(counted, after, "apply ended before it could be killed");
    apply.kill().unwrap();
    assert_eq!(apply.wait().unwrap().code(), None, "apply had ended");
    kokctl.note(&fs::read_to_string(errors(kokctl)).unwrap());
}

/// How many changes a plan has, as its event says.
fn changes(plan: &str) -> usize {
    let plan: Value = serde_json::from_str(plan).unwrap();
    usize::try_from(plan["changes"].as_u64().unwrap()).unwrap()
}

/// The different certificate authorities of all control planes that have one.
fn authorities(lab: &Lab) -> Vec<String> {
    let sum = |host| ok(&host, "sha256sum </etc/kubernetes/pki/ca.crt 2>/dev/null || echo none");
    let mut sums: Vec<String> = control_planes(lab).into_iter().map(sum).filter(|sum| !sum.contains("none")).collect();
    sums.sort();
    sums.dedup();
    sums
}
