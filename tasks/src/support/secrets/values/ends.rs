//! Where values end, by how they begin.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::{LEFT_OUT, lines};

/// What stands in brackets, or in three quotes, and is longer is no value.
const MOST_BYTES: usize = 64 << 10;

/// Another name with its value, an item or a title: nothing of the value before it.
static ANOTHER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"^(?:-\s|====|[}\])]|["']?[\w./-]+["']?\s*[:=])"#).ok());

/// The quote that a value begins with, with the backslashes before it.
pub(super) fn quote(rest: &str) -> Option<&str> {
    let bare = rest.trim_start_matches('\\');
    let length = rest.len() - bare.len() + 1;
    if bare.starts_with(['"', '\'']) { rest.get(..length) } else { None }
}

/// Where a value ends that begins with such a quote, and whether that is by its own: where text with quotes is quoted, each that is further in has more
/// backslashes, and one with fewer ends what is around it. Nothing, if none ends it on its line.
pub(super) fn of_quoted(text: &str, at: usize, quote: &str) -> Option<(usize, bool)> {
    let (own, mark) = (quote.len() - 1, quote.chars().last()?);
    let from = at + quote.len();
    let line = text.get(from..lines::end(text, from))?;
    let (mut backslashes, mut letters) = (0, line.char_indices().peekable());
    while let Some((index, letter)) = letters.next() {
        if letter == mark {
            let doubled = mark == '\'' && own == 0 && letters.peek().is_some_and(|(_, next)| *next == '\'');
            match backslashes {
                _ if doubled => drop(letters.next()),
                fewer if fewer < own => return Some((from + index - fewer, false)),
                // In single quotes a backslash is nothing but that.
                _ if mark == '\'' && own == 0 => return Some((from + index + 1, true)),
                more if (more - own) % (2 * (own + 1)) == 0 => return Some((from + index + 1, true)),
                _ => {}
            }
        }
        backslashes = if letter == '\\' { backslashes + 1 } else { 0 };
    }
    None
}

/// Where a value of several lines ends that begins with three quotes.
pub(super) fn of_long(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let quotes = ["\"\"\"", "'''"].into_iter().find(|quotes| rest.starts_with(quotes))?;
    let length = rest.get(quotes.len()..)?.find(quotes).filter(|length| *length <= MOST_BYTES);
    Some(length.map_or_else(|| lines::end(text, at), |length| at + length + 2 * quotes.len()))
}

/// Whether a shell goes on with the word that a quote has ended.
pub(super) fn is_glued(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    rest.starts_with(|letter: char| letter.is_alphanumeric() || "\"'$".contains(letter)) || rest.starts_with("\\'")
}

/// Where a word ends. What is in quotes is of it.
pub(super) fn of_word(text: &str, at: usize) -> usize {
    let line = text.get(at..lines::end(text, at)).unwrap_or_default();
    let (mut quoted_until, mut escaped) = (0, false);
    for (index, letter) in line.char_indices() {
        if index < quoted_until {
            continue;
        }
        if letter.is_whitespace() && !escaped {
            return at + index;
        }
        if matches!(letter, '"' | '\'') && !escaped {
            let rest = line.get(index + 1..).unwrap_or_default();
            quoted_until = rest.find(letter).map_or(0, |length| index + length + 2);
        }
        escaped = letter == '\\' && !escaped;
    }
    at + line.len()
}

/// Where a line ends, with those that a backslash at its end lets follow.
pub(super) fn of_line(text: &str, at: usize) -> usize {
    let mut end = lines::end(text, at);
    while text.get(at..end).is_some_and(|line| line.ends_with('\\')) {
        let Some((_, to, _)) = lines::after(text, end) else { break };
        end = to;
    }
    end
}

/// Where the brackets end that a value begins with.
pub(super) fn of_brackets(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if !rest.starts_with(['[', '{']) {
        return None;
    }
    let (mut depth, mut quoted_until, mut backslashes) = (0_usize, 0, 0);
    for (index, byte) in rest.bytes().enumerate().take(MOST_BYTES) {
        if index < quoted_until {
            continue;
        }
        match byte {
            b'"' => {
                let from = index - backslashes;
                quoted_until = of_quoted(text, at + from, rest.get(from..=index)?).filter(|(_, closes)| *closes)?.0 - at;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + index + 1);
        }
        backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
    }
    None
}

/// Where a number of JSON ends.
pub(super) fn of_number(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter));
    let ends = after.is_empty() || after.starts_with([',', '}', ']', '\\', ' ', '\t', '\n', '\r']);
    (ends && after.len() < rest.len()).then(|| text.len() - after.len())
}

/// Whether what stands behind a name says that its value are the lines below.
pub(super) fn is_of_block(line: &str) -> bool {
    let value = line.split(" #").next().unwrap_or_default().trim_end();
    value.trim_end_matches(|letter: char| letter.is_ascii_digit() || "+-".contains(letter)).ends_with(['|', '>'])
}

/// Where the lines end that are further in than a column, or as far if they are items and nothing else is said. A journal has put its own before each.
pub(super) fn of_block(text: &str, end: usize, is_of_journal: bool, column: usize, is_empty: bool) -> usize {
    let (mut last, mut at) = (end, end);
    while let Some((_, to, line)) = lines::after(text, at) {
        let beginning = if is_of_journal { lines::beginning(line) } else { 0 };
        let line = line.get(beginning..).unwrap_or(line);
        let inner = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - inner.len();
        let is_item = is_empty && indent == column && (inner.starts_with("- ") || inner.trim() == "-");
        at = to;
        if inner.trim().is_empty() {
            continue;
        }
        if indent <= column && !is_item {
            break;
        }
        last = to;
    }
    last
}

/// A value on a line of its own, as kubeadm says it, unless that is something else.
pub(super) fn of_next_line(text: &str, end: usize) -> Option<(Range<usize>, String)> {
    let mut at = end;
    for _ in 0..2 {
        let (from, to, line) = lines::after(text, at)?;
        let beginning = lines::beginning(line);
        let value = line.get(beginning..)?.trim();
        if value.is_empty() {
            at = to;
            continue;
        }
        let is_another = ANOTHER.as_ref().is_none_or(|another| another.is_match(value)) || value.starts_with(LEFT_OUT);
        return (!is_another).then(|| (from + line.rfind(value).unwrap_or(beginning)..to, LEFT_OUT.to_owned()));
    }
    None
}
