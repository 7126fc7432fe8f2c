//! Words of users in messages: quoted, and compared with those that we know.

use std::cmp::Reverse;

use crate::Problem;
use crate::hide::without_secrets;

/// What of a value is quoted in a message at most.
const MAX_QUOTED: usize = 80;

/// Text of a user in backquotes: in one line, not too long, without what is known to be a password or a key.
pub(crate) fn quote(text: &str) -> String {
    let text = without_secrets(text);
    let short: String = text.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
    // Quotes need no escape between backquotes.
    let short = short.replace("\\\"", "\"").replace("\\'", "'");
    if text.chars().nth(MAX_QUOTED).is_some() { format!("`{short}…`") } else { format!("`{short}`") }
}

/// A number with what it counts, whose plural ends in `s`: `1 host`, `2 hosts`.
#[must_use]
pub fn count(number: usize, one: &str) -> String {
    counted(number, one, &format!("{one}s"))
}

/// A number with what it counts, in its two forms: `1 host has`, `2 hosts have`.
#[must_use]
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Names that a message lists at the most: a fleet is not read.
const MAX_LISTED: usize = 10;

/// The first of these names, with commas between them, and how many more there are.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let first = names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED { format!("{first} and {} more", names.len() - MAX_LISTED) } else { first }
}

/// Adds the known word that is nearest to what was written, or else what to do where none is near.
pub(crate) fn with_nearest(problem: Problem, written: &str, known: &[&str], otherwise: &str) -> Problem {
    match nearest(written, known) {
        Some(word) => problem.hint(format!("did you mean `{word}`?")),
        None => problem.hint(otherwise),
    }
}

/// The nearest word by edits, where case and separators count for nothing; `None` if no word is near enough to be meant. A word of which
/// only the beginning was written comes before all others, and of words equally near the one with more of the same beginning.
#[must_use]
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| -> String {
        let kept = text.chars().take(MAX_QUOTED).filter(|c| !matches!(c, '_' | '-' | '.'));
        kept.flat_map(char::to_lowercase).collect()
    };
    let written = plain(written);
    // One edit per three letters: more, and the hint misleads.
    let most = written.chars().count().div_ceil(3);
    let rank = |word: &&'a str| {
        let word = plain(word);
        let distance = strsim::damerau_levenshtein(&written, &word);
        let alike = written.chars().zip(word.chars()).take_while(|(written, known)| written == known).count();
        (distance <= most).then_some((!word.starts_with(&written), distance, Reverse(alike)))
    };
    known.iter().filter_map(|word| Some((rank(word)?, *word))).min_by_key(|(rank, _)| *rank).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::{count, counted, listed};

    #[test]
    fn one_is_one_and_all_else_is_many() {
        assert_eq!([0, 1, 2].map(|number| count(number, "host")), ["0 hosts", "1 host", "2 hosts"]);
        assert_eq!(listed(["a", "b"]), "a, b");
        assert!(listed(["x"; 12]).ends_with("x, x and 2 more"));
        assert_eq!([1, 21].map(|number| counted(number, "host has", "hosts have")), ["1 host has", "21 hosts have"]);
    }
}
