//! Events for people: a line per host that shows what it does, or plain lines where standard error is no terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::failure::printable;
use super::status_line;
use crate::run::{Event, EventKind, Sink};

/// Shows the progress of a run on standard error.
pub struct Terminal {
    bars: Option<MultiProgress>,
    hosts: BTreeMap<String, HostLine>,
    steps: BTreeMap<String, (String, String)>,
    /// Steps of one script end together, and are told in one line.
    together: Option<Together>,
}

struct Together {
    host: String,
    milliseconds: u64,
    took: u64,
    titles: Vec<String>,
}

/// Steps of one script are reported one after the other without a pause; this is far below the time that any script takes.
const TOGETHER_MILLISECONDS: u64 = 20;

struct HostLine {
    bar: Option<ProgressBar>,
    waiting: BTreeMap<String, String>,
}

impl Terminal {
    /// With lines that are redrawn if `live`, else with one line per event.
    #[must_use]
    pub fn new(live: bool) -> Self {
        Self { bars: live.then(MultiProgress::new), hosts: BTreeMap::new(), steps: BTreeMap::new(), together: None }
    }

    fn say(&self, event: &Event, text: &str) {
        self.say_at(event.milliseconds, text);
    }

    fn say_at(&self, milliseconds: u64, text: &str) {
        let seconds = Duration::from_millis(milliseconds).as_secs_f64();
        let text = format!("{seconds:7.1}s  {}", printable(text));
        match &self.bars {
            Some(bars) => {
                let _ = bars.println(text);
            }
            None => status_line(&text),
        }
    }

    fn host(&mut self, host: &str) -> &mut HostLine {
        let bars = self.bars.as_ref();
        self.hosts.entry(host.to_owned()).or_insert_with(|| {
            let bar = bars.map(|bars| bars.add(ProgressBar::new_spinner()));
            if let Some(bar) = &bar {
                let style = ProgressStyle::with_template("{spinner} {prefix:12} {elapsed:>5}  {wide_msg}");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
                bar.set_prefix(host.to_owned());
                bar.enable_steady_tick(Duration::from_millis(120));
            }
            HostLine { bar, waiting: BTreeMap::new() }
        })
    }

    fn show(&mut self, host: &str, text: &str) {
        let text = printable(text);
        if let Some(bar) = &self.host(host).bar {
            bar.set_message(text);
        }
    }

    fn step_started(&mut self, step: &str, host: &str, title: &str, summary: &str) {
        self.steps.insert(step.to_owned(), (host.to_owned(), title.to_owned()));
        if self.bars.is_some() {
            self.show(host, &format!("{title}: {summary}"));
        }
    }

    fn step_waiting(&mut self, event: &Event, step: &str, host: &str, because: &str) {
        let line = self.host(host);
        if line.waiting.insert(step.to_owned(), because.to_owned()).as_deref() == Some(because) {
            return;
        }
        let first = because.lines().next().unwrap_or_default().to_owned();
        if self.bars.is_some() {
            self.show(host, &format!("waits: {first}"));
        } else {
            self.say(event, &format!("{host}: waits: {first}"));
        }
    }

    fn step_done(&mut self, event: &Event, step: &str, host: &str, took: u64) {
        let title = self.steps.get(step).map(|(_, title)| title.clone()).unwrap_or_default();
        self.host(host).waiting.remove(step);
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
        let seconds = Duration::from_millis(took).as_secs_f64();
        let text = match titles.as_slice() {
            [title] => format!("{host}: {title} ({seconds:.1} s)"),
            [first, .., last] => format!("{host}: {} changes, from {first} to {last} ({seconds:.1} s)", titles.len()),
            [] => return,
        };
        self.say_at(milliseconds, &text);
    }

    fn finish(&mut self) {
        for line in self.hosts.values() {
            if let Some(bar) = &line.bar {
                bar.finish_and_clear();
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
        match &event.kind {
            EventKind::RunStarted { verb, cluster, run, .. } => self.say(event, &format!("{verb} {cluster} (run {run})")),
            EventKind::BundleVerified { bytes } => self.say(event, &format!("bundle: {} MB verified", bytes / 1_000_000)),
            EventKind::HostProbed { host, connect_milliseconds, probe_milliseconds } => {
                self.say(event, &format!("{host}: connected in {connect_milliseconds} ms, probed in {probe_milliseconds} ms"));
            }
            EventKind::HostAsked { host, step, needed_by } => {
                self.say(event, &format!("{host}: not chosen, but asked: {needed_by} needs to know of {step}"));
            }
            EventKind::PlanMade { steps, changes } => self.say(event, &format!("plan: {changes} of {steps} steps change something")),
            EventKind::SecretsReady { made } => self.say(event, &format!("{made} certificates, keys and kubeconfigs ready")),
            EventKind::StepStarted { step, host, title, summary } => self.step_started(step, host, title, summary),
            EventKind::StepWaiting { step, host, because } => self.step_waiting(event, step, host, because),
            EventKind::StepProgress { step, bytes, total } => {
                if let Some((host, title)) = self.steps.get(step).cloned() {
                    self.show(&host, &format!("{title}: {} of {} MB", bytes / 1_000_000, total / 1_000_000));
                }
            }
            EventKind::StepDone { step, host, took_milliseconds } => self.step_done(event, step, host, *took_milliseconds),
            EventKind::StepFailed { step, error, .. } => self.say(event, &format!("FAILED {step}: {error}")),
            EventKind::StepBlocked { .. } | EventKind::StepPlanned { .. } => {}
            EventKind::RunRefused { .. } | EventKind::RunFinished { .. } => self.finish(),
        }
    }
}
