//! A host does not answer for longer than a link may be silent, while a run is at work.

use std::thread;
use std::time::{Duration, Instant};

use kok_tests::lab::Host;

use super::{HOSTS, Story};
use crate::cluster_support::up;

/// Longer than kokctl takes to find that a link is dead.
const AWAY: Duration = Duration::from_secs(25);

/// Packets are lost for longer than a link may be silent, as when a switch restarts.
pub fn network() {
    disturbed(|host| {
        host.cut().unwrap();
        thread::sleep(AWAY);
        host.heal().unwrap();
    });
}

/// A virtual machine that is moved stands still, and then goes on as if nothing had been.
pub fn paused() {
    disturbed(|host| {
        host.pause().unwrap();
        thread::sleep(AWAY);
        host.resume().unwrap();
    });
}

/// A run with this fault on one host when its containerd is being installed: it ends well by itself.
fn disturbed(fault: impl FnOnce(&Host)) {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    let mut run = story.apply();
    let worker1 = story.host("worker1");
    loop {
        let event = run.wait_for("step-started").expect("a run begins steps");
        if event["host"] == "worker1" && event["step"].as_str().unwrap().contains("container-runtime") {
            break;
        }
    }
    let began = Instant::now();
    fault(&worker1);
    let ended = run.end();
    println!("the run ended {:.1} s after the fault began, with {:?}", began.elapsed().as_secs_f64(), ended.code);
    assert_eq!(ended.code, Some(0), "a run outlives it: {}", ended.errors);
    story.assert_ended_well();
    story.assert_containerd_was_started_once();
}
