//! YAML as a tree in which every value knows its place.
//!
//! A derived `Deserialize` stops at the first thing that is wrong. Users want all of them at once, so the text becomes this tree first,
//! and [`crate::decode`] reads the tree.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Location, Options, Spanned, UserMessageFormatter};

use crate::words::quote;
use crate::{Position, Problem};

/// More than the description of five thousand hosts with all their labels; larger files are a mistake or an attack.
const MAX_BYTES: usize = 1 << 20;
/// Our own documents are seven levels deep.
const MAX_DEPTH: usize = 32;
/// Values that aliases may add to a document.
const MAX_ALIAS_EVENTS: usize = 10_000;

/// A value and its place.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) position: Position,
    /// A scalar as the file spells it, before YAML took it for a number.
    pub(crate) spelling: String,
}

/// A value without types beyond YAML's own.
#[derive(Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_position: Position,
    pub(crate) node: Node,
}

/// Reads all documents of a file; empty ones are left out.
pub(crate) fn parse(file_name: &str, text: &str) -> Result<Vec<Node>, Problem> {
    let file: Arc<str> = Arc::from(file_name);
    if text.len() > MAX_BYTES {
        return Err(Problem::new(format!("the file is {} bytes long", text.len()))
            .at(&Position { file, line: 1, column: 1 })
            .because(format!("more than {MAX_BYTES} bytes are not read"))
            .hint("give each cluster a file of its own"));
    }
    let raw: Vec<Raw> = serde_saphyr::from_multiple_with_options(text, options()).map_err(|error| syntax_problem(&error, &file))?;
    let nodes = raw.into_iter().map(|raw| raw.located(&file, text));
    Ok(nodes.filter(|node| !matches!(node.value, Value::Null)).collect())
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIAS_EVENTS },
        // `yes` and `on` are words to everyone but YAML 1.1.
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

fn syntax_problem(error: &Error, file: &Arc<str>) -> Problem {
    let problem = match innermost(error) {
        Error::DuplicateMappingKey { key, .. } => {
            let name = key.as_deref().unwrap_or("of that name");
            Problem::new(format!("the field {} stands twice", quote(name)))
                .because("a map has each of its fields once")
                .hint("keep one of the two")
        }
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            Problem::new("the file is too complex")
                .because("it has far more or far deeper values than a cluster, perhaps through aliases")
                .hint("write it without aliases")
        }
        other => {
            let text = other.render_with_formatter(&UserMessageFormatter);
            // The place has a line of its own.
            let text = one_line(text.split(" at line ").next().unwrap_or_default());
            Problem::new(format!("the file is not the YAML that we read: {text}"))
                .because("what follows could not be read, so there may be more")
                .hint("look at the quotes, brackets and indentation at and before this place")
        }
    };
    let start = || Position { file: Arc::clone(file), line: 1, column: 1 };
    problem.at(&error.location().map_or_else(start, |location| position(file, &location)))
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

fn position(file: &Arc<str>, location: &Location) -> Position {
    Position { file: Arc::clone(file), line: location.line().max(1), column: location.column().max(1) }
}

/// A node as the deserializer hands it out.
struct Raw(Spanned<RawValue>);

enum RawValue {
    Null,
    Bool(bool),
    Integer(i64),
    Float,
    Text(String),
    List(Vec<Raw>),
    Map(Vec<(Spanned<String>, Raw)>),
}

impl Raw {
    fn located(self, file: &Arc<str>, text: &str) -> Node {
        let Spanned { value, referenced, defined, .. } = self.0;
        let value = match value {
            RawValue::Null => Value::Null,
            RawValue::Bool(value) => Value::Bool(value),
            RawValue::Integer(value) => Value::Integer(value),
            RawValue::Float => Value::Float,
            RawValue::Text(value) => Value::Text(value),
            RawValue::List(items) => Value::List(items.into_iter().map(|item| item.located(file, text)).collect()),
            RawValue::Map(entries) => {
                let located = |(key, node): (Spanned<String>, Self)| Entry {
                    key_position: position(file, &key.referenced),
                    key: key.value,
                    node: node.located(file, text),
                };
                Value::Map(entries.into_iter().map(located).collect())
            }
        };
        let spelling = match value {
            Value::Integer(_) | Value::Float | Value::Bool(_) => spelling(&defined, text),
            _ => String::new(),
        };
        Node { value, position: position(file, &referenced), spelling }
    }
}

fn spelling(location: &Location, text: &str) -> String {
    let span = location.span();
    let slice = span.byte_offset().zip(span.byte_len()).and_then(|(start, length)| {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        text.get(start..end)
    });
    slice.unwrap_or_default().to_owned()
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for RawValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<RawValue, E> {
        Ok(RawValue::Null)
    }

    fn visit_none<E>(self) -> Result<RawValue, E> {
        Ok(RawValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawValue, D::Error> {
        RawValue::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<RawValue, E> {
        Ok(RawValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RawValue, E> {
        Ok(RawValue::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<RawValue, E> {
        // No field of ours holds more than an i64; what is larger is out of range anyway, as a float is.
        Ok(i64::try_from(value).map_or(RawValue::Float, RawValue::Integer))
    }

    fn visit_f64<E>(self, _: f64) -> Result<RawValue, E> {
        Ok(RawValue::Float)
    }

    fn visit_str<E>(self, value: &str) -> Result<RawValue, E> {
        Ok(RawValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<RawValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(RawValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<RawValue, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(RawValue::Map(map))
    }
}
