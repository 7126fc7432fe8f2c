//! Scalars: text, numbers, words.

use super::{Decoder, Field};
use crate::tree::Value;
use crate::words::{quote, with_nearest};
use crate::{Problem, Secret};

impl Decoder {
    /// Text. A number or a boolean is none: YAML may already have changed it.
    pub(crate) fn text<'a>(&mut self, field: &Field<'a>) -> Option<&'a str> {
        self.place(field);
        match &field.node.value {
            Value::Text(text) => Some(text),
            Value::Bool(_) | Value::Integer(_) | Value::Float => {
                let spelling = &field.node.spelling;
                self.report(
                    Problem::new(format!("`{}` cannot be {}", field.name(), field.node.value.kind()))
                        .at(field.position())
                        .because(format!("it is text, and without quotes YAML takes {} for {}", quote(spelling), field.node.value.kind()))
                        .hint(format!("write \"{}\"", spelling.escape_debug())),
                );
                None
            }
            _ => self.wrong_type(field, "it is text", "write one text in its place"),
        }
    }

    /// Text that no message may repeat.
    pub(crate) fn secret(&mut self, field: &Field<'_>) -> Option<Secret> {
        self.place(field);
        let reason = match &field.node.value {
            Value::Text(text) => match wrong_secret(text) {
                None => return Some(Secret::new(text.as_bytes())),
                Some((because, hint)) => (because, hint),
            },
            Value::Bool(_) | Value::Integer(_) | Value::Float => ("without quotes YAML does not take it for text", "write it in quotes"),
            Value::Null | Value::List(_) | Value::Map(_) => ("it is text", "write one text in its place"),
        };
        let problem = Problem::new(format!("`{}` is no password", field.name())).at(field.position());
        self.report(problem.because(reason.0).hint(reason.1));
        None
    }

    /// A whole number of that range.
    pub(crate) fn integer(&mut self, field: &Field<'_>, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        self.place(field);
        let because = format!("it is a whole number from {} to {}", range.start(), range.end());
        match &field.node.value {
            Value::Integer(value) if range.contains(value) => Some(*value),
            Value::Integer(_) | Value::Float => {
                let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&field.node.spelling)));
                self.report(problem.at(field.position()).because(because).hint(IN_RANGE));
                None
            }
            Value::Text(text) => {
                let problem = Problem::new(format!("`{}` cannot be the text {}", field.name(), quote(text))).at(field.position());
                let is_number = text.trim().parse::<i64>().is_ok_and(|value| range.contains(&value));
                let problem = problem.because(because);
                self.report(problem.hint(if is_number { "write it without quotes" } else { IN_RANGE }));
                None
            }
            _ => self.wrong_type(field, &because, IN_RANGE),
        }
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self, field: &Field<'_>) -> Option<bool> {
        self.place(field);
        match field.node.value {
            Value::Bool(value) => Some(value),
            _ => self.wrong_type(field, "it is `true` or `false`", "write one of the two without quotes"),
        }
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(&mut self, field: &Field<'_>, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(field)?;
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text)))
            .at(field.position())
            .because(format!("it is one of {}", words.join(", ")));
        self.report(with_nearest(problem, text, &words, "write one of these, or leave it out"));
        None
    }
}

/// What to do about a number that is none, or none of those that are taken.
const IN_RANGE: &str = "write such a number, or leave it out";

/// What is wrong with a password, apart from being the wrong one, and what to do.
fn wrong_secret(text: &str) -> Option<(&'static str, &'static str)> {
    /// PAM takes 512 bytes with the NUL at the end (`PAM_MAX_RESP_SIZE`).
    const MAX_BYTES: usize = 511;
    if text.is_empty() {
        Some(("it is empty", "write it, or leave the field out where none is needed"))
    } else if text.len() > MAX_BYTES {
        Some(("it is longer than the 511 bytes that PAM takes", "give the user a shorter one, or log in with a key"))
    } else if text.chars().any(char::is_control) {
        Some(("it has control characters, such as the end of a line", "write it in one line: a block of YAML (`|`) ends with a line break"))
    } else {
        None
    }
}
