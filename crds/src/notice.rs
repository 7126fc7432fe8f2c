//! What a user should know about a file that is right: a line that does nothing here, and why.

use std::fmt;

use crate::position::Position;

/// One thing that a user should know, and that stops nothing.
///
/// Printed with `Display` as a [`crate::Problem`] is, but for its first word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What there is to know, in one line.
    pub message: String,
    /// Where it stands.
    pub position: Option<Position>,
    /// Why that is so.
    pub because: Option<String>,
    /// What to do, for whoever meant something else.
    pub hint: Option<String>,
}

impl Notice {
    /// A notice of which only the message is known.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), position: None, because: None, hint: None }
    }

    /// Says where it stands.
    #[must_use]
    pub fn at(mut self, position: &Position) -> Self {
        self.position = Some(position.clone());
        self
    }

    /// Says why that is so.
    #[must_use]
    pub fn because(mut self, because: impl Into<String>) -> Self {
        self.because = Some(because.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "note: {}", self.message)?;
        if let Some(position) = &self.position {
            write!(formatter, "\n   at: {position}")?;
        }
        if let Some(because) = &self.because {
            write!(formatter, "\nbecause: {because}")?;
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\n hint: {hint}")?;
        }
        Ok(())
    }
}
