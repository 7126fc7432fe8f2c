//! What is wrong with a user's file, in the four parts that a user needs: what, where, why and what to do.

use std::fmt;

use crate::position::Position;

/// One thing that is wrong with a user's file.
///
/// Printed with `Display` as up to four lines (`error`, `at`, `because`, `hint`) without a newline at the end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// What is wrong, in one line.
    pub message: String,
    /// Where it stands.
    pub position: Option<Position>,
    /// Why that is wrong: the rule that it breaks.
    pub because: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem of which only the message is known.
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

    /// Says which rule is broken.
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

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.message)?;
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
