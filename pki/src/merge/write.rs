//! Writing a tree in the form that kubectl has: blocks, and lists as far to the left as the field that they belong to.

use super::tree::{Node, Value};
use crate::SecretText;

/// The document. `room` is about how long it will be: a growing string would leave copies of keys behind.
pub(super) fn write(root: &Node, room: usize) -> SecretText {
    let mut text = String::with_capacity(room);
    if is_block(root) {
        block(&mut text, root, 0, false)
    } else {
        inline(&mut text, root)
    }
    SecretText::new(text)
}

/// A map or list that is not empty, each part on a line of its own; the first goes on the line that has begun already, if there is one.
fn block(text: &mut String, node: &Node, indent: usize, begun: bool) {
    let mut begun = begun;
    let mut start = |text: &mut String| {
        if !std::mem::take(&mut begun) {
            text.extend(std::iter::repeat_n(' ', indent));
        }
    };
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                start(text);
                text.push_str(&entry.key.spelled);
                text.push(':');
                field(text, &entry.node, indent);
            }
        }
        Value::List(items) => {
            for item in items {
                start(text);
                text.push_str("- ");
                if is_block(item) { block(text, item, indent + 2, true) } else { inline(text, item) }
            }
        }
        Value::Scalar(_) => inline(text, node),
    }
}

/// The value of a field, behind its colon.
fn field(text: &mut String, node: &Node, indent: usize) {
    if is_block(node) {
        text.push('\n');
        block(text, node, if matches!(node.value, Value::Map(_)) { indent + 2 } else { indent }, false);
    } else {
        text.push(' ');
        inline(text, node);
    }
}

fn is_block(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => false,
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
    }
}

/// What ends the line that it stands in.
fn inline(text: &mut String, node: &Node) {
    match &node.value {
        Value::Scalar(scalar) => text.push_str(&scalar.spelled),
        Value::List(_) => text.push_str("[]"),
        Value::Map(_) => text.push_str("{}"),
    }
    text.push('\n');
}
