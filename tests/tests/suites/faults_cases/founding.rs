//! Three control planes and two workers, disturbed at points that are spread over all of their making. `apply` alone ends where a run ends
//! that nothing happened to.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};
use serde_json::Value;

use super::{Run, Story};
use crate::cluster_support::cluster;
use crate::cluster_support::snapshot::{assert_same, tree};
use crate::highly_available_story::etcd::members_are_those_of_the_file;

/// One in each of as many equal parts of the changes of the whole, but for the first part.
const POINTS: usize = 20;

/// Longer than kokctl takes to find that a link is dead.
const AWAY: Duration = Duration::from_secs(25);

/// More than there can be: each point ends one run at the most.
const MOST_RUNS: usize = POINTS + 5;

/// A run that is killed may have done more than it could say, and be past a point by then; that is come to in another cluster.
const MOST_CLUSTERS: usize = 8;

/// While one host is away the others go on, and many changes take less than that: cuts lie closer together than kills.
const LEAST_PARTS: usize = 5;

/// kokctl is killed at each point, and the next run goes on with what it finds.
pub fn killed() {
    disturbed(|founding, _, mut run| {
        while let Some(event) = run.next() {
            founding.heard(&event);
            // A plan alone is nothing that could be interrupted.
            if event["event"] == "step-done" && founding.comes_to_a_point() {
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
            if event["event"] == "step-started" && all_are_there && founding.comes_to_a_point_or_past_it() {
                let host = story.host(event["host"].as_str().unwrap());
                println!("{} is cut off in part {}, when {} begins", host.name(), founding.point(), event["step"]);
                founding.parts.insert(founding.point());
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
    /// The points at which nobody was disturbed yet.
    open: BTreeSet<usize>,
    /// In which parts of the whole a host was cut off.
    parts: BTreeSet<usize>,
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

    /// In which part of the whole it is.
    fn point(&self) -> usize {
        (self.total - self.left) * (POINTS + 1) / self.total.max(1)
    }

    /// Whether it is at a point at which nobody was disturbed yet: once for each.
    fn comes_to_a_point(&mut self) -> bool {
        let point = self.point();
        self.open.remove(&point)
    }

    /// The same, also where it has gone past that point while nobody could be disturbed.
    fn comes_to_a_point_or_past_it(&mut self) -> bool {
        let next = self.open.first().copied().filter(|point| self.total > 0 && *point <= self.point());
        next.is_some_and(|point| self.open.remove(&point))
    }

    /// A run that came to its end. Without the control plane that was asked it may have to give up; then another one goes on.
    fn ends(&self, run: Run<'_>) -> bool {
        let ended = run.end();
        println!("a run ended with {:?}, with hosts cut off in {:?}", ended.code, self.parts);
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.errors);
        ended.code == Some(0)
    }
}

/// Makes clusters, disturbed by `disturb`, which says whether a run came to its end, until that has happened at every point.
fn disturbed(disturb: impl for<'a> Fn(&mut Founding, &'a Story<'a>, Run<'a>) -> bool) {
    let undisturbed = undisturbed();
    let mut open: BTreeSet<usize> = (1..=POINTS).collect();
    for _ in 0..MOST_CLUSTERS {
        let before = open.len();
        open = a_cluster(open, &disturb, undisturbed);
        println!("{} points in this cluster, and these are left: {open:?}", before - open.len());
        if open.is_empty() {
            return;
        }
    }
    panic!("no run came to these points: {open:?}");
}

/// Runs `apply` until one comes to its end. Returns the points that no run came to.
fn a_cluster(
    open: BTreeSet<usize>,
    disturb: &impl for<'a> Fn(&mut Founding, &'a Story<'a>, Run<'a>) -> bool,
    undisturbed: &str,
) -> BTreeSet<usize> {
    let lab = up();
    let story = Story::new(&lab);
    let (mut founding, mut runs) = (Founding { open, ..Founding::default() }, 1);
    while !disturb(&mut founding, &story, story.start(&story.kokctl, &[])) {
        runs += 1;
        assert!(runs < MOST_RUNS, "no end, and these points are left: {:?}", founding.open);
    }
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    members_are_those_of_the_file(&lab, DEFAULT_KUBERNETES_VERSION);
    story.kokctl.has_nothing_to_do();
    assert_same(undisturbed, &tree(&lab), "the end has to be that of a run that nothing happened to");
    let all = founding.open.is_empty() && !founding.parts.is_empty();
    assert!(!all || founding.parts.len() >= LEAST_PARTS, "hosts were cut off in {:?} only", founding.parts);
    founding.open
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
