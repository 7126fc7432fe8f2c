//! Taking out of everything that is said what was worked out of secrets.

use std::collections::BTreeMap;

use super::Input;
use crate::hide::HIDDEN;
use crate::model::Concealed;
use crate::resolve::Tainted;
use crate::tree::{Node, Tag, Value};
use crate::words::quote;
use crate::{Given, Message, Position};

/// As much of a word of a secret tells what it is.
const TELLING: usize = 8;

/// Expressions that need secrets, by their places.
type Places = BTreeMap<Position, Tainted>;

/// What is taken out: at its own place a secret in whatever form, and everywhere the text of it.
struct Search<'p> {
    places: &'p Places,
    /// Short ones are parts of too many words to be looked for everywhere.
    texts: Concealed,
    /// Those that were encrypted, however short: they are looked for as words, in what is said of problems.
    words: Vec<&'p str>,
}

/// Takes secrets out of problems, notices and values; in the inline form they are marked, so that no copy holds them.
pub(super) fn conceal(input: &mut Input, places: &Places) {
    if places.is_empty() {
        return;
    }
    let texts = places.values().filter(|tainted| !tainted.is_local).flat_map(|tainted| &tainted.results);
    let encrypted = places.values().filter(|tainted| tainted.is_encrypted).flat_map(|tainted| &tainted.results);
    let words = encrypted.map(|text| text.trim()).filter(|text| text.chars().nth(1).is_some() && !["true", "false"].contains(text));
    let search = Search { places, texts: Concealed::new(texts.map(String::as_str)), words: words.collect() };
    for problem in &mut input.problems {
        of_message(problem, &search);
    }
    for notice in &mut input.notices {
        of_message(notice, &search);
    }
    for given in &mut input.variables {
        of_given(given, &search);
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

fn of_message<W>(message: &mut Message<W>, search: &Search<'_>) {
    if let Some(tainted) = message.position.as_ref().and_then(|position| search.places.get(position)) {
        if tells(&message.message, tainted) {
            message.message = match tainted.is_encrypted {
                true => format!("`{}` cannot be what is encrypted there", tainted.name),
                false => format!("`{}` cannot be what {} gives", tainted.name, quote(&tainted.expression)),
            };
        }
        message.because = message.because.take().filter(|text| !tells(text, tainted));
        message.because.get_or_insert_with(|| "its value comes from a secret, and is not shown for that reason".to_owned());
        message.hint = message.hint.take().filter(|text| !tells(text, tainted));
    }
    for text in [&mut message.message].into_iter().chain(&mut message.because).chain(&mut message.hint) {
        *text = search.texts.hide(text).into_owned();
        search.words.iter().for_each(|word| *text = without_word(text, word));
    }
}

/// The text without a word, where it stands for itself: a message may name two values, and have the place of one.
fn without_word(text: &str, word: &str) -> String {
    let ends = |text: &str| !text.chars().next_back().is_some_and(char::is_alphanumeric);
    let begins = |text: &str| !text.chars().next().is_some_and(char::is_alphanumeric);
    let (mut left, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(word) {
        let is_whole = ends(before) && (!before.is_empty() || ends(&left)) && begins(behind);
        left.extend([before, if is_whole { HIDDEN } else { word }]);
        rest = behind;
    }
    left + rest
}

fn of_given(given: &mut Given, search: &Search<'_>) {
    if given.value == HIDDEN {
        return;
    }
    if let Some(tainted) = search.places.get(&given.position) {
        given.value = if tainted.is_encrypted { HIDDEN.to_owned() } else { quote(&tainted.expression) };
    } else if search.places.values().any(|tainted| tainted.name == given.name && tells(&given.value, tainted)) {
        given.value = HIDDEN.to_owned();
    }
    given.value = search.texts.hide(&given.value).into_owned();
    given.because = search.texts.hide(&given.because).into_owned();
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

fn mark(node: &mut Node, places: &Places) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| mark(item, places)),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| mark(&mut entry.node, places)),
        _ if places.contains_key(&node.position) => node.tag = Tag::Secret,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::without_word;

    #[test]
    fn a_word_is_taken_out_where_it_stands_for_itself() {
        assert_eq!(without_word("from 41 % on, and down to 77 %; 41", "41"), "from (hidden) % on, and down to 77 %; (hidden)");
        assert_eq!(without_word("`dyn` of dynamic, dyn1 and 4dyn", "dyn"), "`(hidden)` of dynamic, dyn1 and 4dyn");
        assert_eq!(without_word("4141 is 41", "41"), "4141 is (hidden)");
    }
}
