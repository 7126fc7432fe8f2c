//! Hosts that say more than they may, and those beside them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::process::Command;

use kok_tasks::facts::Extent;
use kok_tasks::observe::{Look, PathState};

use super::*;
use crate::remote::Target;
use crate::remote::tests::harness::{Sshd, transport};

/// Says that a test has a process of its own: those beside it use memory too.
const ALONE: &str = "KOK_TEST_ALONE";
const NAME: &str = "run::probe::tests::hosts_that_say_too_much_are_named_and_leave_memory_and_others_alone";

/// A host that begins as it is told, and then talks without an end.
const BABBLES: &str = "MaxStartups 200\nForceCommand IFS= read -r first; eval \"$first\"; exec yes 0123456789abcdef0123456789abcdef\n";
const HOSTS: usize = 64;
/// Megabytes that may be taken meanwhile: a quarter of them is what answers may keep, and the rest is for what is on its way to them, a window of each host
/// with its packets. It took 240. If answers kept all that each of them may, it would be gigabytes.
const MOST: usize = 384;

/// What is asked of a worker, for the most part, with so many files that are read.
fn of_worker(read: usize) -> LookAt {
    let contents = (0..read).map(|number| Look::Content(format!("/etc/file{number}")));
    let files = (0..100).map(|number| Look::File { path: format!("/etc/other{number}"), expected: Some("0".repeat(64)) });
    let looks = contents.chain(files).chain([Look::Images, Look::Firewall, Look::Swap, Look::Unit("kubelet.service".to_owned())]);
    LookAt { looks: looks.collect(), facts: Some(Extent::Node) }
}

async fn link(name: &str, target: Target) -> (String, Arc<Link>) {
    let link = Link::open(Target { name: name.to_owned(), ..target }, &transport())
        .await
        .unwrap_or_else(|error| panic!("{error}: {:?}", error.because()));
    (name.to_owned(), Arc::new(link))
}

/// The most memory that this process ever had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[test]
fn hosts_that_say_too_much_are_named_and_leave_memory_and_others_alone() {
    if std::env::var_os(ALONE).is_some() {
        return tokio::runtime::Runtime::new().unwrap().block_on(babble());
    }
    let test = Command::new(std::env::current_exe().unwrap()).args(["--exact", NAME, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&test.stdout), String::from_utf8_lossy(&test.stderr));
    assert!(test.status.success() && said.contains("1 passed"), "{said}");
}

async fn babble() {
    let (babbler, honest) = (Sshd::with_config(BABBLES), Sshd::start());
    let mut links = Links::from([link("honest", honest.target()).await]);
    for number in 0..HOSTS {
        links.extend([link(&format!("w{number}"), babbler.target()).await]);
    }
    // Every second one may say ten times as much as the others.
    let read = |number: usize| if number.is_multiple_of(2) { 20 } else { 1000 };
    let mut asked: BTreeMap<String, LookAt> = (0..HOSTS).map(|number| (format!("w{number}"), of_worker(read(number)))).collect();
    let looks = [Look::Path("/etc/passwd".to_owned())].into_iter().collect();
    asked.insert("honest".to_owned(), LookAt { looks, facts: None });
    let (mut seen, began, before) = (Seen::default(), Instant::now(), peak());
    let failures = probe_all(&links, asked, &Controller::nobody(), &mut seen, &Events::new(Vec::new())).await.unwrap_err();

    assert!(matches!(seen.observations("honest").paths["/etc/passwd"], PathState::Present(_)));
    let mut named: Vec<&str> = failures.iter().map(|failure| failure.at.as_deref().unwrap()).collect();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named.len(), HOSTS, "{named:?}");
    for failure in &failures {
        let because = failure.because.as_deref().unwrap_or_default();
        assert!(failure.what.contains("says more than it was asked for"), "{failure}");
        assert!(because.contains("at the most") || because.contains("all hosts together"), "{failure}");
    }
    // It is heard of as soon as it is known, and not at the deadline.
    assert!(began.elapsed() < PROBE, "{:?}", began.elapsed());
    let (before, peak) = (before >> 20, peak() >> 20);
    assert!(peak < before + MOST, "{peak} MB, and {before} MB before");
}
