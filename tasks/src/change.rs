//! What a look at a host says of a step.

use std::borrow::Cow;

use kok_crds::model::Concealed;

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

impl Change {
    /// Takes out of what is said what was encrypted in the user's files. A difference that has some of it goes as a whole: the other side of it is
    /// what was encrypted before, of which nobody knows where it ends.
    pub(crate) fn conceal(&mut self, concealed: &Concealed) {
        self.because = concealed.hide(&self.because).into_owned();
        let has_some = |diff: &String| matches!(concealed.hide(diff), Cow::Owned(_));
        if self.diff.take_if(|diff| has_some(diff)).is_some() {
            self.because.push_str("; the difference is not shown, for it has what is encrypted in your files");
        }
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
