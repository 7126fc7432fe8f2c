//! Values as text: to compare them, and to show them.

use crate::hide::{HIDDEN, names_a_secret, without_secrets};
use crate::tree::{Entry, Node, Value};

/// What of a value is shown at most: a line of a table.
const MAX_SHOWN: usize = 60;
/// What of a text is looked at for that: what is secret in it may end far behind what is shown.
const MAX_READ: usize = 4096;

/// What a value is written for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be compared: all of it, and never to be shown.
    Compare,
    /// To be shown: the beginning, without what may be a secret.
    Show,
}

/// The truth of a value, in all spellings of YAML 1.1 and of Ansible's filter `bool`.
pub(crate) fn flag(node: &Node) -> Option<bool> {
    match &node.value {
        Value::Bool(value) => Some(*value),
        Value::Integer(1) => Some(true),
        Value::Integer(0) => Some(false),
        Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "y" | "1" => Some(true),
            "false" | "no" | "off" | "n" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A value as one text, by which values are compared. It is never shown, for secrets stand in it as they are.
pub(crate) fn plain(node: &Node) -> String {
    let mut text = String::new();
    write(node, Purpose::Compare, &mut text);
    text
}

/// A scalar as it was written.
pub(crate) fn spelled(node: &Node) -> String {
    if node.spelling.is_empty() { plain(node) } else { node.spelling.clone() }
}

/// A value for a table: in one line, not too long, without what may be a password.
pub(super) fn shown(node: &Node) -> String {
    let mut text = String::new();
    write(node, Purpose::Show, &mut text);
    let mut short: String = text.chars().take(MAX_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        short.push('…');
    }
    if short.is_empty() { "\"\"".to_owned() } else { short }
}

/// Whether more would not be shown.
fn is_enough(purpose: Purpose, text: &str) -> bool {
    purpose == Purpose::Show && text.len() > MAX_SHOWN * 2
}

fn write(node: &Node, purpose: Purpose, text: &mut String) {
    if is_enough(purpose, text) {
        return;
    }
    match &node.value {
        _ if purpose == Purpose::Show && node.tag.is_secret() => text.push_str(HIDDEN),
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Integer(value) => text.push_str(&value.to_string()),
        Value::Float => text.push_str(&node.spelling),
        Value::Text(value) => write_text(value, purpose, text),
        Value::List(items) => {
            text.push('[');
            write_all(items, purpose, text, |item, text| write(item, purpose, text));
            text.push(']');
        }
        Value::Map(entries) => {
            text.push('{');
            write_all(entries, purpose, text, |entry, text| write_entry(entry, entries, purpose, text));
            text.push('}');
        }
    }
}

fn write_text(value: &str, purpose: Purpose, text: &mut String) {
    match purpose {
        Purpose::Compare => text.push_str(value),
        Purpose::Show => {
            let read = value.char_indices().nth(MAX_READ).and_then(|(end, _)| value.get(..end)).unwrap_or(value);
            text.push_str(&without_secrets(read));
        }
    }
}

fn write_all<T>(items: &[T], purpose: Purpose, text: &mut String, mut one: impl FnMut(&T, &mut String)) {
    for (index, item) in items.iter().enumerate() {
        if is_enough(purpose, text) {
            return;
        }
        if index > 0 {
            text.push_str(", ");
        }
        one(item, text);
    }
}

fn write_entry(entry: &Entry, beside: &[Entry], purpose: Purpose, text: &mut String) {
    write_text(&entry.key, purpose, text);
    text.push_str(": ");
    if purpose == Purpose::Show && is_secret(entry, beside) {
        text.push_str(HIDDEN);
    } else {
        write(&entry.node, purpose, text);
    }
}

/// Whether an entry is a secret by its own name, or by the one that stands beside it, as in `{name: PASSWORD, value: x}`.
fn is_secret(entry: &Entry, beside: &[Entry]) -> bool {
    let names = |name: &Entry| name.key == "name" && matches!(&name.node.value, Value::Text(name) if names_a_secret(name));
    names_a_secret(&entry.key) || (entry.key == "value" && beside.iter().any(names))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{flag, plain, shown};
    use crate::Source;
    use crate::tree::{Dialect, Node, Value};

    fn node(text: &str) -> Node {
        let mut nodes = Source::file("f", format!("x: {text}")).parse(Dialect::Ansible).unwrap();
        let Value::Map(mut entries) = nodes.remove(0).value else { return Node::new(Value::Null, Source::file("f", "").position(1, 1)) };
        entries.remove(0).node
    }

    #[test]
    fn values_as_text() {
        for (written, expected) in [
            ("[Node, 'RBAC']", "[Node, RBAC]"),
            ("{a: 1, b: [yes, 1.30]}", "{a: 1, b: [true, 1.30]}"),
            ("''", ""),
            ("0644", "420"),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(plain(&node(written)), expected, "{written}");
        }
    }

    #[test]
    fn secrets_count_where_values_are_compared() {
        assert_ne!(plain(&node("{privateKeyFile: a, password: b}")), plain(&node("{privateKeyFile: a, password: c}")));
        assert_ne!(plain(&node("{pass-ca: A}")), plain(&node("{pass-ca: B}")));
    }

    #[test]
    fn nothing_secret_is_shown() {
        assert_eq!(shown(&node("[{registry: r, username: u, password: p4ss}]")), "[{registry: r, username: u, password: (hidden)}]");
        assert_eq!(shown(&node("'http://u:p4ss@proxy:3128/x, https://a@b@c'")), "http://(hidden)@proxy:3128/x, https://(hidden)@c");
        assert_eq!(
            shown(&node("[{name: DB_PASSWORD, value: p4ss}, {name: a, value: b}]")),
            "[{name: DB_PASSWORD, value: (hidden)}, {name: a, value: b}]"
        );
        assert_eq!(shown(&node(&format!("'http://u:{}@proxy'", "p4ss".repeat(99)))), "http://(hidden)@proxy");
        assert_eq!(shown(&node(&"x".repeat(100))).chars().count(), 61);
        assert_eq!(shown(&node("''")), "\"\"");
    }

    #[test]
    fn truth_has_many_spellings() {
        for (written, expected) in
            [("yes", Some(true)), ("'off'", Some(false)), ("1", Some(true)), ("'True'", Some(true)), ("maybe", None), ("2", None)]
        {
            assert_eq!(flag(&node(written)), expected, "{written}");
        }
    }
}
