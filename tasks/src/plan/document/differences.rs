//! Where two documents of plans differ.

use std::collections::BTreeMap;
use std::fmt;

use super::{ChangeDocument, PlanDocument, StepDocument};

/// Where the plan of now differs from the one that was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// It is of another cluster.
    Cluster,
    /// Another version of the program made it.
    Program,
    /// It has another token, another id for a new cluster, or both.
    Ids,
    /// Another part is meant.
    Part,
    /// What may go that others need.
    Prune,
    /// A step is not what it was.
    Step {
        /// The step.
        step: String,
        /// What of it differs; never empty.
        aspects: Vec<Aspect>,
    },
}

/// What of a step differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aspect {
    /// The saved plan does not have it. With what is to be done, if anything is.
    New(Option<String>),
    /// The plan of now does not have it. With what was to be done, if anything was.
    Gone(Option<String>),
    /// Nothing was to do, and now something is: in these words.
    ToDo(String),
    /// Something was to do, in these words, and now nothing is.
    NothingToDo(String),
    /// Something else is to be done.
    Kind {
        /// What was to be done.
        saved: String,
        /// What is now.
        now: String,
    },
    /// It is to be done in another way, or with other content.
    Act,
    /// What stands on the host, and would be replaced, is something else.
    Found,
    /// It is to be done for another reason.
    Because {
        /// The reason that was.
        saved: String,
        /// The reason that is now.
        now: String,
    },
    /// The cluster can be asked by now, or can't be asked any more.
    Assumed,
    /// It comes after other steps, or for other reasons.
    Needs,
    /// It is called otherwise, is done elsewhere, or has another time.
    Other,
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New(None) => f.write_str("it is a new step, with nothing to do"),
            Self::New(Some(now)) => write!(f, "it is a new step: {now}"),
            Self::Gone(None) => f.write_str("it is no step any more; nothing was to do"),
            Self::Gone(Some(saved)) => write!(f, "it is no step any more; it was: {saved}"),
            Self::ToDo(now) => write!(f, "nothing was to do, and now: {now}"),
            Self::NothingToDo(saved) => write!(f, "nothing is to do any more; it was: {saved}"),
            Self::Kind { saved, now } => write!(f, "it was: {saved}, and now: {now}"),
            Self::Act => f.write_str("what is sent to the host is another content"),
            Self::Found => f.write_str("what stands on the host is another content"),
            Self::Because { saved, now } => write!(f, "the cause was: {saved}, and now: {now}"),
            Self::Assumed => f.write_str("whether the cluster can be asked of it has changed"),
            Self::Needs => f.write_str("it comes after other steps"),
            Self::Other => f.write_str("it is called otherwise, or has another place or time"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("it is of another cluster"),
            Self::Program => f.write_str("another version of kokctl made it"),
            Self::Ids => f.write_str("it has another token or another id for a new cluster"),
            Self::Part => f.write_str("it is of another part of the cluster"),
            Self::Prune => f.write_str("it is made with --prune, or without"),
            Self::Step { step, aspects } => {
                let aspects: Vec<String> = aspects.iter().map(ToString::to_string).collect();
                write!(f, "{step}: {}", aspects.join("; "))
            }
        }
    }
}

/// What is the same of both makes no difference exactly where both have one digest.
pub(super) fn between(saved: &PlanDocument, now: &PlanDocument) -> Vec<Difference> {
    let (of_saved, of_now) = (&saved.inputs, &now.inputs);
    let inputs = [
        (of_saved.cluster != of_now.cluster, Difference::Cluster),
        (of_saved.program != of_now.program, Difference::Program),
        ((&of_saved.token_id, &of_saved.new_cluster_id) != (&of_now.token_id, &of_now.new_cluster_id), Difference::Ids),
        ((&of_saved.tasks, &of_saved.hosts) != (&of_now.tasks, &of_now.hosts), Difference::Part),
        (of_saved.prune != of_now.prune, Difference::Prune),
    ];
    let inputs = inputs.into_iter().filter_map(|(differs, difference)| differs.then_some(difference));
    inputs.chain(of_steps(saved, now)).collect()
}

fn of_steps(saved: &PlanDocument, now: &PlanDocument) -> Vec<Difference> {
    let by_name = |document: &PlanDocument| -> BTreeMap<String, StepDocument> {
        document.steps.iter().map(|step| (step.step.clone(), step.covered())).collect()
    };
    let (before, after) = (by_name(saved), by_name(now));
    let named = |step: &str, aspects: Vec<Aspect>| Difference::Step { step: step.to_owned(), aspects };
    let mut found = Vec::new();
    for (name, step) in &before {
        match after.get(name) {
            None => found.push(named(name, vec![Aspect::Gone(summary(step))])),
            Some(other) if other != step => found.push(named(name, aspects(step, other))),
            Some(_) => {}
        }
    }
    let new = after.iter().filter(|(name, _)| !before.contains_key(*name));
    found.extend(new.map(|(name, step)| named(name, vec![Aspect::New(summary(step))])));
    found
}

fn summary(step: &StepDocument) -> Option<String> {
    step.change.as_ref().map(|change| change.summary.clone())
}

fn aspects(saved: &StepDocument, now: &StepDocument) -> Vec<Aspect> {
    let mut found = match (&saved.change, &now.change) {
        (None, None) => Vec::new(),
        (None, Some(now)) => vec![Aspect::ToDo(now.summary.clone())],
        (Some(saved), None) => vec![Aspect::NothingToDo(saved.summary.clone())],
        (Some(saved), Some(now)) => of_change(saved, now),
    };
    if saved.needs != now.needs || saved.triggers != now.triggers {
        found.push(Aspect::Needs);
    }
    let of_step = |step: &StepDocument| (step.host.clone(), step.task.clone(), step.title.clone(), step.deadline_seconds);
    if of_step(saved) != of_step(now) || found.is_empty() {
        found.push(Aspect::Other);
    }
    found
}

fn of_change(saved: &ChangeDocument, now: &ChangeDocument) -> Vec<Aspect> {
    let words = |change: &ChangeDocument| (change.kind.clone(), change.summary.clone());
    let kind = || Aspect::Kind { saved: saved.summary.clone(), now: now.summary.clone() };
    let because = || Aspect::Because { saved: saved.because.clone(), now: now.because.clone() };
    let mut found = Vec::new();
    if words(saved) != words(now) {
        found.push(kind());
    }
    if saved.act != now.act {
        found.push(Aspect::Act);
    }
    if saved.diff != now.diff && saved.act == now.act {
        found.push(Aspect::Found);
    }
    if saved.because != now.because {
        found.push(because());
    }
    if saved.assumed != now.assumed {
        found.push(Aspect::Assumed);
    }
    found
}
