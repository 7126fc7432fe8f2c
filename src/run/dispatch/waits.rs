//! Conditions that are waited for: all of a host are looked at together, with a pause that grows while nothing moves. Among them are steps
//! that were done and of which the cluster could not say so yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kok_tasks::change::Verdict;
use kok_tasks::observe::{ApiServerState, EtcdState, Look, Looks, Observations};
use kok_tasks::operations::ControllersRun;
use kok_tasks::plan::{Step, StepId};

use tokio::time::Instant;

use super::super::hosts::{Hosts, OrderTrouble};
use super::super::schedule::Status;
use super::{Dispatcher, Message};
use crate::event::EventKind;

/// Looking again costs a host some milliseconds of its processor, a control plane some hundred; people can't tell a quarter of a second.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// While nothing moves, looking less often leaves the host to what it is waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What a host says by itself, such as that a file is there, costs it less than a start of kubectl: so long it is asked as often as at first. Most of what is
/// waited for comes about in that time.
const EAGER: Duration = Duration::from_secs(10);

/// Where more hosts than these are waited for, who looks has enough to do.
const FEW_HOSTS: usize = 2;

/// What takes longer than a healthy cluster needs is explained with the cluster's own warnings, and with what programs complain of: always
/// before it is told again that it takes long (30 s, a minute, two and so on).
const PATIENCE: Duration = Duration::from_secs(20);

/// The conditions that are waited for on one host.
#[derive(Default)]
pub(super) struct Wait {
    steps: BTreeMap<StepId, Step>,
    answers: BTreeMap<StepId, String>,
    /// What was said of those that were done, before the first of these looks.
    at_first: BTreeMap<StepId, String>,
    /// What the programs complained of that a step waits for, and how often that had been heard by then.
    words: BTreeMap<StepId, (u32, String)>,
    /// Whether the look that is under way asks what programs complained of.
    asks_words: bool,
    pause: Duration,
}

impl Wait {
    pub(super) fn ids(&self) -> impl Iterator<Item = &StepId> {
        self.steps.keys()
    }

    /// What was said of one of them last.
    pub(super) fn last_answer(&self, id: &StepId) -> Option<&str> {
        self.answers.get(id).or_else(|| self.at_first.get(id)).map(String::as_str)
    }

    /// Hears what the programs complain of that a step waits for, whenever the time has doubled: it changes from look to look, and would be said
    /// each time. Whether it was heard now.
    pub(super) fn hear(&mut self, id: &StepId, waited: Duration, words_now: impl FnOnce() -> String) -> bool {
        let Some(often) = (waited.as_secs() / PATIENCE.as_secs()).checked_ilog2() else { return false };
        if self.words.get(id).is_some_and(|(heard, _)| *heard > often) {
            return false;
        }
        let words = words_now();
        let is_heard = !words.is_empty();
        if is_heard {
            self.words.insert(id.clone(), (often + 1, words));
        }
        is_heard
    }

    /// What was heard of them last.
    pub(super) fn last_words(&self, id: &StepId) -> Option<String> {
        self.words.get(id).map(|(_, words)| words.clone())
    }
}

impl<H: Hosts> Dispatcher<'_, H> {
    /// Takes up conditions whose steps can begin.
    pub(super) fn begin_waits(&mut self) {
        while let Some(step) = self.schedule.next_wait() {
            self.started(step);
            self.to_look.insert(step.host.clone());
            let wait = self.waits.entry(step.host.clone()).or_default();
            wait.steps.insert(step.id.clone(), step.clone());
            wait.pause = Duration::ZERO;
        }
    }

    /// Looks again at a step that was done and of which the cluster could not say so, until it says what it is or the step's deadline is over.
    /// It is at work until then: nothing that needs it begins, and it is not done a second time.
    pub(super) fn look_again(&mut self, step: &Step, because: &str) {
        if self.stopping {
            return self.unheard(&step.id, because);
        }
        self.to_look.insert(step.host.clone());
        let wait = self.waits.entry(step.host.clone()).or_default();
        wait.steps.insert(step.id.clone(), step.clone());
        wait.at_first.insert(step.id.clone(), because.to_owned());
        wait.pause = FIRST_PAUSE;
    }

    /// Looks at all conditions of a host, after the pause that its last look asked for. One look at a time: the next one comes after it.
    pub(super) fn start_look(&mut self, host: &str) {
        let Some(wait) = self.waits.get_mut(host).filter(|wait| !wait.steps.is_empty() && !self.looking.contains(host)) else { return };
        let mut looks: Looks = wait.steps.values().flat_map(Step::looks).collect();
        let waited = wait.steps.keys().filter_map(|id| self.began.get(id)).map(Instant::elapsed).max();
        wait.asks_words = waited.is_some_and(|waited| waited > PATIENCE);
        if wait.asks_words {
            looks.extend(looks.asks_kubernetes().then_some(Look::Warnings));
            looks.extend(looks.have_last_words().then_some(Look::LastWords));
        }
        let (host, hosts, pause) = (host.to_owned(), Arc::clone(&self.hosts), wait.pause);
        self.looking.insert(host.clone());
        self.working.spawn(async move {
            // Not a wait for time to pass but the interval between two looks at a condition that has its own deadline.
            tokio::time::sleep(pause).await;
            let result = hosts.look(&host, looks).await;
            Message::Looked { host, result }
        });
    }

    /// Nobody looks at the conditions of a host any more.
    fn waits_in_vain(&mut self, host: &str, wait: &Wait, (because, is_away): (&str, bool)) {
        wait.ids().for_each(|id| self.fail(id, because, false));
        self.outcome.lost.extend(is_away.then(|| host.to_owned()));
        self.give_up(host, wait.ids().next());
    }

    /// Hears what a look saw.
    pub(super) fn take_look(&mut self, host: &str, result: Result<Observations, OrderTrouble>) {
        self.looking.remove(host);
        // Nothing is there any more if the run is being stopped.
        let Some(mut wait) = self.waits.remove(host) else { return };
        let seen = match result {
            Ok(seen) => {
                self.remember(host, &seen);
                Ok(Observations { kubelets_started: self.kubelets_started(), ..seen })
            }
            Err(OrderTrouble::Gone { because, is_away }) => return self.waits_in_vain(host, &wait, (&because, is_away)),
            Err(OrderTrouble::Held { because }) => return self.waits_in_vain(host, &wait, (&because, false)),
            // A look that failed says nothing of the condition: it is looked at again until the deadline.
            Err(OrderTrouble::Lost { because, .. } | OrderTrouble::Late { because } | OrderTrouble::Failed { because, .. }) => Err(because),
        };
        let before = wait.answers.clone();
        for (id, step) in std::mem::take(&mut wait.steps) {
            let Some(Reason { because, looked }) = self.still_waits(&step, &seen, wait.asks_words) else {
                // What is only begun once more has said why before.
                if self.schedule.status(&id) != Status::Pending {
                    wait.answers.remove(&id);
                    wait.words.remove(&id);
                }
                continue;
            };
            let waited = self.began.get(&id).map(Instant::elapsed).unwrap_or_default();
            let is_heard = seen.as_ref().is_ok_and(|seen| wait.hear(&id, waited, || self.hosts.redact(&last_words(&step, seen))));
            if looked && (is_heard || wait.answers.get(&id) != Some(&because)) {
                let (step, host, last_words) = (id.to_string(), host.to_owned(), wait.last_words(&id));
                self.events.send(EventKind::StepWaiting { step, host, because: because.clone(), last_words });
            }
            wait.answers.insert(id.clone(), because);
            wait.steps.insert(id, step);
        }
        // With one of them too many hosts may have failed.
        if self.stopping {
            return self.end_waits(&[wait]);
        }
        let is_cheap = || !wait.steps.values().flat_map(Step::looks).collect::<Looks>().asks_kubernetes();
        let waited = wait.steps.keys().filter_map(|id| self.began.get(id)).map(Instant::elapsed).max().unwrap_or_default();
        let looks_soon = before != wait.answers || (self.waits.len() < FEW_HOSTS && waited < EAGER && is_cheap());
        wait.pause = if looks_soon { FIRST_PAUSE } else { (wait.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE) };
        self.waits.insert(host.to_owned(), wait);
        self.to_look.insert(host.to_owned());
    }

    /// Decides about one condition: nothing is left of it if it has come about, or has not come about in time. Where a slow host has let the
    /// deadline pass before anybody asked why, it is asked once (`asked_words`): without that, a person would not know what to mend.
    fn still_waits(&mut self, step: &Step, seen: &Result<Observations, String>, asked_words: bool) -> Option<Reason> {
        let (because, looked) = match seen.as_ref().map(|seen| (step.diff(seen), seen)) {
            Ok((Verdict::Same, _)) => {
                self.done(&step.id);
                return None;
            }
            Ok((Verdict::Differs(_), _)) if self.is_until(&step.id) && self.acts_again(&step.id) => return None,
            Ok((Verdict::Differs(change), _)) if !change.assumed && !self.is_condition(&step.id) && !self.is_until(&step.id) => {
                self.still_to_do(&step.id, &change.because);
                return None;
            }
            // What keeps a pod is said with its name; the cluster's warnings are of something else.
            Ok((Verdict::Differs(change), _)) if self.is_until(&step.id) => (self.hosts.redact(&change.because), true),
            Ok((Verdict::Differs(change), seen)) => (self.hosts.redact(&with_warnings(&change.because, seen)), true),
            Ok((Verdict::Unseen, _)) => ("nobody looked".to_owned(), false),
            Err(failure) => (failure.clone(), true),
        };
        let waited = self.began.get(&step.id).map(Instant::elapsed).unwrap_or_default();
        let has_words = || step.looks().into_iter().collect::<Looks>().have_last_words();
        let asks_why = looked && seen.is_ok() && !asked_words && waited > PATIENCE && has_words();
        if waited >= step.deadline && !asks_why {
            let last_words = seen.as_ref().map(|seen| last_words(step, seen)).unwrap_or_default();
            let separator = if last_words.is_empty() { "" } else { "; " };
            let error = format!("after {} s: {because}{separator}{last_words}", waited.as_secs());
            let error = self.hosts.redact(&error);
            if !self.gives_up(&step.id, &error) {
                self.fail(&step.id, &error, false);
            }
            return None;
        }
        Some(Reason { because, looked })
    }
}

/// Why a condition is waited for any longer.
struct Reason {
    because: String,
    /// Whether that was seen: a condition that came to the others while they were looked at has not been looked at yet.
    looked: bool,
}

/// What the programs that a step waits for complained of last. What an API server that is ready, or a member of etcd of which nobody sees more,
/// complained of at some time is over.
pub(super) fn last_words(step: &Step, seen: &Observations) -> String {
    let looks: Looks = step.looks().into_iter().collect();
    let is_ready = seen.api_server == Some(ApiServerState::Ready);
    let is_over = |name: &str| match name {
        "kube-apiserver" => is_ready,
        _ if ControllersRun::is_over(name, seen) => true,
        "etcd" => is_ready && matches!(seen.etcd, None | Some(EtcdState::Ready(_))),
        _ => false,
    };
    let words = seen.last_words.iter().flatten().filter(|(name, _)| looks.have_last_words_of(name) && !is_over(name));
    words.map(|(name, complaint)| format!("{name} said last: {complaint}")).collect::<Vec<_>>().join("; ")
}

fn with_warnings(because: &str, seen: &Observations) -> String {
    match seen.warnings.as_deref().filter(|warnings| !warnings.is_empty()) {
        Some(warnings) => format!("{because}; the cluster's last warnings: {warnings}"),
        None => because.to_owned(),
    }
}
