//! Events for people: lines that stay, and below them, where standard error is a terminal, a board that is redrawn.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_crds::{count, counted};

use super::board::Board;
use super::live::Live;
use super::trouble::{note, trouble, warnings};
use super::{duration, status_line};
use crate::event::{Event, EventKind, FailureRecord, Sink};
use crate::failure::printable;

/// Shows the progress of a run on standard error.
pub struct Terminal {
    live: Option<Live>,
    board: Board,
    steps: BTreeMap<String, String>,
    waiting: BTreeMap<String, String>,
    probed: Vec<(String, u64, u64)>,
    /// Each host has its own, one after the other; they are told together.
    warnings: Vec<FailureRecord>,
    /// Steps of one script end together, and are told in one line.
    together: Option<Together>,
    is_reset: bool,
    /// Whether the run has ended: what is said after that is followed by nothing.
    is_over: bool,
    /// When a line about the whole run was written last.
    summary_at: u64,
}

struct Together {
    host: String,
    milliseconds: u64,
    took: u64,
    titles: Vec<String>,
}

/// Steps of one script are reported one after the other without a pause; this is far below the time that any script takes.
const TOGETHER_MILLISECONDS: u64 = 20;

/// With more hosts than this a line for each step, or each host, is read by nobody.
const MOST_HOSTS_IN_LINES: usize = 20;

/// Without a board, a large fleet is summed up this often.
const SUMMARY_MILLISECONDS: u64 = 10_000;

impl Terminal {
    /// With a board that is redrawn if `live`, else with lines only.
    #[must_use]
    pub fn new(live: bool) -> Self {
        Self {
            live: live.then(Live::start),
            board: Board::default(),
            steps: BTreeMap::new(),
            waiting: BTreeMap::new(),
            probed: Vec::new(),
            warnings: Vec::new(),
            together: None,
            is_reset: false,
            is_over: false,
            summary_at: 0,
        }
    }

    fn say(&self, event: &Event, text: &str) {
        self.say_at(event.milliseconds, text);
    }

    fn say_at(&self, milliseconds: u64, text: &str) {
        let seconds = Duration::from_millis(milliseconds).as_secs_f64();
        let text = format!("{seconds:7.1}s  {}", printable(text));
        match &self.live {
            Some(live) => live.println(&text),
            None => status_line(&text),
        }
    }

    fn with_board<T>(&mut self, work: impl Fn(&mut Board) -> T) -> T {
        match &self.live {
            Some(live) => live.with(work),
            None => work(&mut self.board),
        }
    }

    /// Whether each step gets a line that stays: where no board shows it, and not for a large fleet.
    fn lines_for_steps(&self) -> bool {
        self.live.is_none() && self.board.hosts.len() <= MOST_HOSTS_IN_LINES
    }

    fn tell_probes(&mut self) {
        let mut probed = std::mem::take(&mut self.probed);
        let text = |(host, connect, probe): &(String, u64, u64)| format!("{host}: connected in {connect} ms, probed in {probe} ms");
        if probed.len() <= MOST_HOSTS_IN_LINES {
            probed.iter().for_each(|one| self.say_at(self.summary_at, &text(one)));
        } else {
            probed.sort_by_key(|(_, connect, probe)| connect + probe);
            if let (Some(last), number) = (probed.last(), probed.len()) {
                self.say_at(self.summary_at, &format!("{} probed; the slowest: {}", count(number, "host"), text(last)));
            }
        }
    }

    fn tell_warnings(&mut self, milliseconds: u64) {
        let taken = std::mem::take(&mut self.warnings);
        warnings(&taken).iter().for_each(|text| self.say_at(milliseconds, text));
    }

    fn step_waiting(&mut self, event: &Event, step: &str, host: &str, because: &str) {
        if self.waiting.insert(step.to_owned(), because.to_owned()).as_deref() != Some(because) && self.lines_for_steps() {
            let title = self.steps.get(step).map(String::as_str).unwrap_or(step);
            self.say(event, &format!("{host}: {title}: waits: {}", because.lines().next().unwrap_or_default()));
        }
    }

    fn step_done(&mut self, event: &Event, step: &str, host: &str, took: u64) {
        let title = self.steps.remove(step).unwrap_or_default();
        self.waiting.remove(step);
        let ended = self.with_board(|board| board.hosts.get(host).filter(|state| state.is_done()).map(|state| state.done));
        if self.lines_for_steps() {
            self.gather(event, host, took, title);
        } else if let Some(done) = ended {
            self.say(event, &format!("{host}: {} done", count(done, "change")));
        }
    }

    fn gather(&mut self, event: &Event, host: &str, took: u64, title: String) {
        match &mut self.together {
            Some(together) if together.host == host && event.milliseconds <= together.milliseconds + TOGETHER_MILLISECONDS => {
                together.titles.push(title);
            }
            _ => {
                self.tell_together();
                let (host, milliseconds) = (host.to_owned(), event.milliseconds);
                self.together = Some(Together { host, milliseconds, took, titles: vec![title] });
            }
        }
    }

    fn tell_together(&mut self) {
        let Some(Together { host, milliseconds, took, titles }) = self.together.take() else { return };
        let took = duration(took);
        let text = match titles.as_slice() {
            [title] => format!("{host}: {title} ({took})"),
            [first, .., last] => format!("{host}: {}, from {first} to {last} ({took})", count(titles.len(), "change")),
            [] => return,
        };
        self.say_at(milliseconds, &text);
    }

    /// A large fleet without a board.
    fn sum_up(&mut self, milliseconds: u64) {
        let large = self.live.is_none() && self.board.hosts.len() > MOST_HOSTS_IN_LINES;
        if large && !self.board.over && milliseconds >= self.summary_at + SUMMARY_MILLISECONDS {
            self.summary_at = milliseconds;
            self.say_at(milliseconds, &self.board.summary(milliseconds));
        }
    }

    fn tell(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { verb, cluster, run, part, .. } => {
                self.is_reset = verb == "reset";
                let part = part.as_ref().map(|part| format!(" {part}")).unwrap_or_default();
                self.say(event, &format!("{verb} {cluster}{part} (run {run})"));
            }
            EventKind::BundleVerified { bytes } => self.say(event, &format!("bundle: {} MB verified", bytes / 1_000_000)),
            EventKind::HostProbed { host, connect_milliseconds, probe_milliseconds } => {
                self.summary_at = event.milliseconds;
                self.probed.push((host.clone(), *connect_milliseconds, *probe_milliseconds));
            }
            EventKind::HostAsked { host, step, needed_by } => {
                self.say(event, &format!("{host}: not chosen, but asked: {needed_by} needs to know of {step}"));
            }
            EventKind::Warning(warning) => self.warnings.push(warning.clone()),
            EventKind::PlanMade { steps, changes } => {
                let verb = if *changes == 1 { "changes" } else { "change" };
                self.say(event, &format!("plan: {changes} of {} {verb} something", count(*steps, "step")));
            }
            EventKind::PlanDropped { because } => self.say(event, &format!("{because}: looks at the hosts again, and plans anew")),
            EventKind::SecretsReady { made } => {
                let made = counted(*made, "certificate, key or kubeconfig", "certificates, keys and kubeconfigs");
                self.say(event, &format!("{made} ready"));
            }
            EventKind::StepStarted { step, host, title, .. } => {
                self.steps.insert(step.clone(), title.clone());
                // A reset is one step of each host, and takes minutes.
                if self.is_reset && self.lines_for_steps() {
                    self.say(event, &format!("{host}: begins: {title}"));
                }
            }
            EventKind::StepWaiting { step, host, because, .. } => self.step_waiting(event, step, host, because),
            EventKind::StepDone { step, host, took_milliseconds } => self.step_done(event, step, host, *took_milliseconds),
            EventKind::StepFailed { step, error, .. } => self.say(event, &format!("FAILED {step}: {error}")),
            EventKind::StepProgress { .. } | EventKind::StepBlocked { .. } | EventKind::StepPlanned { .. } => {}
            EventKind::RunRefused { .. } | EventKind::RunFinished { .. } => (self.live, self.is_over) = (None, true),
            other => {
                note(other).iter().for_each(|text| status_line(text));
                trouble(other).iter().for_each(|text| self.say(event, text));
            }
        }
    }
}

impl Sink for Terminal {
    fn take(&mut self, event: &Event) {
        // A step that starts says nothing by itself; anything else that is said comes after what was done before it.
        if !matches!(event.kind, EventKind::StepDone { .. } | EventKind::StepStarted { .. } | EventKind::StepProgress { .. }) {
            self.tell_together();
        }
        if !matches!(event.kind, EventKind::HostProbed { .. }) {
            self.tell_probes();
        }
        if !matches!(event.kind, EventKind::Warning(_)) {
            self.tell_warnings(event.milliseconds);
        }
        self.with_board(|board| board.take(event));
        self.tell(event);
        if self.is_over {
            self.tell_warnings(event.milliseconds);
        }
        self.sum_up(event.milliseconds);
    }

    fn tick(&mut self, milliseconds: u64) {
        if self.live.is_some() || self.is_over {
            return;
        }
        if self.together.as_ref().is_some_and(|together| milliseconds > together.milliseconds + TOGETHER_MILLISECONDS) {
            self.tell_together();
        }
        let overdue = self.board.overdue(milliseconds);
        if self.lines_for_steps() {
            overdue.iter().for_each(|text| self.say_at(milliseconds, text));
        } else {
            self.sum_up(milliseconds);
        }
    }
}
