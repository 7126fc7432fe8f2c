//! Two controllers that want the same hosts.

use super::{HOSTS, Story, TASKS};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::up;

/// The second one is refused while the first is at work, also when that has died; it goes on where it is told to take over.
pub fn second_is_refused() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    // With a state of its own it is another machine as far as kokctl can see.
    let other = Kokctl::new(&lab);
    let mut first = story.apply();
    first.wait_for("step-started").expect("a run begins steps");
    is_refused(&story, &other);
    first.kill();
    is_refused(&story, &other);
    let ended = story.start(&other, &["--only", TASKS, "--take-over"]).end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    story.assert_ended_well();
    story.assert_containerd_was_started_once();
}

fn is_refused(story: &Story<'_>, other: &Kokctl<'_>) {
    let ended = story.start(other, &["--only", TASKS]).end();
    assert_eq!(ended.code, Some(3), "{}", ended.errors);
    for part in ["error: another kokctl is at work on these hosts", "because: the run ", "--take-over"] {
        assert!(ended.errors.contains(part), "{part:?} in {}", ended.errors);
    }
}

/// A controller stands still, as a virtual machine that is moved, and wakes up when another one has taken over: it does nothing more.
pub fn first_wakes_up_too_late() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    let other = Kokctl::new(&lab);
    let mut first = story.apply();
    first.wait_for("step-done").expect("a run does steps");
    first.signal("STOP");
    let second = story.start(&other, &["--only", TASKS, "--take-over"]).end();
    assert_eq!(second.code, Some(0), "{}", second.errors);
    first.signal("CONT");
    let ended = first.end();
    assert_ne!(ended.code, Some(0), "{}", ended.errors);
    assert!(ended.errors.contains("another run has taken the host over"), "{}", ended.errors);
    story.assert_ended_well();
    story.assert_containerd_was_started_once();
}
