//! How a verb ends that did not do all it was asked for.

use kok_tasks::plan::Difference;

use crate::failure::{Cause, Failure, Kind};
use crate::run::Outcome;

/// How a verb ends that did not do all it was asked for. A caller decides by it whether to try again; words for people are made of it
/// elsewhere. Of the first five nothing was begun, and each failure says whose it is, of what kind, and what has to happen.
#[derive(Debug)]
pub enum Error {
    /// The files, the options or the bundle are wrong.
    Input(Vec<Failure>),
    /// Hosts can't be reached, or hosts and the cluster are not ready yet; nothing else is wrong.
    Unreachable(Vec<Failure>),
    /// Another run holds hosts or the cluster; nothing else is wrong but what may pass too.
    Held {
        /// Whose run it is, as it says itself; the first of several.
        by: String,
        /// Since when, in RFC 3339, if it says that.
        since: Option<String>,
        /// All failures.
        failures: Vec<Failure>,
    },
    /// Hosts don't meet a condition that somebody has to meet.
    Refused(Vec<Failure>),
    /// A stage was carried out, and what comes after it could not be begun. To mend that and go on is left to the caller.
    HalfWay(Vec<Failure>),
    /// Files of kokctl's own, or a defect.
    Internal(Vec<Failure>),
    /// The plan waits for an approval. Nothing was begun.
    NotApproved,
    /// The plan is not the one that was approved. Nothing was begun.
    PlanChanged(Box<PlanChanged>),
    /// Steps failed, and nothing is in doubt. To run the verb again is to go on.
    StepFailed(Box<Outcome>),
    /// Of some steps nobody knows whether they were done. To run the verb again is to find out, and to go on.
    InDoubt(Box<Outcome>),
    /// The caller wished the end, or had gone, and nothing failed before. To run the verb again is to go on.
    Stopped(Box<Outcome>),
    /// Another run has taken over the hosts, and this one must not take them back by itself.
    TakenOver(Box<Outcome>),
}

/// In what a plan differs from the one that was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChanged {
    /// The steps that differ.
    pub differences: Vec<Difference>,
    /// The same for people; it is told in the journal.
    pub failure: Failure,
}

impl Error {
    /// Who has to do something about it.
    #[must_use]
    pub fn class(&self) -> Kind {
        match self {
            Self::Input(_) => Kind::Input,
            Self::Unreachable(_) | Self::Held { .. } | Self::Refused(_) => Kind::Host,
            Self::Internal(_) => Kind::Internal,
            Self::NotApproved => Kind::Declined,
            Self::PlanChanged(changed) => changed.failure.kind,
            Self::HalfWay(_) | Self::StepFailed(_) | Self::InDoubt(_) | Self::Stopped(_) | Self::TakenOver(_) => Kind::Incomplete,
        }
    }

    /// What has to be said of it. What a run says that failed in the middle is said by `of_outcome`, for callers have other ways to go on.
    #[must_use]
    pub fn failures(self, of_outcome: impl FnOnce(&Outcome) -> Vec<Failure>) -> Vec<Failure> {
        match self {
            Self::Input(failures)
            | Self::Unreachable(failures)
            | Self::Held { failures, .. }
            | Self::Refused(failures)
            | Self::HalfWay(failures)
            | Self::Internal(failures) => failures,
            Self::PlanChanged(changed) => vec![changed.failure],
            Self::NotApproved => vec![Failure::new(Kind::Declined, "the plan waits for an approval")],
            Self::StepFailed(outcome) | Self::InDoubt(outcome) | Self::Stopped(outcome) | Self::TakenOver(outcome) => of_outcome(&outcome),
        }
    }

    /// Of a run that has done all but what `apply` does.
    #[must_use]
    pub(super) fn left_to_apply(mut self) -> Self {
        if let Self::StepFailed(outcome) | Self::InDoubt(outcome) | Self::Stopped(outcome) | Self::TakenOver(outcome) = &mut self {
            outcome.left_to_apply = true;
        }
        self
    }

    /// Whether trying again later may help, with nothing changed by anybody: hosts may be reached again, who holds them may let go, and what
    /// failed may succeed.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Held { .. } | Self::InDoubt(_) | Self::Stopped(_) => true,
            // Steps that were held back with no reason are a defect.
            Self::StepFailed(outcome) => !outcome.failed.is_empty(),
            Self::Input(_) | Self::Refused(_) | Self::HalfWay(_) | Self::Internal(_) => false,
            Self::NotApproved | Self::PlanChanged(_) | Self::TakenOver(_) => false,
        }
    }
}

/// Whether it may pass with nothing changed by anybody.
fn passes(failure: &Failure) -> bool {
    failure.kind == Kind::Host && matches!(failure.due_to(), Cause::Unreachable | Cause::Held(_) | Cause::Passing)
}

impl From<Vec<Failure>> for Error {
    /// By what is worst of them: who has to wait for one thing and mend another has to mend it.
    fn from(failures: Vec<Failure>) -> Self {
        let held = failures.iter().find_map(|failure| if let Cause::Held(held) = failure.due_to() { Some(held.clone()) } else { None });
        match Kind::worst(&failures) {
            Kind::Input => Self::Input(failures),
            Kind::Host if !failures.iter().all(passes) => Self::Refused(failures),
            Kind::Host => match held {
                Some(held) => Self::Held { by: held.by, since: held.since, failures },
                None => Self::Unreachable(failures),
            },
            Kind::Incomplete => Self::HalfWay(failures),
            Kind::Declined | Kind::Internal => Self::Internal(failures),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::from(vec![failure])
    }
}

impl From<Outcome> for Error {
    /// Of a run that is not complete.
    fn from(outcome: Outcome) -> Self {
        let outcome = Box::new(outcome);
        if outcome.taken_over {
            Self::TakenOver(outcome)
        } else if !outcome.in_doubt.is_empty() || outcome.failed.iter().any(|failure| failure.unknown) {
            Self::InDoubt(outcome)
        } else if outcome.failed.is_empty() && outcome.stopped.is_some() {
            Self::Stopped(outcome)
        } else {
            Self::StepFailed(outcome)
        }
    }
}

#[cfg(test)]
mod tests;
