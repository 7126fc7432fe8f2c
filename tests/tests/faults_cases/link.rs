//! The connections to a host break while a run is at work.

use std::time::Duration;

use super::{HOSTS, Story};
use crate::cluster_support::{hosts, up};

/// The least delay: it is not for the delay, but for the proxy, whose end cuts the connections through it.
const PROXY: Duration = Duration::from_millis(1);

/// Whenever a step begins or is done, the connections to its host are cut.
pub fn cut_at_every_boundary() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    hosts(&lab).iter().for_each(|host| host.lag(PROXY).unwrap());
    let (mut cuts, mut runs) = (0, 0);
    loop {
        let mut run = story.apply();
        runs += 1;
        while let Some(event) = run.next() {
            if event["event"] == "step-started" || event["event"] == "step-done" {
                story.host(event["host"].as_str().unwrap()).lag(PROXY).unwrap();
                cuts += 1;
            }
        }
        let ended = run.end();
        if ended.code == Some(0) {
            break;
        }
        println!("run {runs}: {}", ended.errors);
        assert!(runs < 10, "no end after {cuts} cuts: {}", ended.errors);
    }
    println!("cut {cuts} times in {runs} runs");
    assert_eq!(runs, 1, "a run outlives cuts");
    assert!(cuts > 10, "{cuts} cuts prove nothing");
    hosts(&lab).iter().for_each(|host| host.lag(Duration::ZERO).unwrap());
    story.assert_ended_well();
}
