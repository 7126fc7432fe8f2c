//! Writing YAML with a comment at each line.

use super::scalar::{is_block, one_line};
use crate::Position;
use crate::tree::{Entry, Node, Tag, Value, is_template};

/// Fields that no copy may hold.
const SECRETS: [&str; 2] = ["password", "sudoPassword"];

/// A list that is longer stands line by line.
const MAX_FLOW: usize = 80;

/// Text that grows line by line.
#[derive(Default)]
pub(super) struct Emitter {
    text: String,
    left_out: Vec<Position>,
}

impl Emitter {
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Where the secrets stand that are in no line.
    pub(super) fn left_out(self) -> Vec<Position> {
        self.left_out
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line that is a comment.
    pub(super) fn comment(&mut self, indent: usize, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.text.push_str(&format!("{:indent$}# {text}\n", ""));
    }

    /// The fields of the outermost map.
    pub(super) fn document(&mut self, node: &Node) {
        if let Value::Map(entries) = &node.value {
            self.map(entries, 0);
        }
    }

    fn map(&mut self, entries: &[Entry], indent: usize) {
        for entry in entries {
            self.entry(entry, indent, &" ".repeat(indent));
        }
    }

    /// One field; `lead` is what stands before it on its line.
    fn entry(&mut self, entry: &Entry, indent: usize, lead: &str) {
        let key = one_line(&entry.key);
        if is_secret(entry) {
            self.left_out.push(entry.node.position.clone());
            return self.text.push_str(&format!("{lead}# {key}: left out, for it is a secret; it stands at {}\n", entry.node.position));
        }
        match &entry.node.value {
            Value::Map(entries) if !entries.is_empty() => {
                self.text.push_str(&format!("{lead}{key}:\n"));
                self.map(entries, indent + 2);
            }
            Value::List(items) if flow(&entry.node).is_none() => {
                self.text.push_str(&format!("{lead}{key}:\n"));
                items.iter().for_each(|item| self.item(item, indent + 2));
            }
            Value::Text(text) if is_block(text) => {
                self.text.push_str(&format!("{lead}{key}: {}|  # {}\n", tag(text), place(&entry.node.position)));
                text.lines().for_each(|line| self.text.push_str(&format!("{:1$}{line}\n", "", indent + 2)));
            }
            _ if entry.node.tag == Tag::Implied => self.text.push_str(&format!("{lead}{key}: {}\n", one(&entry.node))),
            _ => self.text.push_str(&format!("{lead}{key}: {}  # {}\n", one(&entry.node), place(&entry.node.position))),
        }
    }

    fn item(&mut self, item: &Node, indent: usize) {
        let dash = format!("{:indent$}- ", "");
        match &item.value {
            Value::Map(entries) if !entries.is_empty() => {
                // A comment can't follow a dash: secrets come last.
                let (secret, open): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|entry| is_secret(entry));
                for (index, entry) in open.iter().chain(&secret).enumerate() {
                    let lead = if index == 0 { dash.clone() } else { " ".repeat(indent + 2) };
                    self.entry(entry, indent + 2, &lead);
                }
            }
            Value::List(items) if flow(item).is_none() => {
                self.text.push_str(&format!("{:indent$}-\n", ""));
                items.iter().for_each(|item| self.item(item, indent + 2));
            }
            _ => self.text.push_str(&format!("{dash}{}  # {}\n", one(item), place(&item.position))),
        }
    }
}

/// Whether no copy may hold the field: it is a secret, or was worked out of one.
fn is_secret(entry: &Entry) -> bool {
    let is_secret = |node: &Node| node.tag.is_secret();
    let is_among = || matches!(&entry.node.value, Value::List(items) if items.iter().any(is_secret));
    SECRETS.contains(&entry.key.as_str()) || is_secret(&entry.node) || is_among()
}

/// A place without its column: a line is enough to find it.
fn place(position: &Position) -> String {
    format!("{}:{}", position.file, position.line).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Where braces are only braces: a Cluster with a template is an error.
fn tag(text: &str) -> &'static str {
    if is_template(text) { "!unsafe " } else { "" }
}

/// A value in one line.
fn one(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float => node.spelling.clone(),
        Value::Text(text) => format!("{}{}", tag(text), one_line(text)),
        Value::List(_) => flow(node).unwrap_or_default(),
        Value::Map(_) => "{}".to_owned(),
    }
}

/// A short list of scalars in brackets.
fn flow(node: &Node) -> Option<String> {
    let Value::List(items) = &node.value else { return None };
    let scalar = |item: &Node| (!matches!(item.value, Value::List(_) | Value::Map(_))).then(|| one(item));
    let items: Option<Vec<String>> = items.iter().map(scalar).collect();
    items.map(|items| format!("[{}]", items.join(", "))).filter(|text| text.len() <= MAX_FLOW)
}
