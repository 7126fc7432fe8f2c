//! What somebody set, and what becomes of it.

use crate::Position;

/// What becomes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It does what it says.
    Honoured,
    /// It asks for what is so anyway.
    Anyway,
    /// It means nothing here.
    NoMeaning,
    /// What it asks for is not done yet, and is left out.
    NotYet,
    /// Something else that counts more sets the variable for every host.
    Overruled,
    /// It cannot be; there is a problem about it.
    Refused,
    /// It is the user's own: values of other variables use it.
    Own,
    /// Nobody knows it.
    Unknown,
}

impl Outcome {
    /// The word for it in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Anyway => "anyway",
            Self::NoMeaning => "no-meaning",
            Self::NotYet => "not-yet",
            Self::Overruled => "overruled",
            Self::Refused => "refused",
            Self::Own => "own",
            Self::Unknown => "unknown",
        }
    }
}

/// A variable that somebody set, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Name of the variable.
    pub name: String,
    /// Its value in one line, shortened; no password.
    pub value: String,
    /// Where it stands.
    pub position: Position,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Where it went, or why it does nothing.
    pub because: String,
    /// For how many hosts it is set one by one, of which the place is the first; or for how many it counts. `None` for what is set for all.
    pub hosts: Option<usize>,
}
