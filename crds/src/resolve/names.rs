//! The names in expressions whose values become part of what comes out.

use super::template::next_opening;

/// How a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameUse {
    /// As a whole.
    Whole,
    /// Only a part of it is used.
    Root,
    /// As that part: `x.name`, `x['name']`, `x.get('name')`.
    Part,
}

/// The names in all expressions of a text, but for those that only decide which of the others counts.
pub(super) fn names(text: &str) -> Vec<(NameUse, &str)> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, opened)) = next_opening(rest) {
        let inside = opened.get(2..).unwrap_or_default();
        let end = ["}}", "%}"].iter().filter_map(|end| inside.find(end)).min().unwrap_or(inside.len());
        let (body, behind) = inside.split_at(end);
        if !opened.starts_with("{#") {
            Expression { rest: body, before: ' ', word: "", depth: 0, condition: None }.read(&mut names);
        }
        rest = behind;
    }
    names
}

/// An expression on the way through it.
struct Expression<'a> {
    rest: &'a str,
    /// The sign before what comes next.
    before: char,
    /// The last word.
    word: &'a str,
    /// How many parentheses are open.
    depth: usize,
    /// How many were, where a condition began.
    condition: Option<usize>,
}

impl<'a> Expression<'a> {
    fn read(mut self, names: &mut Vec<(NameUse, &'a str)>) {
        while let Some(c) = self.rest.chars().next() {
            if matches!(c, '"' | '\'') {
                self.quoted(c, names);
            } else if is_word(c) {
                self.word(names);
            } else {
                self.sign(c);
            }
        }
    }

    fn sign(&mut self, c: char) {
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '(' => self.depth += 1,
            ')' => {
                self.depth = self.depth.saturating_sub(1);
                self.condition = self.condition.filter(|began| *began <= self.depth);
            }
            _ => {}
        }
        // Blanks in templates may have been replaced by control characters.
        if !c.is_whitespace() && !c.is_control() {
            self.before = c;
        }
    }

    fn quoted(&mut self, quote: char, names: &mut Vec<(NameUse, &'a str)>) {
        let inside = self.rest.get(1..).unwrap_or_default();
        let (text, behind) = inside.split_once(quote).unwrap_or((inside, ""));
        let is_part = self.before == '[' || (self.before == '(' && self.word == "get");
        if is_part && self.condition.is_none() {
            names.push((NameUse::Part, text));
        }
        (self.rest, self.before) = (behind, quote);
    }

    fn word(&mut self, names: &mut Vec<(NameUse, &'a str)>) {
        let (word, behind) = self.rest.split_at(self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len()));
        match word {
            "if" | "elif" => self.condition = Some(self.depth),
            "else" => self.condition = None,
            _ if self.condition.is_some() || word.starts_with(|c: char| c.is_ascii_digit()) => {}
            // Filters and functions.
            _ if self.before == '|' || (self.before != '.' && behind.starts_with('(')) => {}
            _ if self.before == '.' => names.push((NameUse::Part, word)),
            _ if behind.starts_with(['.', '[']) => names.push((NameUse::Root, word)),
            _ => names.push((NameUse::Whole, word)),
        }
        (self.rest, self.word, self.before) = (behind, word, 'a');
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{NameUse, names};

    #[test]
    fn names_are_found_where_their_values_count() {
        use NameUse::{Part, Root, Whole};
        for (text, expected) in [
            ("{{ a }} b {{ c }}", vec![(Whole, "a"), (Whole, "c")]),
            ("{{ a.b }}", vec![(Root, "a"), (Part, "b")]),
            ("{{ a['b c'] ~ 'd' }}", vec![(Root, "a"), (Part, "b c")]),
            ("{{ a.get('b') }}", vec![(Root, "a"), (Part, "get"), (Part, "b")]),
            ("{{ a | b('c') ~ d(e) }}", vec![(Whole, "a"), (Whole, "e")]),
            ("{{ a if b == 'c' else d }}", vec![(Whole, "a"), (Whole, "d")]),
            ("{{ (a if b) + c }}", vec![(Whole, "a"), (Whole, "c")]),
            ("{% if a %}{{ b }}{% endif %}{# c #}", vec![(Whole, "b"), (Whole, "endif")]),
            ("a", vec![]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }
}
