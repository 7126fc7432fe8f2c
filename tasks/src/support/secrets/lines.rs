//! Lines of texts, and of journals that have such.

use std::sync::LazyLock;

use regex::Regex;

/// What journals and logs of containers begin their lines with.
static BEGINNING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ [^\s:]+: |\d{4}-\d\d-\d\dT\S+ (?:\S+ [^\s:]+: |(?:stdout|stderr) [FP] ))").ok()
});

/// How long what a journal has put before a line is; nothing where none has.
pub(super) fn beginning(line: &str) -> usize {
    BEGINNING.as_ref().and_then(|pattern| pattern.find(line)).map_or(0, |found| found.end())
}

/// Where the line ends that `at` is in, without its end.
pub(super) fn end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| at + length)
}

/// Where that line begins.
pub(super) fn start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// The line after one that ends at `end`: where it begins and ends, and what it says.
pub(super) fn after(text: &str, end: usize) -> Option<(usize, usize, &str)> {
    let from = end.checked_add(1).filter(|from| *from <= text.len() && end < text.len())?;
    let to = self::end(text, from);
    Some((from, to, text.get(from..to)?))
}
