//! How a verb ends that did not do all it was asked for.

use kok_tasks::plan::Difference;

use crate::failure::{Failure, Kind};
use crate::run::Outcome;

/// How a verb ends that did not do all it was asked for. A caller decides by it whether to try again; words for people are made of it
/// elsewhere.
#[derive(Debug)]
pub enum Error {
    /// Nothing was begun. Each failure says whose it is and of what kind.
    Refused(Vec<Failure>),
    /// The plan waits for an approval. Nothing was begun.
    NotApproved,
    /// The plan is not the one that was approved. Nothing was begun.
    PlanChanged(Box<PlanChanged>),
    /// The plan was begun, and not all of it is done: the outcome has the steps that failed, those that are in doubt, and whether another
    /// run has taken over. To run the verb again is to go on.
    Incomplete(Box<Outcome>),
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
            Self::Refused(failures) => Kind::worst(failures),
            Self::NotApproved => Kind::Declined,
            Self::PlanChanged(changed) => changed.failure.kind,
            Self::Incomplete(_) => Kind::Incomplete,
        }
    }

    /// Whether trying again later may help, with nothing changed by anybody: hosts may be reached again, and what failed may succeed.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Refused(failures) => failures.iter().all(|failure| failure.kind == Kind::Host && !failure.is_doubt()),
            Self::NotApproved | Self::PlanChanged(_) => false,
            Self::Incomplete(outcome) => !outcome.taken_over,
        }
    }
}

impl From<Vec<Failure>> for Error {
    fn from(failures: Vec<Failure>) -> Self {
        Self::Refused(failures)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Refused(vec![failure])
    }
}
