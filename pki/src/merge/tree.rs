//! A YAML document that is written again as it was read: in the same order, and every scalar as it was spelled.
//!
//! `yes` and `0600` mean something else to each reader of YAML, and kubectl is not ours. What nobody interprets, nobody changes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned, Tagged};
use zeroize::Zeroizing;

use super::Misfit;
use crate::kubeconfig::quoted;

/// A kubeconfig is four levels deep, and its extensions may hold anything.
const MAX_DEPTH: usize = 64;

/// A value and its place. It has no `Debug`, since it may hold a key.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    /// Counted from 1; 0 for what stands in no file yet.
    pub(super) line: u64,
    pub(super) column: u64,
}

#[derive(Clone, PartialEq)]
pub(super) enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: Scalar,
    pub(super) node: Node,
}

#[derive(Clone)]
pub(super) struct Scalar {
    /// As it is written.
    pub(super) spelled: Zeroizing<String>,
    pub(super) kind: Kind,
}

#[derive(Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Text(Zeroizing<String>),
    /// Numbers, booleans and the like.
    Other,
}

impl PartialEq for Node {
    /// Wherever it stands.
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialEq for Scalar {
    /// Text is the same with or without quotes.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && (self.kind != Kind::Other || self.spelled == other.spelled)
    }
}

impl Scalar {
    pub(super) fn of_text(text: &str) -> Self {
        let spelled = if is_plain(text) { text.to_owned() } else { quoted(text) };
        Self { spelled: Zeroizing::new(spelled), kind: Kind::Text(Zeroizing::new(text.to_owned())) }
    }

    fn read(value: Raw, location: &Location, text: &str) -> Self {
        let slice = slice(location, text);
        let (kind, other) = match value {
            Raw::Null => (Kind::Null, "null".to_owned()),
            Raw::Text(text) => {
                let spelled = quoted(&text);
                (Kind::Text(text), spelled)
            }
            _ => (Kind::Other, String::new()),
        };
        // What goes over several lines would depend on its indentation.
        let as_it_is = !slice.trim().is_empty() && !slice.contains(['\n', '\r']) && !slice.starts_with(['|', '>']);
        Self { spelled: Zeroizing::new(if as_it_is { slice.to_owned() } else { other }), kind }
    }
}

impl Node {
    pub(super) fn new(value: Value) -> Self {
        Self { value, line: 0, column: 0 }
    }

    pub(super) fn of_text(text: &str) -> Self {
        Self::new(Value::Scalar(Scalar::of_text(text)))
    }

    pub(super) fn text(&self) -> Option<&str> {
        let Value::Scalar(Scalar { kind: Kind::Text(text), .. }) = &self.value else { return None };
        Some(text.as_str())
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(Scalar { kind: Kind::Null, .. }))
    }

    /// The value of a field, unless it is empty.
    pub(super) fn field(&self, key: &str) -> Option<&Self> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key.is(key)).map(|entry| &entry.node).filter(|node| !node.is_null())
    }

    pub(super) fn text_of(&self, key: &str) -> Option<&str> {
        self.field(key)?.text()
    }

    /// The items of a list; none of anything else.
    pub(super) fn items(&self) -> &[Self] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    pub(super) fn misfit(&self, what: impl Into<String>) -> Misfit {
        Misfit { line: self.line, column: self.column, what: what.into() }
    }
}

impl Scalar {
    pub(super) fn is(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Text(text) if text.as_str() == name)
    }
}

/// Whether every reader of YAML takes it for text without quotes.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "./:_-+=@".contains(character);
    starts && text.chars().all(is_safe) && !text.ends_with(':') && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Reads the only document of a text; an empty one is an empty map.
pub(super) fn read(text: &str) -> Result<Node, Misfit> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        strict_booleans: true,
        with_snippet: false,
        emit_comments: false,
    };
    let documents: Vec<RawNode> = serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |location| (location.line(), location.column()));
        // The library's own words may quote what stands there.
        Misfit { line, column, what: "it is no well-formed YAML, or has a field twice".to_owned() }
    })?;
    let mut nodes = Vec::new();
    for document in documents {
        nodes.push(document.located(text)?);
    }
    nodes.retain(|node| !node.is_null());
    if let Some(second) = nodes.get(1) {
        return Err(second.misfit("it has a second document"));
    }
    Ok(nodes.pop().unwrap_or_else(|| Node::new(Value::Map(Vec::new()))))
}

/// What stands at a place, as it is spelled.
fn slice<'a>(location: &Location, text: &'a str) -> &'a str {
    let span = location.span();
    let slice = span.byte_offset().zip(span.byte_len()).and_then(|(start, length)| {
        let start = usize::try_from(start).ok()?;
        text.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    });
    slice.unwrap_or_default()
}

/// A node as the deserializer hands it out.
struct RawNode(Spanned<Tagged<Raw>>);

enum Raw {
    Null,
    Text(Zeroizing<String>),
    Other,
    List(Vec<RawNode>),
    Map(Vec<(Spanned<Zeroizing<String>>, RawNode)>),
}

impl RawNode {
    fn located(self, text: &str) -> Result<Node, Misfit> {
        let Spanned { value: Tagged(value, tag), referenced, defined } = self.0;
        let (line, column) = (referenced.line(), referenced.column());
        if tag.is_some() {
            return Err(Misfit { line, column, what: "it has a tag of YAML, which would get lost".to_owned() });
        }
        let value = match value {
            Raw::List(items) => Value::List(items.into_iter().map(|item| item.located(text)).collect::<Result<_, _>>()?),
            Raw::Map(entries) => {
                let located = |(key, node): (Spanned<Zeroizing<String>>, Self)| {
                    Ok(Entry { key: Scalar::read(Raw::Text(key.value), &key.defined, text), node: node.located(text)? })
                };
                Value::Map(entries.into_iter().map(located).collect::<Result<_, _>>()?)
            }
            scalar => Value::Scalar(Scalar::read(scalar, &defined, text)),
        };
        Ok(Node { value, line, column })
    }
}

impl<'de> Deserialize<'de> for RawNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

/// Scalars of which only the spelling counts.
macro_rules! others {
    ($($name:ident: $type:ty),*) => {
        $(fn $name<E>(self, _: $type) -> Result<Raw, E> { Ok(Raw::Other) })*
    };
}

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    others! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64 }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(Zeroizing::new(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}
