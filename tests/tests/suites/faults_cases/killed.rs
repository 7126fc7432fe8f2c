//! kokctl is killed.

use super::{HOSTS, Story};
use crate::cluster_support::up;

/// Far more than there are boundaries; a run that makes no progress must not go on for ever.
const MOST_RUNS: usize = 300;

/// One run after the other is killed, each a little further: at every event before the first step, then in turn when a step begins
/// and when one is done.
pub fn at_every_boundary() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    for kind in ["run-started", "host-probed", "plan-made"] {
        let mut run = story.apply();
        run.wait_for(kind).unwrap_or_else(|| panic!("a run without {kind}"));
        run.kill();
    }
    let mut runs = 0;
    for kind in ["step-started", "step-done"].into_iter().cycle() {
        let mut run = story.apply();
        if run.wait_for(kind).is_none() {
            let ended = run.end();
            assert_eq!(ended.code, Some(0), "{}", ended.errors);
            break;
        }
        run.kill();
        runs += 1;
        assert!(runs < MOST_RUNS, "no end after {runs} runs");
    }
    println!("killed {runs} times");
    assert!(runs > 4, "a run of one step proves nothing");
    story.assert_ended_well();
    story.assert_containerd_was_started_once();
}

/// Somebody changes their mind. What is in flight is finished, and what was not begun is left.
pub fn interrupted() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    let mut run = story.apply();
    run.wait_for("step-started").expect("a run begins steps");
    run.signal("INT");
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "a run that was stopped did not do everything: {}", ended.errors);
    story.succeeds();
    story.assert_ended_well();
    story.assert_containerd_was_started_once();
}
