//! What becomes of a variable, in one word.

/// What becomes of a variable here, as the table says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VariableEffect {
    /// It does what it says.
    Honoured,
    /// One value, or some, say what kokctl does anyway; others are refused.
    Anyway,
    /// It means nothing here.
    NoMeaning,
    /// What it asks for is not done yet.
    NotYet,
    /// Nobody may set it.
    Refused,
}

impl VariableEffect {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Honoured, Self::Anyway, Self::NoMeaning, Self::NotYet, Self::Refused];

    /// The word for it, on the command line and in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Anyway => "anyway",
            Self::NoMeaning => "no-meaning",
            Self::NotYet => "not-yet",
            Self::Refused => "refused",
        }
    }
}
