//! What values are beside each other, and whether there is something to work out in them.

use super::{Entry, Node, Value};

/// Whether two values are the same, wherever they stand.
pub(crate) fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Float, Value::Float) => a.spelling == b.spelling,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            let pair = |(a, b): (&Entry, &Entry)| a.key == b.key && same(&a.node, &b.node);
            a.len() == b.len() && a.iter().zip(b).all(pair)
        }
        _ => false,
    }
}

/// Whether a value has anything to work out.
pub(crate) fn has_template(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) => node.tag.takes_templates() && is_template(text),
        Value::List(items) => items.iter().any(has_template),
        Value::Map(entries) => entries.iter().any(|entry| has_template(&entry.node)),
        _ => false,
    }
}

/// Whether a text has anything that is evaluated.
pub(crate) fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|opening| text.contains(opening))
}
