//! Somebody changes their mind while hosts are being taken.

use std::time::{Duration, Instant};

use super::{HOSTS, Story, TASKS};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{ok, up};
use crate::lab_support::wait_for;

/// From now on somebody changes the record of the host's holder.
pub const HOLD_RECORD: &str =
    "mkdir -p -m 700 /run/kokctl && systemd-run --quiet --collect --unit=hold-record flock -x /run/kokctl/holder.lock sleep 300";

/// A run has come to where it takes the host, and waits for the record.
pub const IS_AWAITED: &str = "for n in $(seq 300); do cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q '[f]lock -x -w 20 7 ' && exit 0; \
                              sleep 0.1; done; exit 1";

/// An earlier script is at work from now on, and the run that waits for the record has it, and waits for that script.
const HOLD_HOST: &str = "systemd-run --quiet --collect --unit=hold-host flock -x /run/kokctl/lock sleep 300 && \
                         for n in $(seq 100); do flock -n -x /run/kokctl/lock true || break; sleep 0.1; done; \
                         systemctl stop hold-record.service && for n in $(seq 100); do grep -q run= /var/lib/kokctl/holder && exit 0; \
                         sleep 0.1; done; exit 1";

/// Ends in good order while an earlier script is waited for, and holds nothing afterwards; where it can't let go it says so.
pub fn interrupted() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    let cp1 = story.host("cp1");
    ok(&cp1, HOLD_RECORD);
    is_said_to_be_held(&story);
    ok(&cp1, "systemctl stop hold-record.service");
    ok(&cp1, HOLD_RECORD);
    let mut run = story.apply();
    run.wait_for("plan-made").expect("nothing is in its way yet");
    ok(&cp1, IS_AWAITED);
    ok(&cp1, HOLD_HOST);
    let began = Instant::now();
    run.signal("INT");
    assert!(run.wait_for("warning").is_none(), "the hosts are let go");
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    wait_for("nobody waits for the host any more", 20, || ok(&cp1, "pgrep -x flock -a | grep -c ' -w '; true").trim() == "0");
    assert_eq!(ok(&cp1, "cat /var/lib/kokctl/holder 2>/dev/null; true"), "");
    ok(&cp1, "systemctl stop hold-host.service");
    // Somebody elsewhere is not refused.
    let other = story.start(&Kokctl::new(&lab), &["--only", TASKS]).end();
    assert_eq!(other.code, Some(0), "{}", other.errors);
    story.assert_ended_well();
    story.assert_containerd_was_started_once();
}

fn is_said_to_be_held(story: &Story<'_>) {
    let mut run = story.apply();
    run.wait_for("plan-made").expect("nothing is in its way yet");
    ok(&story.host("cp1"), IS_AWAITED);
    run.signal("INT");
    let warning = run.wait_for("warning").expect("the record could not be had");
    assert_eq!((&warning["at"], &warning["because"]), (&"host cp1".into(), &"its holder is being changed".into()), "{warning}");
    assert_eq!(run.end().code, Some(4));
}
