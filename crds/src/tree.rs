//! YAML as a tree in which every value knows its place.
//!
//! A derived `Deserialize` stops at the first thing that is wrong. Users want all of them at once, so the text becomes this tree first,
//! and whoever reads it collects problems.

mod compare;
mod raw;

use std::fmt;

use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Options, UserMessageFormatter};

use crate::position::Locator;
use crate::words::quote;
use crate::{Position, Problem};
pub(crate) use compare::{has_template, is_template, same};
use raw::Raw;

/// Our own documents are seven levels deep, and no variable of Kubespray comes near the rest.
const MAX_DEPTH: usize = 32;
/// Schemas in definitions of resources have two levels for each of a resource, and those of workloads have fifty.
const MAX_MANIFEST_DEPTH: usize = 128;
/// Values that aliases may add to a document.
const MAX_ALIAS_EVENTS: usize = 10_000;

/// Bytes of a manifest that are read. The largest in use, those with the definitions of an operator, have about half of that.
pub const MOST_MANIFEST_BYTES: usize = 8 << 20;

/// What YAML means by its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Of our own objects, as Kubernetes reads them: YAML 1.2, in which `yes` is a word.
    Kubernetes,
    /// Of inventories and variables, as Ansible reads them: YAML 1.1, in which `yes` is true and `0644` is octal.
    Ansible,
    /// Of objects that kubectl applies, which it reads as YAML 1.1 too.
    Manifest,
}

impl Dialect {
    /// Whether words and numbers are those of YAML 1.1.
    fn is_old(self) -> bool {
        self != Self::Kubernetes
    }

    /// Larger files are a mistake or an attack.
    fn max_bytes(self) -> usize {
        match self {
            // More than the description of five thousand hosts with all their labels.
            Self::Kubernetes => 1 << 20,
            // A thousand hosts with three hundred variables each are ten megabytes.
            Self::Ansible => 16 << 20,
            Self::Manifest => MOST_MANIFEST_BYTES,
        }
    }

    /// What [`Self::max_bytes`] holds, keys and values counted: without this limit a file of `a: b` would take fifty times its size.
    fn max_nodes(self) -> usize {
        match self {
            Self::Kubernetes => 250_000,
            Self::Ansible | Self::Manifest => 1_000_000,
        }
    }

    fn options(self) -> Options {
        let max_nodes = self.max_nodes();
        // Each node begins, and a list or a map also ends.
        let max_events = max_nodes.saturating_mul(2);
        // Ansible takes the last one and goes on; who reads the tree reports them all.
        let duplicate_keys = if self.is_old() { DuplicateKeyPolicy::LastWins } else { DuplicateKeyPolicy::Error };
        let max_depth = if self == Self::Manifest { MAX_MANIFEST_DEPTH } else { MAX_DEPTH };
        serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: max_depth, max_nodes: max_nodes, max_events: max_events },
            alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIAS_EVENTS },
            duplicate_keys: duplicate_keys,
            // `yes` and `on` are words to everyone but YAML 1.1, which `raw` knows: saphyr would take `y` along.
            strict_booleans: true,
            legacy_octal_numbers: self.is_old(),
            non_finite_float_policy: NonFiniteFloatPolicy::AsString,
            with_snippet: false,
            emit_comments: false,
        }
    }
}

/// A value and its place.
#[derive(Clone, PartialEq, Eq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it begins.
    pub position: Position,
    /// A scalar as the file spells it, before YAML took it for a number or a boolean.
    pub spelling: String,
    /// What the file says about the value besides.
    pub tag: Tag,
    /// What the user calls it, where that is not its key here: a variable that became a field.
    pub called: Option<&'static str>,
}

/// A value without types beyond YAML's own.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number; its value stands in [`Node::spelling`].
    Float,
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key begins.
    pub key_position: Position,
    /// The value.
    pub node: Node,
}

/// The tags that mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    /// None, or one that changes nothing.
    #[default]
    None,
    /// `!unsafe`: text in which braces are only braces.
    Unsafe,
    /// `!vault`: encrypted by ansible-vault, and not opened yet.
    Vault,
    /// No tag of a file: the value was worked out of a secret, or was encrypted; where it could not be opened, it is forgotten. Braces in it are
    /// only braces, as Ansible has it.
    Secret,
    /// No tag of a file: a value of a file that was encrypted as a whole. It is a secret, in which templates count.
    Sealed,
    /// No tag of a file: no line of a file says it.
    Implied,
}

impl Tag {
    /// Whether templates in the value count.
    pub(crate) fn takes_templates(self) -> bool {
        matches!(self, Self::None | Self::Sealed)
    }

    /// Whether nobody may see the value.
    pub(crate) fn is_secret(self) -> bool {
        matches!(self, Self::Vault | Self::Secret | Self::Sealed)
    }
}

impl Node {
    /// A value at a place, without a spelling of its own.
    #[must_use]
    pub fn new(value: Value, position: Position) -> Self {
        Self { value, position, spelling: String::new(), tag: Tag::None, called: None }
    }

    /// The same, by the name that the user knows it by.
    pub(crate) fn called(self, name: Option<&'static str>) -> Self {
        Self { called: name, ..self }
    }

    /// The entry of a map by its key, unless it has no value.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key && !matches!(entry.node.value, Value::Null))
    }
}

impl fmt::Debug for Node {
    /// Without the value, which may be a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} at {}", self.value, self.position)
    }
}

impl fmt::Debug for Value {
    /// Only the kind; the value may be a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind())
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {:?}", self.key, self.node)
    }
}

impl Value {
    /// What kind of value it is, in a message.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Float => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Reads all documents of a file of our own objects; empty ones are left out.
pub(crate) fn parse(file_name: &str, text: &str) -> Result<Vec<Node>, Problem> {
    read(&Locator::file(file_name.into()), text, Dialect::Kubernetes, "the file")
}

/// Reads all documents of a text, which messages call `what`; empty ones are left out.
pub(crate) fn read(locator: &Locator, text: &str, dialect: Dialect, what: &str) -> Result<Vec<Node>, Problem> {
    let limit = dialect.max_bytes();
    if text.len() > limit {
        return Err(too_long(text, limit, what).at(&locator.position(1, 1)));
    }
    let raw: Result<Vec<Raw>, _> = serde_saphyr::from_multiple_with_options(text, dialect.options());
    let raw = raw.map_err(|error| syntax_problem(&error, (locator, text), what))?;
    let nodes = raw.into_iter().map(|raw| raw.located(locator, text, dialect));
    Ok(nodes.filter(|node| !matches!(node.value, Value::Null)).collect())
}

/// What is wrong with a text that is longer than its limit.
pub(crate) fn too_long(text: &str, limit: usize, what: &str) -> Problem {
    Problem::new(format!("{what} is {} bytes long", text.len()))
        .because(format!("more than {limit} bytes are not read"))
        .hint("give each cluster a file of its own")
}

fn syntax_problem(error: &Error, (locator, text): (&Locator, &str), what: &str) -> Problem {
    let line = error.location().and_then(|location| text.lines().nth(usize::try_from(location.line()).ok()?.checked_sub(1)?));
    let problem = match innermost(error) {
        Error::DuplicateMappingKey { key, .. } => {
            let name = key.as_deref().unwrap_or("of that name");
            Problem::new(format!("the field {} stands twice", quote(name)))
                .because("a map has each of its fields once")
                .hint("keep one of the two")
        }
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            Problem::new(format!("{what} is too complex"))
                .because("it has far more or far deeper values than a cluster, perhaps through aliases")
                .hint("write it without aliases")
        }
        other => {
            let text = other.render_with_formatter(&UserMessageFormatter);
            // The place has a line of its own.
            let text = one_line(text.split(" at line ").next().unwrap_or_default());
            Problem::new(format!("{what} is not the YAML that we read: {text}"))
                .because("what follows could not be read, so there may be more")
                .hint(advice(line.unwrap_or_default()))
        }
    };
    problem.at(&error.location().map_or_else(|| locator.position(1, 1), |location| place(locator, &location)))
}

/// What to do about a line that is no YAML, by what people most often do wrong.
fn advice(line: &str) -> &'static str {
    let value = line.split_once(": ").map_or(line, |(_, value)| value).trim_start().trim_start_matches("- ");
    if line.trim_start_matches(' ').starts_with('\t') {
        "indent with spaces: YAML has no tabs there"
    } else if value.starts_with("{{") || value.starts_with("{%") {
        "put quotes around a value that begins with a template: \"{{ … }}\""
    } else {
        "look at the quotes, brackets and indentation at and before this place"
    }
}

/// The error itself: one that is met through an alias comes wrapped.
fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } = error {
        error = inner;
    }
    error
}

fn one_line(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn place(locator: &Locator, location: &serde_saphyr::Location) -> Position {
    locator.position(location.line(), location.column())
}
