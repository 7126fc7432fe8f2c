//! Putting the inline tree together. Every node has the place of the user's own line.

use crate::Position;
use crate::tree::{Entry, Node, Tag, Value};

/// A map that grows field by field.
pub(super) struct Map {
    position: Position,
    entries: Vec<Entry>,
}

impl Map {
    pub(super) fn at(position: &Position) -> Self {
        Self { position: position.clone(), entries: Vec::new() }
    }

    /// Adds a field, with the place of its value for its name too.
    pub(super) fn add(&mut self, key: &str, node: Node) {
        self.entries.push(Entry { key: key.to_owned(), key_position: node.position.clone(), node });
    }

    /// Adds a field whose name has a place of its own.
    pub(super) fn add_at(&mut self, key: &str, key_position: &Position, node: Node) {
        self.entries.push(Entry { key: key.to_owned(), key_position: key_position.clone(), node });
    }

    pub(super) fn add_some(&mut self, key: &str, node: Option<Node>) {
        if let Some(node) = node {
            self.add(key, node);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn node(self) -> Node {
        Node::new(Value::Map(self.entries), self.position)
    }

    /// The map, unless it has no fields.
    pub(super) fn some(self) -> Option<Node> {
        (!self.is_empty()).then(|| self.node())
    }
}

/// Text at a place.
pub(super) fn text(text: impl Into<String>, position: &Position) -> Node {
    Node::new(Value::Text(text.into()), position.clone())
}

/// Text that no line says; the place is that at which a line could.
pub(super) fn implied(words: impl Into<String>, position: &Position) -> Node {
    Node { tag: Tag::Implied, ..text(words, position) }
}

/// A list at a place.
pub(super) fn list(items: Vec<Node>, position: &Position) -> Node {
    Node::new(Value::List(items), position.clone())
}
