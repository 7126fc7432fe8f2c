//! Whose hosts nothing is done on.

use std::collections::BTreeSet;

use super::OtherManager;
use crate::plan::Refusal;

/// Whose hosts nothing is done on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Other {
    /// A run that is at work, or was.
    Run(OtherRun),
    /// Whoever keeps hosts as they are described there.
    Manager(OtherManager),
}

impl Other {
    /// Why nothing is done on these hosts.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Run(run) => run.refusal(),
            Self::Manager(manager) => manager.refusal(),
        }
    }

    /// Who that is, for people, and since when, if it says so.
    #[must_use]
    pub fn who(self) -> (String, Option<String>) {
        match self {
            Self::Run(OtherRun { by, since, .. }) => (by, Some(since)),
            Self::Manager(OtherManager { by, .. }) => (by, None),
        }
    }
}

/// A run of somebody else that holds hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRun {
    /// Its name.
    pub run: String,
    /// `user@machine`, for people.
    pub by: String,
    /// When it began, as it says.
    pub since: String,
    /// The hosts that it holds.
    pub hosts: BTreeSet<String>,
}

impl OtherRun {
    /// Why nothing is done on these hosts.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let Self { run, by, since, hosts } = self;
        let hosts = hosts.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        Refusal::new("another kokctl is at work on these hosts")
            .at(format!("host {hosts}"))
            .because(format!("the run {run} of {by} holds them since {since}"))
            .hint("wait until it has ended; if it has died or must not go on, run again with --take-over, which ends what it left at work")
            .passing()
    }
}
