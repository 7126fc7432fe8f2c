//! Where in a user's file a value stands.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A place in a file, printed as `file:line:column`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Name of the file as the user gave it.
    pub file: Arc<str>,
    /// Line, counted from 1.
    pub line: u64,
    /// Column in characters, counted from 1.
    pub column: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The places of a file's values by their path, for example `spec.hosts[0].address`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Positions {
    places: BTreeMap<String, Position>,
    /// The names of all hosts of the file in its order, also of those that are to leave.
    hosts: Vec<String>,
}

impl Positions {
    /// The place of the value at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Position> {
        self.places.get(path)
    }

    /// The places of every value of that name, whatever it belongs to.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Position> {
        self.places.iter().filter(move |(path, _)| path.rsplit('.').next() == Some(name)).map(|(_, position)| position)
    }

    /// The place of a field of a host.
    pub(crate) fn of_host(&self, host: &str, field: &str) -> Option<&Position> {
        self.get(&self.path(host, field)?)
    }

    pub(crate) fn insert_of_host(&mut self, host: &str, field: &str, position: Position) {
        if let Some(path) = self.path(host, field) {
            self.insert(path, position);
        }
    }

    fn path(&self, host: &str, field: &str) -> Option<String> {
        let index = self.hosts.iter().position(|name| name == host)?;
        Some(format!("spec.hosts[{index}].{field}"))
    }

    pub(crate) fn with_hosts(self, hosts: Vec<String>) -> Self {
        Self { hosts, ..self }
    }

    pub(crate) fn take_hosts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.hosts)
    }

    pub(crate) fn insert(&mut self, path: String, position: Position) {
        self.places.insert(path, position);
    }
}

/// Turns lines and columns of a text into places of the user's file.
#[derive(Debug, Clone)]
pub(crate) struct Locator {
    file: Arc<str>,
    lines: u64,
    columns: u64,
}

impl Locator {
    pub(crate) fn file(file: Arc<str>) -> Self {
        Self { file, lines: 0, columns: 0 }
    }

    /// For a text that begins on a line of a file, with so many columns before each of its lines.
    pub(crate) fn block(file: Arc<str>, first_line: u64, indent: u64) -> Self {
        Self { file, lines: first_line.saturating_sub(1), columns: indent }
    }

    pub(crate) fn position(&self, line: u64, column: u64) -> Position {
        let (line, column) = (line.max(1).saturating_add(self.lines), column.max(1).saturating_add(self.columns));
        Position { file: Arc::clone(&self.file), line, column }
    }
}
