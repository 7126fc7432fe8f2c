//! Words of users in messages: quoted, and compared with those that we know.

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

/// Adds the known word that is nearest to what was written, if one is near.
pub(crate) fn with_nearest(problem: Problem, written: &str, known: &[&str]) -> Problem {
    match nearest(written, known) {
        Some(word) => problem.hint(format!("did you mean `{word}`?")),
        None => problem,
    }
}

/// The nearest word by edits, where case and separators count for nothing; `None` if no word is near enough to be meant.
#[must_use]
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| -> String {
        let kept = text.chars().take(MAX_QUOTED).filter(|c| !matches!(c, '_' | '-' | '.'));
        kept.flat_map(char::to_lowercase).collect()
    };
    let written = plain(written);
    let distance = |word: &str| strsim::damerau_levenshtein(&written, &plain(word));
    let best = known.iter().map(|word| (distance(word), *word)).min_by_key(|(distance, _)| *distance)?;
    // One edit per three letters: more, and the hint misleads.
    (best.0 <= written.chars().count().div_ceil(3)).then_some(best.1)
}
