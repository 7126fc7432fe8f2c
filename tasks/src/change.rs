//! What a look at a host says of a step.

/// Why and how a host differs from what is desired, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What is to be done, as an imperative: `create`, `replace the content`, `restart` …
    pub summary: String,
    /// What was seen that makes it necessary.
    pub because: String,
    /// For a text file that is no secret: the difference as a unified diff.
    pub diff: Option<String>,
    /// Whether it is only assumed, because what would say so could not be asked.
    pub assumed: bool,
}

/// What is done about a condition that holds, after something that it follows changed. Until then nothing differs.
pub const LOOK_AGAIN: &str = "look again";

impl Change {
    /// A change without a text difference.
    #[must_use]
    pub fn new(summary: impl Into<String>, because: impl Into<String>) -> Self {
        Self { summary: summary.into(), because: because.into(), diff: None, assumed: false }
    }
}

/// The outcome of comparing what was seen with what is desired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Same,
    /// Something to do.
    Differs(Change),
    /// The observation that decides is missing: the host must be asked first.
    Unseen,
}

impl Verdict {
    /// `Differs` with a change without a text difference.
    #[must_use]
    pub fn differs(summary: impl Into<String>, because: impl Into<String>) -> Self {
        Self::Differs(Change::new(summary, because))
    }
}

/// Takes the observation out of an `Option`, or says that it is missing.
macro_rules! seen {
    ($observation:expr) => {
        match $observation {
            Some(observation) => observation,
            None => return $crate::change::Verdict::Unseen,
        }
    };
}
pub(crate) use seen;
