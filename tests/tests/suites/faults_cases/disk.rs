//! File systems that do not take what is written.

use kok_tests::lab::Lab;

use super::shell::assert_plans;
use super::{HOSTS, Story};
use crate::bad_input_cases::{Expected, HOST, Refusals, assert_quick, assert_refused};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, fingerprint};
use crate::cluster_support::{ok, up};

/// What is known before is said before.
pub fn full_before(refusals: &Refusals<'_>) {
    let worker1 = refusals.host("worker1");
    worker1.fill("/usr/local").unwrap();
    refusals.kokctl.write_manifest(&refusals.manifest);
    let before = fingerprint(refusals.lab);
    let (said, took) = refusals.timed("apply", &["--bundle", refusals.kokctl.bundle().to_str().unwrap()]);
    let after = fingerprint(refusals.lab);
    worker1.free("/usr/local").unwrap();
    assert_same(&before, &after, "what is refused must not change anything");
    assert_quick(took, &said);
    let expected = Expected {
        what: "/usr/local has 0 MB free",
        at: "host worker1 (10.20.0.12)",
        because: "programs, images and their layers need",
        hint: "make room",
    };
    assert_refused(&said, HOST, &[expected]);
}

/// As a kernel leaves a disk that had errors.
pub fn read_only(refusals: &Refusals<'_>) {
    let worker1 = refusals.host("worker1");
    for (folder, what) in [("/usr/local", "/usr/local is read-only"), ("/usr/local/bin", "/usr/local/bin can't be written")] {
        ok(&worker1, &format!("mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && ! touch {folder}/probe"));
        let expected = Expected {
            what,
            at: "host worker1 (10.20.0.12)",
            because: &format!("{folder} is mounted with the option ro"),
            hint: &format!("mount -o remount,rw {folder}"),
        };
        refusals.refuses(&refusals.manifest, HOST, &[expected]);
        ok(&worker1, &format!("umount {folder}"));
    }
}

/// The disk of one host runs full when its run has begun. The other host does not suffer.
pub fn full() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    let worker1 = story.host("worker1");
    // A folder needs no room, but one that was made meanwhile would go when there is room again.
    ok(&worker1, "mkdir -p /opt/cni/bin");
    let mut run = story.apply();
    run.wait_for("plan-made").expect("there is room yet");
    worker1.fill("/opt/cni/bin").unwrap();
    let failed = run.wait_for("step-failed");
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    let failed = failed.expect("a step has to fail");
    assert_eq!(failed["host"], "worker1", "{failed}");
    assert!(failed["error"].as_str().unwrap().contains("No space left on device"), "{failed}");
    assert!(ended.errors.contains("No space left on device") && ended.errors.contains("worker1"), "{}", ended.errors);
    assert_eq!(ok(&story.host("cp1"), "ctr version >/dev/null && ls /opt/cni/bin/bridge"), "/opt/cni/bin/bridge", "the other host is done");
    worker1.free("/opt/cni/bin").unwrap();
    story.succeeds();
    story.assert_ended_well();
}

/// As on hardened machines.
pub fn no_programs_in_tmp(lab: &Lab, kokctl: &Kokctl<'_>, plan: &str) {
    let host = lab.host("worker1").unwrap();
    ok(&host, "mount -o remount,noexec,nosuid,nodev /tmp && printf '#!/bin/sh\\n' >/tmp/probe && chmod 755 /tmp/probe");
    assert!(!host.ssh(&["/tmp/probe"]).unwrap().success(), "noexec has to be in force");
    assert_plans(kokctl, plan);
}
