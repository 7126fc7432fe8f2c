//! The tree as the deserializer hands it out.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned, Tagged};

use super::{Dialect, Entry, Node, Tag, Value, place};
use crate::position::Locator;

/// A node as the deserializer hands it out.
pub(super) struct Raw(Spanned<Tagged<RawValue>>);

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
    pub(super) fn located(self, locator: &Locator, text: &str, dialect: Dialect) -> Node {
        let Spanned { value: Tagged(value, tag), referenced, defined, .. } = self.0;
        let tag = tag.as_deref().map_or(Tag::None, known_tag);
        let value = match value {
            RawValue::Null => Value::Null,
            RawValue::Bool(value) => Value::Bool(value),
            RawValue::Integer(value) => Value::Integer(value),
            RawValue::Float => Value::Float,
            RawValue::Text(value) => word(value, tag, &defined, text, dialect),
            RawValue::List(items) => Value::List(items.into_iter().map(|item| item.located(locator, text, dialect)).collect()),
            RawValue::Map(entries) => {
                let located = |(key, node): (Spanned<String>, Self)| Entry {
                    key_position: place(locator, &key.referenced),
                    key: key.value,
                    node: node.located(locator, text, dialect),
                };
                Value::Map(entries.into_iter().map(located).collect())
            }
        };
        let spelling = match value {
            Value::Integer(_) | Value::Float | Value::Bool(_) => slice(&defined, text).to_owned(),
            _ => String::new(),
        };
        Node { value, position: place(locator, &referenced), spelling, tag, called: None }
    }
}

fn known_tag(tag: &str) -> Tag {
    match tag {
        "!unsafe" => Tag::Unsafe,
        "!vault" | "!vault-encrypted" => Tag::Vault,
        _ => Tag::None,
    }
}

/// Text, or what YAML 1.1 takes it for where it stands without quotes.
fn word(value: String, tag: Tag, location: &Location, text: &str, dialect: Dialect) -> Value {
    let is_word = dialect.is_old() && tag == Tag::None && value.len() <= 3;
    if !is_word || slice(location, text) != value {
        return Value::Text(value);
    }
    match value.as_str() {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Value::Bool(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => Value::Text(value),
    }
}

/// What stands at a place, as it is spelled.
fn slice<'a>(location: &Location, text: &'a str) -> &'a str {
    let span = location.span();
    let slice = span.byte_offset().zip(span.byte_len()).and_then(|(start, length)| {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        text.get(start..end)
    });
    slice.unwrap_or_default()
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
