//! What is said about a user's file, in the four parts that a user needs: what, where, why and what to do.

use std::fmt;
use std::marker::PhantomData;

use crate::position::Position;

/// One thing that is wrong with a user's file.
pub type Problem = Message<Fault>;

/// One thing that a user should know about a file that is right, and that stops nothing: a line that does nothing here, and why.
pub type Notice = Message<Note>;

/// What a message weighs.
pub trait Weight {
    /// The word with which a message of this weight begins.
    const WORD: &'static str;
}

/// Something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault;

/// Nothing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note;

impl Weight for Fault {
    const WORD: &'static str = "error";
}

impl Weight for Note {
    const WORD: &'static str = "note";
}

/// Something about a place in a user's file.
///
/// Printed with `Display` as up to four lines (its word, `at`, `because`, `hint`) without a newline at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<W> {
    /// What there is to say, in one line.
    pub message: String,
    /// Where it stands.
    pub position: Option<Position>,
    /// Why that is so: for a problem, the rule that it breaks.
    pub because: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// What it is about, for those who weigh several against each other.
    pub kind: Kind,
    /// Whose words it repeats, for those who say once what is true of several.
    pub subject: Option<Box<Subject>>,
    /// What it weighs.
    pub weight: PhantomData<W>,
}

/// Whom or what a message names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject {
    /// A host. Of others the same may be true.
    pub host: Option<String>,
    /// The variable with which something is wrong.
    pub variable: Option<String>,
}

/// What a message is about, as far as others depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Whatever it says.
    #[default]
    Plain,
    /// Something is not there; it may stand in what could not be read.
    Absent,
    /// Another setting needs something that is not there.
    Needed,
    /// A host has no address that is known.
    NoAddress,
    /// A host has no role.
    NoRole,
    /// A value is encrypted and can't be had, which matters where it counts.
    Encrypted,
    /// So it is because nobody gave a password.
    Locked,
    /// etcd would have an even number of members, of which one may be about to leave.
    Uneven,
}

impl<W> Message<W> {
    /// Something of which only the message is known.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), position: None, because: None, hint: None, kind: Kind::Plain, subject: None, weight: PhantomData }
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

    /// Says what it is about.
    pub(crate) fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Whether it is that something is encrypted, and nobody gave a password for it.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.kind == Kind::Locked
    }

    /// Says which host it names.
    pub(crate) fn of_host(mut self, host: &str) -> Self {
        self.subject.get_or_insert_default().host = Some(host.to_owned());
        self
    }

    /// Says with which variable something is wrong.
    pub(crate) fn of_variable(mut self, name: &str) -> Self {
        self.subject.get_or_insert_default().variable = Some(name.to_owned());
        self
    }

    /// The host that it names, if it is about one.
    pub(crate) fn host(&self) -> Option<&str> {
        self.subject.as_ref()?.host.as_deref()
    }

    /// The variable with which something is wrong, if it is about one.
    pub(crate) fn variable(&self) -> Option<&str> {
        self.subject.as_ref()?.variable.as_deref()
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl<W: Weight> fmt::Display for Message<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", W::WORD, self.message)?;
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

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::{Notice, Problem};
    use crate::Position;

    #[test]
    fn both_are_printed_alike_but_for_their_word() {
        let at = Position { file: "f".into(), line: 1, column: 2 };
        assert_eq!(
            Problem::new("what").at(&at).because("why").hint("do").to_string(),
            "error: what\n   at: f:1:2\nbecause: why\n hint: do"
        );
        assert_eq!(Notice::new("what").hint("do").to_string(), "note: what\n hint: do");
    }
}
