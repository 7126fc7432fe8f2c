//! Values of INI inventories: a literal of Python, or text.

use std::collections::BTreeMap;

use crate::tree::{Entry, Node, Value};
use crate::words::quote;
use crate::{Notice, Position};

/// No variable is deeper; each level takes a piece of the stack.
const MAX_DEPTH: usize = 32;

/// The value that Ansible takes a text for.
pub(super) fn value(text: &str, position: &Position) -> Node {
    let mut reader = Reader { rest: text, position };
    let node = reader.value(0).filter(|_| reader.at_end());
    node.unwrap_or_else(|| Node::new(Value::Text(text.to_owned()), position.clone()))
}

/// What to know of a text that looks like a map or a list and is neither, as it is not in Ansible.
pub(super) fn mistaken(node: &Node, name: &str) -> Option<Notice> {
    let Value::Text(text) = &node.value else { return None };
    let pair = [("{", "}", "map", "{'key': 'value'}"), ("[", "]", "list", "['one', 'two']")];
    let (_, _, kind, example) = pair.into_iter().find(|(open, close, _, _)| text.starts_with(open) && text.ends_with(close))?;
    // Templates, and what YAML has for sections, begin so too.
    let is_other = ["{{", "{%", "{#"].iter().any(|opening| text.starts_with(opening));
    let notice = || {
        Notice::new(format!("the value of {} is text, and no {kind}", quote(name)))
            .at(&node.position)
            .because("on a line of INI, Ansible takes for one what Python does: texts stand in quotes, and it is True, False and None")
            .hint(format!("put it in quotes as a whole: `NAME=\"{example}\"`, or write it in YAML into `group_vars/` or `host_vars/`"))
    };
    (!is_other).then(notice)
}

struct Reader<'a> {
    rest: &'a str,
    position: &'a Position,
}

impl<'a> Reader<'a> {
    /// Whether nothing but blanks and a comment is left.
    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest.is_empty() || self.rest.starts_with('#')
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, expected: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn node(&self, value: Value) -> Node {
        Node::new(value, self.position.clone())
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        self.skip_blanks();
        if depth > MAX_DEPTH {
            return None;
        }
        if self.take('[') {
            let items = self.items(']', depth)?;
            return Some(self.node(Value::List(items)));
        }
        if self.take('(') {
            return self.parenthesis(depth);
        }
        if self.take('{') {
            let entries = self.entries(depth)?;
            return Some(self.node(Value::Map(entries)));
        }
        match self.text() {
            Some(text) => Some(self.node(Value::Text(text))),
            None => self.word(),
        }
    }

    /// Values with commas between them, and maybe one behind the last.
    fn items(&mut self, end: char, depth: usize) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.value(depth + 1)?);
            if !self.take(',') {
                return self.take(end).then_some(items);
            }
        }
        Some(items)
    }

    /// A tuple, which is a list to us, or a single value in parentheses.
    fn parenthesis(&mut self, depth: usize) -> Option<Node> {
        if self.take(')') {
            return Some(self.node(Value::List(Vec::new())));
        }
        let first = self.value(depth + 1)?;
        if self.take(')') {
            return Some(first);
        }
        let mut items = vec![first];
        if !self.take(',') {
            return None;
        }
        items.extend(self.items(')', depth)?);
        Some(self.node(Value::List(items)))
    }

    fn entries(&mut self, depth: usize) -> Option<Vec<Entry>> {
        let (mut entries, mut places) = (Vec::<Option<Entry>>::new(), BTreeMap::new());
        while !self.take('}') {
            let key = self.value(depth + 1)?;
            if !self.take(':') {
                return None;
            }
            let node = self.value(depth + 1)?;
            let key = match key.value {
                Value::Text(text) => text,
                Value::Integer(_) | Value::Float | Value::Bool(_) => key.spelling,
                _ => return None,
            };
            // As in Python, the last one of a key counts.
            let former = places.insert(key.clone(), entries.len());
            if let Some(former) = former.and_then(|former| entries.get_mut(former)) {
                *former = None;
            }
            entries.push(Some(Entry { key, key_position: self.position.clone(), node }));
            if !self.take(',') {
                return self.take('}').then(|| entries.into_iter().flatten().collect());
            }
        }
        Some(entries.into_iter().flatten().collect())
    }

    /// Text in quotes; several of them behind each other are one.
    fn text(&mut self) -> Option<String> {
        let mut whole = self.one_text()?;
        loop {
            self.skip_blanks();
            match self.one_text() {
                Some(next) => whole.push_str(&next),
                None => return Some(whole),
            }
        }
    }

    fn one_text(&mut self) -> Option<String> {
        let (raw, body) = match self.rest.strip_prefix(['r', 'R']) {
            Some(body) => (true, body),
            None => (false, self.rest.strip_prefix(['u', 'U']).unwrap_or(self.rest)),
        };
        let quote = body.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let triple = [quote; 3].iter().collect::<String>();
        let end = if body.starts_with(&triple) { triple } else { quote.to_string() };
        let mut text = String::new();
        let mut rest = body.strip_prefix(&end)?;
        loop {
            if let Some(behind) = rest.strip_prefix(&end) {
                self.rest = behind;
                return Some(text);
            }
            let mut chars = rest.chars();
            match chars.next()? {
                '\\' if raw => {
                    text.push('\\');
                    text.push(chars.next()?);
                }
                '\\' => escape(&mut chars, &mut text)?,
                other => text.push(other),
            }
            rest = chars.as_str();
        }
    }

    /// `True`, `False`, `None` or a number.
    fn word(&mut self) -> Option<Node> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-'))).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let value = match word {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            _ => number(word)?,
        };
        Some(Node { spelling: word.to_owned(), ..self.node(value) })
    }
}

/// What a backslash in a text of Python stands for.
fn escape(chars: &mut std::str::Chars<'_>, text: &mut String) -> Option<()> {
    let c = chars.next()?;
    let digits = match c {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    if digits > 0 {
        let rest = chars.as_str();
        let (hex, behind) = rest.split_at_checked(digits)?;
        let code = u32::from_str_radix(hex, 16).ok().filter(|_| hex.chars().all(|c| c.is_ascii_hexdigit()))?;
        text.push(char::from_u32(code)?);
        *chars = behind.chars();
        return Some(());
    }
    match c {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        '\\' | '\'' | '"' => text.push(c),
        '\n' => {}
        // The rest of Python's escapes are not for values of inventories; an unknown one keeps its backslash there.
        '0'..='7' | 'N' | 'a' | 'b' | 'f' | 'v' => return None,
        other => text.extend(['\\', other]),
    }
    Some(())
}

/// A number as Python writes it: no leading zeros, `_` between digits only.
fn number(word: &str) -> Option<Value> {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let digits_around = |text: &str| !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    let prefix = unsigned.get(..2).unwrap_or_default().to_ascii_lowercase();
    let radix = match prefix.as_str() {
        "0x" => 16,
        "0o" => 8,
        "0b" => 2,
        _ => 10,
    };
    let digits = if radix == 10 { unsigned } else { unsigned.get(2..)?.trim_start_matches('_') };
    if !digits_around(digits) || digits.starts_with(['+', '-']) {
        return None;
    }
    let plain = digits.replace('_', "");
    let is_zero = plain.chars().all(|c| c == '0');
    let has_leading_zero = radix == 10 && plain.len() > 1 && plain.starts_with('0') && plain.chars().all(|c| c.is_ascii_digit());
    if plain.is_empty() || (has_leading_zero && !is_zero) {
        return None;
    }
    let sign = if word.starts_with('-') { -1 } else { 1 };
    if let Ok(number) = i128::from_str_radix(&plain, radix) {
        return Some(i64::try_from(sign * number).map_or(Value::Float, Value::Integer));
    }
    let is_float = radix == 10 && plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    (is_float && plain.parse::<f64>().is_ok_and(f64::is_finite)).then_some(Value::Float)
}
