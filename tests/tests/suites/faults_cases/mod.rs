//! Runs that prepare bare hosts up to a running containerd, and what they have come to in the end, whatever was done to them.

pub mod away;
pub mod disk;
pub mod founding;
pub mod host_key;
pub mod killed;
pub mod link;
pub mod login;
pub mod never_up;
pub mod power;
pub mod reach;
pub mod rejoined;
pub mod shell;
pub mod taking;
pub mod upgraded;
pub mod writers;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, tree};
use crate::cluster_support::{each, hosts, up};

/// What is enough for a running container, and takes seconds where a cluster takes minutes.
pub const TASKS: &str = "host,time-sync,container-runtime";
/// Of the lab of every story.
pub const HOSTS: usize = 2;

/// Bare hosts, and what was done to them so far.
pub struct Story<'a> {
    pub lab: &'a Lab,
    pub kokctl: Kokctl<'a>,
    /// How often each step was done.
    done: Mutex<BTreeMap<String, usize>>,
}

/// A run of `apply` that is watched.
pub struct Run<'a> {
    story: &'a Story<'a>,
    child: Child,
    events: BufReader<ChildStdout>,
    errors: JoinHandle<String>,
}

/// How a run ended; the code is none where a signal ended it.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub errors: String,
}

impl<'a> Story<'a> {
    pub fn new(lab: &'a Lab) -> Self {
        Self { lab, kokctl: Kokctl::new(lab), done: Mutex::default() }
    }

    pub fn host(&self, name: &str) -> Host {
        self.lab.host(name).unwrap()
    }

    pub fn apply(&'a self) -> Run<'a> {
        self.start(&self.kokctl, &["--only", TASKS])
    }

    /// From a machine with a state of its own, or with other options.
    pub fn start(&'a self, kokctl: &Kokctl<'_>, more: &[&str]) -> Run<'a> {
        let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle().to_str().unwrap());
        let arguments = ["apply", "--json", "-f", manifest.to_str().unwrap(), "--bundle", bundle];
        let mut child = kokctl.command(&[&arguments, more].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).map(|_| text).unwrap()
        });
        let events = BufReader::new(child.stdout.take().unwrap());
        Run { story: self, child, events, errors }
    }

    /// Runs `apply` to its end, undisturbed; it has to succeed.
    pub fn succeeds(&self) {
        let ended = self.apply().end();
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
    }

    /// The hosts are as after a run that nothing happened to, and nothing was done twice.
    pub fn assert_ended_well(&self) {
        let said = self.kokctl.converge_with("apply", &["--only", TASKS]);
        assert!(said.starts_with("nothing to do"), "{said}");
        self.assert_nothing_was_done_twice();
        for host in hosts(self.lab) {
            is_clean(&host);
        }
        assert_same(undisturbed(), &tree(self.lab), "the end has to be that of a run that nothing happened to");
    }
}

impl Story<'_> {
    /// By the hosts' own word: what a run does not know to have done twice, it does not say. For hosts that were not restarted.
    pub fn assert_containerd_was_started_once(&self) {
        for host in hosts(self.lab) {
            let starts = host.journal().unwrap().matches("Started containerd.service").count();
            assert_eq!(starts, 1, "starts of containerd on {}", host.name());
        }
    }

    /// But for what is only waited for: a host that comes up again sets its clock again, and that changes nothing there.
    pub fn assert_nothing_was_done_twice(&self) {
        let done = self.done.lock().unwrap();
        let twice: Vec<_> = done.iter().filter(|(step, times)| **times > 1 && !step.ends_with("/time-sync/synchronised")).collect();
        assert!(twice.is_empty(), "done more than once: {twice:?}");
    }
}

impl Run<'_> {
    /// The next event; none at the end of the run.
    pub fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.events.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        // A run that is killed may leave half a line.
        let event: Value = serde_json::from_str(&line).ok()?;
        if event["event"] == "step-done" {
            let step = event["step"].as_str().unwrap().to_owned();
            *self.story.done.lock().unwrap().entry(step).or_default() += 1;
        }
        Some(event)
    }

    /// Events up to one of this kind; none where the run ends before.
    pub fn wait_for(&mut self, kind: &str) -> Option<Value> {
        loop {
            let event = self.next()?;
            if event["event"] == kind {
                return Some(event);
            }
        }
    }

    /// Ends it without a word, as a crash of the machine would, and takes what it had still said.
    pub fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.end()
    }

    pub fn end(mut self) -> Ended {
        while self.next().is_some() {}
        let code = self.child.wait().unwrap().code();
        Ended { code, errors: self.errors.join().unwrap() }
    }

    /// A signal to the run, by its name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

/// Nothing of a run is left but what it was for.
fn is_clean(host: &Host) {
    let [containerd, halves, jobs, failed, scratch] = each(
        host,
        [
            "systemctl is-active containerd.service; ctr version >/dev/null && echo answers",
            "find /etc /usr/local /opt /run/kokctl /var/lib/kokctl /var/lib/containerd -name '.kokctl-*'",
            "systemctl list-units --all --plain --no-legend 'kokctl-*'",
            "systemctl --failed --plain --no-legend",
            "ls -A /run/kokctl/jobs",
        ],
    );
    assert_eq!(containerd, "active\nanswers", "containerd on {}", host.name());
    for (what, found) in [("half-written files", halves), ("jobs", jobs), ("failed units", failed), ("files of jobs", scratch)] {
        assert_eq!(found, "", "{what} on {}", host.name());
    }
}

/// What hosts are like after a run that nothing happened to.
fn undisturbed() -> &'static str {
    static TREE: OnceLock<String> = OnceLock::new();
    TREE.get_or_init(|| {
        let lab = up(HOSTS);
        let story = Story::new(&lab);
        story.succeeds();
        tree(&lab)
    })
}
