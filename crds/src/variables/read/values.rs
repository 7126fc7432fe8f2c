//! Values that are taken over as they are: options of programs and fields of their configurations.

use std::ops::RangeInclusive;

use serde_json::Value as Json;

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{SwitchedSettings, Values};
use crate::syntax::duration::duration;
use crate::tree::Value;
use crate::words::quote;

pub(crate) use super::structure::{any, entries, is_free, items, json, map, some_items, within};

/// What a time of Go looks like, as an error says it.
pub(super) const TIME: &str = "it is a time like `30s`, `1m30s` or `1h`";

/// Adds a value under a name that nothing else may have said.
pub(crate) fn put(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str, value: Json) {
    decoder.tell(field, name, &value);
    // Kubespray's own files make one variable of another.
    if to.get(name) == Some(&value) {
        return;
    }
    // A part of a map and the whole of it say the same as well.
    let within = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
    if to.keys().any(|known| known == name || within(known, name) || within(name, known)) {
        let problem = Problem::new(format!("{} is said twice", quote(name))).at(field.position());
        return decoder.report(problem.because("another variable says it too").hint("keep one of the two"));
    }
    to.insert(name.to_owned(), value);
}

/// A time.
pub(crate) fn time(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    let Some(text) = scalar(decoder, field) else { return };
    if duration(&text).is_some() {
        return put(decoder, field, to, name, text.into());
    }
    decoder.report(
        Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text)))
            .at(field.position())
            .because(TIME)
            .hint("write such a time, or leave it out"),
    );
}

/// A whole number, also where it stands in quotes, as Kubespray has many.
pub(crate) fn integer(decoder: &mut Decoder, field: &Field<'_>, range: RangeInclusive<i64>) -> Option<i64> {
    match &field.node.value {
        Value::Text(text) if text.trim().parse().is_ok_and(|value| range.contains(&value)) => {
            decoder.place(field);
            text.trim().parse().ok()
        }
        _ => decoder.integer(field, range),
    }
}

/// A whole number of that range.
pub(crate) fn number(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str, range: RangeInclusive<i64>) {
    if let Some(value) = integer(decoder, field, range) {
        put(decoder, field, to, name, value.into());
    }
}

/// A whole number that is 0 or more.
pub(crate) fn count(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    number(decoder, field, to, name, 0..=i64::MAX);
}

/// `true` or `false`.
pub(crate) fn flag(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if let Some(value) = decoder.boolean(field) {
        put(decoder, field, to, name, value.into());
    }
}

/// One line of text, or a number or a boolean as it was written.
pub(crate) fn text(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if let Some(text) = scalar(decoder, field) {
        put(decoder, field, to, name, text.into());
    }
}

/// One of some words.
pub(crate) fn word(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str, words: &[&'static str]) {
    let choices: Vec<_> = words.iter().map(|word| (*word, *word)).collect();
    if let Some(word) = decoder.choice(field, &choices) {
        put(decoder, field, to, name, word.into());
    }
}

/// Names, as a list or with commas between.
pub(crate) fn names(decoder: &mut Decoder, field: &Field<'_>) -> Option<Vec<String>> {
    const RULE: &str = "it is a list of names";
    let listed: Vec<(String, Field<'_>)> = match &field.node.value {
        Value::Text(text) => {
            decoder.place(field);
            // What a template makes of a list is the text of one.
            let inner = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            let name = |name: &str| name.trim().trim_matches(['\'', '"']).to_owned();
            inner.split(',').map(|part| (name(part), field.clone())).filter(|(name, _)| !name.is_empty()).collect()
        }
        _ => decoder.texts(field, RULE).into_iter().map(|(text, item)| (text.to_owned(), item)).collect(),
    };
    for (name, item) in &listed {
        if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control() || c == ',') {
            decoder.report(
                Problem::new(format!("{} is no name", quote(name)))
                    .at(item.position())
                    .because(RULE)
                    .hint("write each as an entry of its own, without blanks and commas"),
            );
            return None;
        }
    }
    Some(listed.into_iter().map(|(name, _)| name).collect())
}

/// Names as one text with commas between; nothing if there are none.
pub(crate) fn joined(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if let Some(names) = names(decoder, field).filter(|names| !names.is_empty()) {
        put(decoder, field, to, name, names.join(",").into());
    }
}

/// Names as a list.
pub(crate) fn list(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if let Some(names) = names(decoder, field) {
        put(decoder, field, to, name, names.into());
    }
}

/// Switches a group of settings.
pub(crate) fn switch(decoder: &mut Decoder, field: &Field<'_>, group: &mut SwitchedSettings) {
    group.enabled = decoder.boolean(field).unwrap_or(group.enabled);
}

/// What can stand behind `=` of an option.
pub(crate) fn scalar(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    decoder.place(field);
    let text = match &field.node.value {
        Value::Bool(value) => value.to_string(),
        // In YAML 1.1 `0644` is 420, and Ansible passes that on.
        Value::Integer(value) => value.to_string(),
        Value::Float => field.node.spelling.clone(),
        _ => decoder.text(field)?.trim().to_owned(),
    };
    if text.chars().any(char::is_control) {
        let problem = Problem::new(format!("`{}` has control characters", field.name())).at(field.position());
        decoder
            .report(problem.because("it is one line of text").hint("write it in one line: a block of YAML (`|`) ends with a line break"));
        return None;
    }
    Some(text)
}

/// An address.
pub(crate) fn address(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    let Some(text) = scalar(decoder, field) else { return };
    if text.parse::<std::net::IpAddr>().is_ok() {
        return put(decoder, field, to, name, text.into());
    }
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    decoder.report(problem.because("it is an address").hint("write an IP address, or leave it out"));
}
