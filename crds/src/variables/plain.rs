//! Values as text: to compare them, and to show them.

use crate::hide::{HIDDEN, names_a_secret, without_secrets};
use crate::tree::{Node, Value};

/// What of a value is shown at most: a line of a table.
const MAX_SHOWN: usize = 60;

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

/// A value as one text, by which values are compared.
pub(crate) fn plain(node: &Node) -> String {
    let mut text = String::new();
    write(node, usize::MAX, &mut text);
    text
}

/// A value for a table: in one line, not too long, without what may be a password.
pub(super) fn shown(node: &Node) -> String {
    let mut text = String::new();
    write(node, MAX_SHOWN * 2, &mut text);
    let text = without_secrets(&text);
    let mut short: String = text.chars().take(MAX_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        short.push('…');
    }
    if short.is_empty() { "\"\"".to_owned() } else { short }
}

/// Appends the value until the text is long enough.
fn write(node: &Node, enough: usize, text: &mut String) {
    if text.len() > enough {
        return;
    }
    match &node.value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Integer(value) => text.push_str(&value.to_string()),
        Value::Float => text.push_str(&node.spelling),
        Value::Text(value) => text.extend(value.chars().take(enough)),
        Value::List(items) => write_all(items.iter().map(|item| (None, item)), ['[', ']'], enough, text),
        Value::Map(entries) => write_all(entries.iter().map(|entry| (Some(entry.key.as_str()), &entry.node)), ['{', '}'], enough, text),
    }
}

fn write_all<'a>(items: impl Iterator<Item = (Option<&'a str>, &'a Node)>, brackets: [char; 2], enough: usize, text: &mut String) {
    text.push(brackets[0]);
    for (index, (key, node)) in items.enumerate() {
        if text.len() > enough {
            return;
        }
        if index > 0 {
            text.push_str(", ");
        }
        if let Some(key) = key {
            text.push_str(key);
            text.push_str(": ");
            if names_a_secret(key) {
                text.push_str(HIDDEN);
                continue;
            }
        }
        write(node, enough, text);
    }
    text.push(brackets[1]);
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
    fn nothing_secret_is_shown() {
        assert_eq!(shown(&node("[{registry: r, username: u, password: p4ss}]")), "[{registry: r, username: u, password: (hidden)}]");
        assert_eq!(shown(&node("'http://u:p4ss@proxy:3128/x, https://a@b@c'")), "http://(hidden)@proxy:3128/x, https://(hidden)@c");
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
