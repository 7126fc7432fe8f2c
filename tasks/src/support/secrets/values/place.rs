//! Where the value of a name begins, and how it is written.

use std::ops::Range;

use regex::Captures;

use super::super::strings::Quoted;
use super::super::{LEFT_OUT, lines};
use super::ends;

/// What is no secret under any name.
const HARMLESS: [&str; 7] = ["true", "false", "null", "nil", "<nil>", "<none>", "~"];

/// Where a value that is not in quotes ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// With a word, as in a command.
    Word,
    /// With its line, as in a file of variables.
    Line,
    /// With its line and those below that are further in, as in YAML.
    Block,
}

/// A place behind a name.
pub(super) struct NamedPlace<'a> {
    /// Where the name ends.
    name: usize,
    /// Where its value begins.
    at: usize,
    /// The quote after the name, with the backslashes before it.
    quote: Option<&'a str>,
    until: Until,
    /// A header of HTTP, which is something else in files of Kubernetes.
    is_header: bool,
}

impl<'a> NamedPlace<'a> {
    /// A word that begins here.
    pub(super) fn word(at: usize) -> Self {
        Self { name: at, at, quote: None, until: Until::Word, is_header: false }
    }

    /// Behind a name, its quote, and what stands between it and its value.
    pub(super) fn named(text: &str, found: &Captures<'a>) -> Option<Self> {
        let (name, by, at) = (found.name("name")?, found.name("by")?, found.get(0)?.end());
        let quote = found.name("quote").map(|quote| quote.as_str());
        let is_apart = by.end() < at || text.get(at..).is_none_or(|rest| rest.is_empty() || rest.starts_with(['\n', '\r']));
        let is_header = name.as_str().eq_ignore_ascii_case("authorization");
        let mut place = Self { name: name.end(), at, quote, until: Until::Word, is_header };
        if by.as_str() == ":" && is_apart {
            place.until = if is_header { Until::Line } else { Until::Block };
        } else if is_header || (quote.is_none() && place.column(text).is_some()) {
            place.until = Until::Line;
        }
        Some(place)
    }

    /// The same place, unless it is within a string; or behind one that ends where the value would begin.
    pub(super) fn outside(mut self, text: &str, from: usize, strings: &[Quoted]) -> Option<Self> {
        let before = strings.partition_point(|string| string.place.start < from);
        let Some(string) = before.checked_sub(1).and_then(|index| strings.get(index)) else { return Some(self) };
        if self.at >= string.place.end {
            return Some(self);
        }
        if self.at + 1 < string.place.end {
            return None;
        }
        let behind = text.get(string.place.end..)?;
        let value = behind.trim_start_matches([' ', '\t']);
        self.at = text.len() - value.len();
        self.until = Until::Word;
        (value.len() < behind.len() && !value.starts_with([',', ':', '}', ']', ')', '\n', '\r'])).then_some(self)
    }

    /// The value, and what takes its place; nothing where there is none, or none that is a secret.
    pub(super) fn value(mut self, text: &str) -> Option<(Range<usize>, String)> {
        if self.quote.is_some() {
            self.at = text.len() - text.get(self.at..)?.trim_start().len();
        }
        let rest = text.get(self.at..)?;
        if rest.is_empty() || rest.starts_with(LEFT_OUT) || self.is_harmless(rest) {
            return None;
        }
        if let Some(end) = ends::of_long(text, self.at) {
            return Some((self.at..end, LEFT_OUT.to_owned()));
        }
        if let Some(quote) = ends::quote(rest) {
            return Some(self.in_quotes(text, quote));
        }
        match self.quote {
            Some(quote) => self.of_json(text, quote),
            None => self.plain(text),
        }
    }

    fn is_harmless(&self, rest: &str) -> bool {
        let Some(after) = HARMLESS.iter().find_map(|word| rest.strip_prefix(word)) else { return false };
        let end = if self.until == Until::Word { after } else { after.trim_start_matches([' ', '\t']) };
        end.is_empty() || end.starts_with(['\n', '\r', ',', ';', ')', '}', ']', '"', '\'', '\\', '&', '#']) || {
            self.until == Until::Word && end.starts_with([' ', '\t'])
        }
    }

    fn in_quotes(&self, text: &str, quote: &str) -> (Range<usize>, String) {
        match ends::of_quoted(text, self.at, quote) {
            Some((end, _)) if self.quote.is_none() && self.until != Until::Block && ends::is_glued(text, end) => {
                (self.at..ends::of_word(text, end), LEFT_OUT.to_owned())
            }
            Some((end, true)) => (self.at..end, format!("{quote}{LEFT_OUT}{quote}")),
            Some((end, false)) => (self.at..end, LEFT_OUT.to_owned()),
            None => (self.at..self.below(text, false), LEFT_OUT.to_owned()),
        }
    }

    /// JSON stays JSON, whatever the value was.
    fn of_json(&self, text: &str, quote: &str) -> Option<(Range<usize>, String)> {
        let rest = text.get(self.at..)?;
        if self.is_header && rest.starts_with('{') {
            return None;
        }
        let end = ends::of_brackets(text, self.at).or_else(|| ends::of_number(text, self.at));
        match end {
            Some(end) => Some((self.at..end, format!("{quote}{LEFT_OUT}{quote}"))),
            None => self.plain(text),
        }
    }

    fn plain(&self, text: &str) -> Option<(Range<usize>, String)> {
        if self.until == Until::Word {
            let end = ends::of_word(text, self.at).max(ends::of_brackets(text, self.at).unwrap_or_default());
            return Some((self.at..end, LEFT_OUT.to_owned())).filter(|(range, _)| !range.is_empty());
        }
        let line = text.get(self.at..lines::end(text, self.at))?.trim();
        let is_empty = line.is_empty() || line.starts_with('#');
        let end = self.below(text, is_empty);
        if is_empty && end == lines::end(text, self.at) {
            return if self.until == Until::Block { ends::of_next_line(text, end) } else { None };
        }
        let is_apart = text.get(..self.at).is_some_and(|before| before.ends_with([' ', '\t', '=']));
        Some((self.at..end, if is_apart { LEFT_OUT.to_owned() } else { format!(" {LEFT_OUT}") }))
    }

    /// Where the lines end that may be of the value: its own, what a bracket on it holds, and in YAML those that are further in.
    fn below(&self, text: &str, is_empty: bool) -> usize {
        let brackets = ends::of_brackets(text, self.at).unwrap_or(self.at);
        let end = ends::of_line(text, self.at.max(brackets));
        if self.until != Until::Block {
            return end;
        }
        let is_below = is_empty || ends::is_of_block(text.get(self.at..end).unwrap_or_default());
        match self.column(text).or_else(|| self.indent(text).filter(|_| is_below)) {
            Some((is_of_journal, column)) => ends::of_block(text, end, is_of_journal, column, is_empty),
            None => end,
        }
    }

    /// How far in its line begins, and whether a journal has put something before it.
    fn indent(&self, text: &str) -> Option<(bool, usize)> {
        let start = lines::start(text, self.name);
        let line = text.get(start..lines::end(text, start))?;
        let beginning = lines::beginning(line);
        let value = line.get(beginning..)?;
        Some((beginning > 0, value.len() - value.trim_start_matches([' ', '\t']).len()))
    }

    /// How far in the name begins, if nothing stands before it on its line, and whether a journal does.
    fn column(&self, text: &str) -> Option<(bool, usize)> {
        let start = lines::start(text, self.name);
        let beginning = lines::beginning(text.get(start..lines::end(text, start))?);
        let before = text.get(start + beginning..self.name)?;
        let is_of_name = |letter: char| letter.is_alphanumeric() || "_.-/\"'\\".contains(letter);
        let lead = before.trim_end_matches(is_of_name);
        let is_first = lead.split_whitespace().all(|word| matches!(word, "-" | "export" | "set"));
        is_first.then(|| (beginning > 0, lead.chars().count()))
    }
}
