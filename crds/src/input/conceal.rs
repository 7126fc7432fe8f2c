//! Taking out of everything that is said what was worked out of secrets.

use std::collections::BTreeMap;

use super::Input;
use crate::hide::HIDDEN;
use crate::resolve::Tainted;
use crate::tree::{Node, Tag, Value};
use crate::words::quote;
use crate::{Given, Message, Position};

/// Shorter secrets are parts of too many words to be looked for everywhere; at their own place they are.
const SHORT: usize = 4;
/// As much of a word of a secret tells what it is.
const TELLING: usize = 8;

/// Expressions that need secrets, by their places.
type Places = BTreeMap<Position, Tainted>;

/// Takes secrets out of problems, notices and values; in the inline form they are marked, so that no copy holds them.
pub(super) fn conceal(input: &mut Input, places: &Places) {
    if places.is_empty() {
        return;
    }
    for problem in &mut input.problems {
        of_message(problem, places);
    }
    for notice in &mut input.notices {
        of_message(notice, places);
    }
    for given in &mut input.variables {
        of_given(given, places);
    }
    if let Some(inline) = &mut input.inline {
        mark(inline, places);
    }
}

/// Takes out the values of variables of which secrets are made.
pub(super) fn parts_of_secrets(input: &mut Input) {
    let Some(resolved) = &input.resolved else { return };
    for given in input.variables.iter_mut().filter(|given| resolved.feeds_a_secret(&given.name)) {
        given.value = HIDDEN.to_owned();
    }
}

fn of_message<W>(said: &mut Message<W>, places: &Places) {
    if let Some(tainted) = said.position.as_ref().and_then(|position| places.get(position)) {
        if tells(&said.message, tainted) {
            said.message = format!("`{}` cannot be what {} gives", tainted.name, quote(&tainted.expression));
        }
        said.because = said.because.take().filter(|text| !tells(text, tainted));
        said.because.get_or_insert_with(|| "its value comes from a secret, and is not shown for that reason".to_owned());
        said.hint = said.hint.take().filter(|text| !tells(text, tainted));
    }
    for text in [&mut said.message].into_iter().chain(&mut said.because).chain(&mut said.hint) {
        *text = without(std::mem::take(text), places);
    }
}

fn of_given(given: &mut Given, places: &Places) {
    if given.value == HIDDEN {
        return;
    }
    if let Some(tainted) = places.get(&given.position) {
        given.value = quote(&tainted.expression);
    } else if places.values().any(|tainted| tainted.name == given.name && tells(&given.value, tainted)) {
        given.value = HIDDEN.to_owned();
    }
    given.value = without(std::mem::take(&mut given.value), places);
    given.because = without(std::mem::take(&mut given.because), places);
}

/// Whether a text says something of what came out, be it a part, or shortened.
fn tells(text: &str, tainted: &Tainted) -> bool {
    let text = text.to_lowercase();
    let says = |part: &str| {
        let part: String = part.to_lowercase().chars().take(TELLING).collect();
        !part.is_empty() && text.contains(&part)
    };
    // What the variable's own name says is no secret, and a word of two letters is one of any text.
    let is_telling = |word: &&str| word.chars().nth(2).is_some() && !tainted.name.contains(*word);
    let in_words = |result: &String| says(result.trim()) || result.split(|c: char| !c.is_alphanumeric()).filter(is_telling).any(says);
    tainted.results.iter().any(in_words)
}

/// Takes whole secrets out of a text about something else.
fn without(text: String, places: &Places) -> String {
    let results = places.values().flat_map(|tainted| &tainted.results).filter(|result| result.len() >= SHORT);
    results.fold(text, |text, result| if text.contains(result.as_str()) { text.replace(result.as_str(), HIDDEN) } else { text })
}

fn mark(node: &mut Node, places: &Places) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| mark(item, places)),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| mark(&mut entry.node, places)),
        _ if places.contains_key(&node.position) => node.tag = Tag::Secret,
        _ => {}
    }
}
