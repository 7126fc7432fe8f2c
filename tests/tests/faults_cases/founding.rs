//! Three control planes and two workers, disturbed at points that are spread over all of their making. `apply` alone ends where a run ends
//! that nothing happened to.

use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};
use serde_json::Value;

use super::{Run, Story};
use crate::cluster_support::cluster;
use crate::cluster_support::snapshot::{assert_same, tree};
use crate::highly_available_story::etcd::members_are_those_of_the_file;

/// In equal parts of the changes of the whole.
const POINTS: usize = 20;

/// Longer than kokctl takes to find that a link is dead.
const AWAY: Duration = Duration::from_secs(25);

/// More than there can be: each point ends one run at the most.
const MOST_RUNS: usize = POINTS + 5;

/// kokctl is killed at each point, and the next run goes on with what it finds.
pub fn killed() {
    disturbed(|founding, _, mut run| {
        while run.next().map(|event| founding.heard(&event)).is_some() {
            if founding.comes_to_a_point() {
                run.kill();
                return false;
            }
        }
        founding.ends(run)
    });
}

/// The host on which a step begins is taken off the network at each point, and comes back to the run that is at work.
pub fn cut_off() {
    disturbed(|founding, story, mut run| {
        let mut away: Option<JoinHandle<()>> = None;
        while let Some(event) = run.next() {
            founding.heard(&event);
            let all_are_there = away.as_ref().is_none_or(JoinHandle::is_finished);
            if event["event"] == "step-started" && all_are_there && founding.comes_to_a_point() {
                let host = story.host(event["host"].as_str().unwrap());
                println!("{} is cut off at point {}, when {} begins", host.name(), founding.points, event["step"]);
                host.cut().unwrap();
                away = Some(comes_back(host));
            }
        }
        away.into_iter().for_each(|away| away.join().unwrap());
        founding.ends(run)
    });
}

fn comes_back(host: Host) -> JoinHandle<()> {
    thread::spawn(move || {
        thread::sleep(AWAY);
        host.heal().unwrap();
    })
}

/// How far the making of a cluster is.
#[derive(Default)]
struct Founding {
    /// Changes of the whole, by the plan of the first run.
    total: usize,
    /// Changes that are left, by the plan of the last run and what it has done since. What a run did that was killed before it could say so is
    /// known from the next one's plan only.
    left: usize,
    /// How many points it has come to.
    points: usize,
}

impl Founding {
    fn heard(&mut self, event: &Value) {
        match event["event"].as_str().unwrap() {
            "plan-made" => {
                self.left = usize::try_from(event["changes"].as_u64().unwrap()).unwrap();
                self.total = self.total.max(self.left);
            }
            "step-done" => self.left = self.left.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether it is at the next point: once for each.
    fn comes_to_a_point(&mut self) -> bool {
        let is_at = self.points < POINTS && self.total > 0 && (self.total - self.left) * (POINTS + 1) >= self.total * (self.points + 1);
        self.points += usize::from(is_at);
        is_at
    }

    /// A run that came to its end. Without the control plane that was asked it may have to give up; then another one goes on.
    fn ends(&self, run: Run<'_>) -> bool {
        let ended = run.end();
        println!("a run ended with {:?} after {} points", ended.code, self.points);
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.errors);
        ended.code == Some(0)
    }
}

/// Runs `apply`, each time with `disturb`, which says whether it came to its end, until it did.
fn disturbed(disturb: impl for<'a> Fn(&mut Founding, &'a Story<'a>, Run<'a>) -> bool) {
    let undisturbed = undisturbed();
    let lab = up();
    let story = Story::new(&lab);
    let (mut founding, mut runs) = (Founding::default(), 1);
    while !disturb(&mut founding, &story, story.start(&story.kokctl, &[])) {
        runs += 1;
        assert!(runs < MOST_RUNS, "no end after {} points", founding.points);
    }
    println!("{} points in {runs} runs", founding.points);
    assert_eq!(founding.points, POINTS, "not every point was come to");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    members_are_those_of_the_file(&lab, DEFAULT_KUBERNETES_VERSION);
    story.kokctl.has_nothing_to_do();
    assert_same(undisturbed, &tree(&lab), "the end has to be that of a run that nothing happened to");
}

fn up() -> Lab {
    Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"))
}

/// The same hosts after a run that nothing happened to.
fn undisturbed() -> &'static str {
    static TREE: OnceLock<String> = OnceLock::new();
    TREE.get_or_init(|| {
        let lab = up();
        Story::new(&lab).kokctl.converge("apply");
        tree(&lab)
    })
}
