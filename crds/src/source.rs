//! A user's text, and where it stands.
//!
//! An inventory may be a file of its own or a value in a ConfigMap. Problems point at the file that the user has open, so each text knows
//! how its own lines map to that file.

use std::fmt;
use std::sync::Arc;

use crate::position::Locator;
use crate::tree::{self, Dialect, Node};
use crate::vault::{BEGINNING, Opened, Refused};
use crate::{Position, Problem};

/// A text of a user with a name.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// What the text is called: a path, or a key such as `hosts.yml`.
    pub name: Arc<str>,
    /// The text itself. It may hold passwords.
    pub text: String,
    pub(crate) place: Place,
    /// What messages call it.
    what: &'static str,
    seal: Seal,
}

/// Whether a text was encrypted as a whole.
#[derive(Clone, PartialEq, Eq)]
enum Seal {
    None,
    /// It is decrypted: every value in it is a secret.
    Opened,
    /// It stays closed.
    Closed(Refused),
}

/// Where a text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// It is a file.
    File,
    /// It is a literal block in a file: line by line the same text, further to the right.
    Block {
        /// Name of the file.
        file: Arc<str>,
        /// Line of the file on which the text begins.
        first_line: u64,
        /// Columns that the file has before each line of the text.
        indent: u64,
    },
    /// It is a quoted, folded or encoded value that begins here; its own lines are none of the file's.
    At(Position),
}

impl Source {
    /// A text that is a file.
    #[must_use]
    pub fn file(name: impl Into<Arc<str>>, text: impl Into<String>) -> Self {
        Self::placed(name, text, Place::File)
    }

    /// A text that stands somewhere.
    #[must_use]
    pub fn placed(name: impl Into<Arc<str>>, text: impl Into<String>, place: Place) -> Self {
        Self { name: name.into(), text: text.into(), place, what: "the file", seal: Seal::None }
    }

    /// The same, which messages call otherwise than a file.
    pub(crate) fn being(self, what: &'static str) -> Self {
        Self { what, ..self }
    }

    /// The same, which was encrypted as a whole or was not.
    pub(crate) fn sealed(self, is_sealed: bool) -> Self {
        Self { seal: if is_sealed { Seal::Opened } else { self.seal }, ..self }
    }

    /// The text that it is encrypted in, if it is as a whole.
    pub(crate) fn encrypted(&self) -> Option<&str> {
        (!matches!(self.seal, Seal::Closed(_)) && self.text.starts_with(BEGINNING)).then_some(self.text.as_str())
    }

    /// Takes over what was encrypted in it, or why that can't be had.
    pub(crate) fn unseal(&mut self, opened: &Opened) {
        match self.encrypted().and_then(|text| opened.get(text)).cloned() {
            Some(Ok(text)) => {
                self.place = inside(&self.place);
                self.text = text;
                self.seal = Seal::Opened;
            }
            Some(Err(refused)) => self.seal = Seal::Closed(refused),
            None => {}
        }
    }

    /// Whether it was encrypted as a whole, so that every value in it is a secret.
    pub(crate) fn is_sealed(&self) -> bool {
        self.seal == Seal::Opened
    }

    /// What is wrong with it if it is encrypted and stays closed.
    pub(crate) fn closed(&self) -> Option<Problem> {
        let refused = match &self.seal {
            Seal::Closed(refused) => refused.clone(),
            Seal::None if self.text.starts_with(BEGINNING) => Refused::of_nobody(&self.text),
            Seal::None | Seal::Opened => return None,
        };
        Some(refused.problem(self.what).at(&self.position(1, 1)))
    }

    /// The place in the user's file of a line and a column of the text, both counted from 1.
    #[must_use]
    pub fn position(&self, line: u64, column: u64) -> Position {
        self.locator().position(line, column)
    }

    /// The YAML documents of the text, with positions in the user's file; empty ones are left out.
    ///
    /// # Errors
    /// A text that is too long, or the first place at which it is no YAML.
    pub fn parse(&self, dialect: Dialect) -> Result<Vec<Node>, Problem> {
        tree::read(&self.locator(), &self.text, dialect, self.what)
    }

    pub(crate) fn locator(&self) -> Locator {
        match &self.place {
            Place::File => Locator::file(Arc::clone(&self.name)),
            Place::Block { file, first_line, indent } => Locator::block(Arc::clone(file), *first_line, *indent),
            // The value has no lines in the file, so both places are named: that of the value, and that in the value.
            Place::At(position) => Locator::file(format!("{position}, in {}", self.name).into()),
        }
    }
}

/// Where the decrypted text of a file stands.
fn inside(place: &Place) -> Place {
    match place {
        // Of a file, the lines are those that `ansible-vault edit` shows.
        Place::File => Place::File,
        Place::Block { file, first_line, indent } => {
            Place::At(Position { file: Arc::clone(file), line: *first_line, column: indent.saturating_add(1) })
        }
        Place::At(position) => Place::At(position.clone()),
    }
}

impl fmt::Debug for Source {
    /// Without the text, which may hold passwords.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Source").field("name", &self.name).field("place", &self.place).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Source};
    use crate::Position;

    fn printed(place: Place) -> String {
        Source::placed("hosts.yml", "all:\n", place).position(3, 5).to_string()
    }

    #[test]
    fn places_are_those_of_the_outer_file() {
        assert_eq!(printed(Place::File), "hosts.yml:3:5");
        assert_eq!(printed(Place::Block { file: "c.yaml".into(), first_line: 10, indent: 4 }), "c.yaml:12:9");
        let outer = Position { file: "c.yaml".into(), line: 7, column: 14 };
        assert_eq!(printed(Place::At(outer)), "c.yaml:7:14, in hosts.yml:3:5");
    }

    #[test]
    fn nothing_shows_the_text() {
        let source = Source::file("hosts.yml", "ansible_password: secret");
        assert!(!format!("{source:?}").contains("secret"));
    }
}
