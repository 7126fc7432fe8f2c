//! What the events of a run amount to: how each step ended, and the run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::runs::Story;
use crate::event::{EventKind, FailureRecord, Lane};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Everything that was planned is done.
    Done,
    /// Nothing was to do.
    NothingToDo,
    /// Something failed, or was not begun.
    Incomplete,
    /// Nothing was begun.
    Refused,
    /// It has not ended yet.
    AtWork,
    /// The process ended without a word.
    Died,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", rename_all_fields = "camelCase")]
pub enum Fate {
    /// It was done, and a second look confirmed it.
    Done,
    /// It failed.
    Failed {
        /// Why.
        error: String,
        /// Whether it may have been done all the same.
        unknown: bool,
    },
    /// It was begun, and nobody heard how it ended.
    InDoubt,
    /// It was not begun.
    NotBegun,
}

/// A step of a run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// Its name.
    pub step: String,
    /// Its host.
    pub host: String,
    /// Its task.
    pub task: String,
    /// What it is.
    pub title: String,
    /// What it was to do.
    pub summary: String,
    /// How it was done.
    pub lane: Lane,
    /// The steps that had to be done before it.
    pub needs: Vec<String>,
    /// When it was begun, in milliseconds of the run.
    pub began: Option<u64>,
    /// When it ended.
    pub ended: Option<u64>,
    /// How it ended.
    pub fate: Fate,
    /// What it printed, if it is a script of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// A run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Its name.
    pub run: String,
    /// The verb.
    pub verb: String,
    /// The cluster.
    pub cluster: String,
    /// When it began, RFC 3339.
    pub time: String,
    /// `user@machine`.
    pub who: String,
    /// Version of kokctl.
    pub version: String,
    /// The part of the cluster that was meant.
    pub part: Option<String>,
    /// How it ended.
    pub ending: Ending,
    /// Why it was ended before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// How long it took, or how far its journal goes, in milliseconds.
    pub took_milliseconds: u64,
    /// Why it was refused.
    pub refused: Vec<FailureRecord>,
    /// Ends of what comes before the first change, in milliseconds of the run: `planned`, `bundle verified`, `certificates made`.
    pub marks: Vec<(&'static str, u64)>,
    /// Its changes.
    pub steps: Vec<StepRecord>,
    /// Steps that were done, and those that were not begun, of which a copy of its journal says no more than how many there were.
    pub left_out: (usize, usize),
}

impl Record {
    /// Reads the events of a run.
    #[must_use]
    pub fn from_story(story: &Story) -> Self {
        let mut record = Self::empty(story);
        let mut by_name: BTreeMap<String, StepRecord> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for event in &story.events {
            record.took_milliseconds = event.milliseconds;
            match &event.kind {
                EventKind::StepPlanned { step, .. } => order.push(step.clone()),
                EventKind::PlanDropped { .. } => (order, by_name) = Default::default(),
                _ => {}
            }
            record.take(&event.kind, event.milliseconds);
            take_step(&mut by_name, &event.kind, event.milliseconds);
        }
        record.steps = order.iter().filter_map(|step| by_name.remove(step)).collect();
        // A run that was left at once ends in good order, but what was at work then is in doubt, if it is all that there was to do too.
        if matches!(record.ending, Ending::Done | Ending::NothingToDo) && record.count(|fate| *fate != Fate::Done) > 0 {
            record.ending = Ending::Incomplete;
        }
        record
    }

    /// How many of its steps came to this end.
    #[must_use]
    pub fn count(&self, is: impl Fn(&Fate) -> bool) -> usize {
        self.steps.iter().filter(|step| is(&step.fate)).count()
    }

    fn empty(story: &Story) -> Self {
        Self {
            run: story.id.clone(),
            verb: String::new(),
            cluster: String::new(),
            time: String::new(),
            who: String::new(),
            version: String::new(),
            part: None,
            ending: if story.alive { Ending::AtWork } else { Ending::Died },
            stopped: None,
            took_milliseconds: 0,
            refused: Vec::new(),
            marks: Vec::new(),
            steps: Vec::new(),
            left_out: (0, 0),
        }
    }

    fn take(&mut self, kind: &EventKind, milliseconds: u64) {
        match kind {
            EventKind::RunStarted { verb, cluster, time, version, who, part, .. } => {
                [&mut self.verb, &mut self.cluster, &mut self.time, &mut self.version, &mut self.who]
                    .into_iter()
                    .zip([verb, cluster, time, version, who])
                    .for_each(|(own, given)| own.clone_from(given));
                self.part.clone_from(part);
            }
            EventKind::PlanMade { .. } => self.marks.push(("connected, probed and planned", milliseconds)),
            EventKind::BundleVerified { .. } => self.marks.push(("bundle verified", milliseconds)),
            EventKind::SecretsReady { .. } => self.marks.push(("certificates made", milliseconds)),
            EventKind::StepsLeftOut { done, not_begun } => self.left_out = (*done, *not_begun),
            EventKind::RunRefused { failures, .. } => {
                self.ending = Ending::Refused;
                self.refused.clone_from(failures);
            }
            EventKind::RunFinished { done, failed, blocked, stopped, .. } => {
                self.stopped.clone_from(stopped);
                self.ending = match (done, failed + blocked) {
                    (0, 0) if stopped.is_none() => Ending::NothingToDo,
                    (1.., 0) => Ending::Done,
                    _ => Ending::Incomplete,
                };
            }
            _ => {}
        }
    }
}

fn take_step(by_name: &mut BTreeMap<String, StepRecord>, kind: &EventKind, milliseconds: u64) {
    let ended = |step: Option<&mut StepRecord>, fate: Fate| {
        if let Some(step) = step {
            (step.fate, step.ended) = (fate, Some(milliseconds));
        }
    };
    match kind {
        EventKind::StepPlanned { step, host, task, title, summary, lane, needs } => {
            let (began, ended) = (None, None);
            let (host, task, title, summary, needs) = (host.clone(), task.clone(), title.clone(), summary.clone(), needs.clone());
            let (step, lane, fate, said) = (step.clone(), *lane, Fate::NotBegun, None);
            by_name.insert(step.clone(), StepRecord { step, host, task, title, summary, lane, needs, began, ended, fate, said });
        }
        EventKind::StepStarted { step, .. } => {
            if let Some(step) = by_name.get_mut(step) {
                // A step that is begun again has cost the time since its first beginning.
                step.began.get_or_insert(milliseconds);
                (step.fate, step.ended) = (Fate::InDoubt, None);
            }
        }
        EventKind::StepRenewed { step, .. } => {
            if let Some(step) = by_name.get_mut(step) {
                (step.fate, step.began, step.ended) = (Fate::NotBegun, None, None);
            }
        }
        EventKind::HookSaid { step, said, .. } => {
            if let Some(step) = by_name.get_mut(step) {
                step.said = Some(said.clone());
            }
        }
        EventKind::StepDone { step, .. } => ended(by_name.get_mut(step), Fate::Done),
        EventKind::StepFailed { step, error, unknown, .. } => {
            ended(by_name.get_mut(step), Fate::Failed { error: error.clone(), unknown: *unknown });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    fn record(kinds: Vec<EventKind>) -> Record {
        let events = (0..).zip(kinds).map(|(sequence, kind)| Event { sequence, milliseconds: sequence, kind }).collect();
        Record::from_story(&Story { id: "r".to_owned(), events, unknown: 0, alive: false })
    }

    fn planned() -> EventKind {
        EventKind::StepPlanned {
            step: "a/b/c".to_owned(),
            host: "a".to_owned(),
            task: "b".to_owned(),
            title: "c".to_owned(),
            summary: "write".to_owned(),
            lane: Lane::Script,
            needs: Vec::new(),
        }
    }

    fn started() -> EventKind {
        let (step, host, title, summary) = ("a/b/c".to_owned(), "a".to_owned(), "c".to_owned(), "write".to_owned());
        EventKind::StepStarted { step, host, title, summary }
    }

    fn finished(done: usize, blocked: usize) -> EventKind {
        ended(done, blocked, None)
    }

    fn ended(done: usize, blocked: usize, stopped: Option<&str>) -> EventKind {
        let stopped = stopped.map(str::to_owned);
        EventKind::RunFinished {
            done,
            failed: 0,
            blocked,
            stopped,
            failed_hosts: Vec::new(),
            not_begun: BTreeMap::new(),
            took_milliseconds: 9,
        }
    }

    #[test]
    fn a_plan_that_was_dropped_is_not_what_the_run_did() {
        let dropped = EventKind::PlanDropped { because: "the hosts changed hands".to_owned() };
        let done = EventKind::StepDone { step: "a/b/c".to_owned(), host: "a".to_owned(), took_milliseconds: 1 };
        let all = vec![planned(), dropped.clone(), planned(), started(), done, finished(1, 0)];
        assert_eq!((record(all.clone()).steps.len(), record(all).ending), (1, Ending::Done));
        assert_eq!(record(vec![planned(), dropped.clone(), finished(0, 0)]).ending, Ending::NothingToDo);
        let stopped = ended(0, 0, Some("it was interrupted"));
        assert_eq!(record(vec![planned(), dropped, stopped]).ending, Ending::Incomplete);
    }

    #[test]
    fn a_run_that_was_left_with_all_its_work_in_doubt_had_something_to_do() {
        let left = record(vec![planned(), started(), EventKind::RunLeft { in_doubt: vec!["a/b/c".to_owned()] }, finished(0, 0)]);
        assert_eq!(left.ending, Ending::Incomplete);
        assert_eq!(left.count(|fate| *fate == Fate::InDoubt), 1);
        assert_eq!(record(vec![finished(0, 0)]).ending, Ending::NothingToDo);
    }

    #[test]
    fn a_run_that_was_stopped_before_its_first_change_is_incomplete() {
        let stopped = record(vec![planned(), finished(0, 1)]);
        assert_eq!(stopped.ending, Ending::Incomplete);
        assert_eq!(stopped.count(|fate| *fate == Fate::NotBegun), 1);
    }

    #[test]
    fn a_run_that_did_all_it_had_planned_is_done() {
        let done = EventKind::StepDone { step: "a/b/c".to_owned(), host: "a".to_owned(), took_milliseconds: 1 };
        assert_eq!(record(vec![planned(), started(), done, finished(1, 0)]).ending, Ending::Done);
    }
}
