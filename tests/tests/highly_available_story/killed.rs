//! SIGKILL in the middle of a founding: `apply` goes on with the same authorities.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use kok_tests::lab::Lab;

use super::any;
use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{hosts, ok};

/// Repeats the moment of an earlier failure, as that test printed it.
const MOMENT: &str = "KOK_TEST_KILL_AT";

/// Authorities are made, sent, started with and joined within these changes, of some 270.
const LATEST: usize = 250;

pub fn at_a_random_moment(lab: &Lab, kokctl: &Kokctl<'_>) {
    let moment = std::env::var(MOMENT).map_or_else(|_| any((1..LATEST).collect()), |text| text.parse().unwrap());
    println!("apply is killed at {MOMENT}={moment} (changes that are done)");
    kill(kokctl, moment);
    let found = authorities(lab);
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} is ready: {} hosts, ", lab.name(), hosts(lab).len())), "{said}");
    let all = authorities(lab);
    assert_eq!(all.len(), 1, "the control planes have one authority: {all:?}");
    assert!(found.is_empty() || found == all, "the authority of the first run is the cluster's: {found:?}, {all:?}");
}

fn kill(kokctl: &Kokctl<'_>, after: usize) {
    let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle());
    let arguments = ["apply", "--json", "-f", manifest.to_str().unwrap(), "--bundle", bundle.to_str().unwrap()];
    let mut apply = kokctl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let done = |line: &String| line.contains("\"event\":\"step-done\"");
    let events = BufReader::new(apply.stdout.take().unwrap()).lines().map(Result::unwrap);
    let counted = events.filter(done).take(after).count();
    assert_eq!(counted, after, "apply ended before it could be killed");
    apply.kill().unwrap();
    assert_eq!(apply.wait().unwrap().code(), None, "apply had ended");
}

/// The different certificate authorities of all control planes that have one.
fn authorities(lab: &Lab) -> Vec<String> {
    let sum = |host| ok(&host, "sha256sum </etc/kubernetes/pki/ca.crt 2>/dev/null || echo none");
    let mut sums: Vec<String> = control_planes(lab).into_iter().map(sum).filter(|sum| !sum.contains("none")).collect();
    sums.sort();
    sums.dedup();
    sums
}
