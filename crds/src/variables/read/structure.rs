//! Values with all that is in them: maps and lists that a program knows and kokctl does not.

use serde_json::Value as Json;

use super::fixed::SCHEDULER_PARTS;
use super::values::put;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::Values;
use crate::tree::{Node, Value};
use crate::words::quote;

/// A map of whatever the program takes, each entry under its own name.
pub(crate) fn entries(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, own: &[(&str, &str)]) {
    let what = format!("`{}`", field.name());
    for entry in decoder.entries(field, &what).unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if is_free(decoder, field, (&entry.key, &entry.key_position), own)
            && let Some(value) = json(decoder, &item)
        {
            put(decoder, &item, to, &entry.key, value);
        }
    }
}

/// Whether a user may say something himself: most of what kokctl says would make another cluster.
pub(crate) fn is_free(decoder: &mut Decoder, field: &Field<'_>, (name, at): (&str, &crate::Position), own: &[(&str, &str)]) -> bool {
    let is_meant = |known: &str| known.strip_suffix('*').map_or(known == name, |beginning| name.starts_with(beginning));
    let Some((_, hint)) = own.iter().find(|(known, _)| is_meant(known)) else { return true };
    let problem = Problem::new(format!("`{}` may not say {}", field.name(), quote(name))).at(at);
    decoder.turn_down(name);
    decoder.report(problem.because("kokctl says it itself, and both would contradict each other").hint(*hint));
    false
}

/// Anything, as it would stand in a file of configuration.
pub(crate) fn any(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if let Some(value) = json(decoder, field) {
        put(decoder, field, to, name, value);
    }
}

/// A map, as it would stand in a file of configuration.
pub(crate) fn map(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if decoder.entries(field, &format!("`{}`", field.name())).is_some() {
        any(decoder, field, to, name);
    }
}

/// A list, as it would stand in a file of configuration.
pub(crate) fn items(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if decoder.list(field, &format!("`{}` is a list", field.name())).is_some() {
        any(decoder, field, to, name);
    }
}

/// A value with all that is in it.
pub(crate) fn json(decoder: &mut Decoder, field: &Field<'_>) -> Option<Json> {
    decoder.place(field);
    let value = of_node(field.node);
    if value.is_none() {
        let problem = Problem::new(format!("`{}` has a number that is none of JSON", field.name())).at(field.position());
        decoder.report(problem.because(format!("it has {}", quote(&field.node.spelling))).hint("write it in quotes if it is text"));
    }
    value
}

fn of_node(node: &Node) -> Option<Json> {
    Some(match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Integer(value) => Json::from(*value),
        Value::Float => serde_json::from_str::<serde_json::Number>(&node.spelling).ok()?.into(),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => Json::Array(items.iter().map(of_node).collect::<Option<_>>()?),
        Value::Map(entries) => {
            let fields = entries.iter().map(|entry| Some((entry.key.clone(), of_node(&entry.node)?)));
            Json::Object(fields.collect::<Option<_>>()?)
        }
    })
}

/// A list, as it would stand in a file of configuration; nothing if it is empty.
pub(crate) fn some_items(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    match &field.node.value {
        Value::List(list) if list.is_empty() => decoder.place(field),
        _ => items(decoder, field, to, name),
    }
}

/// A map whose entries are fields of a field.
pub(crate) fn within(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    let what = format!("`{}`", field.name());
    for entry in decoder.entries(field, &what).unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if is_free(decoder, field, (&entry.key, &entry.key_position), SCHEDULER_PARTS) {
            any(decoder, &item, to, &format!("{name}.{}", entry.key));
        }
    }
}
