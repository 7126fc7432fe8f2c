//! Values of users as values of the template engine, and back.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ValueKind};
use minijinja::{Error, ErrorKind, Value as Jinja};

use crate::Position;
use crate::tree::{Entry, Node, Value};

/// As deep as YAML may be; each level takes a piece of the stack.
const MAX_DEPTH: usize = 32;
/// More values than a variable of any cluster has.
const MAX_NODES: usize = 100_000;

/// A map that keeps the order of the file.
pub(super) struct Dict(pub(super) Vec<(Arc<str>, Jinja)>);

impl fmt::Debug for Dict {
    /// Without the values, which may be passwords.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Jinja) -> Option<Jinja> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Jinja> {
        self.0.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Iter(Box::new(self.0.iter().map(|(name, _)| Jinja::from(Arc::clone(name))).collect::<Vec<_>>().into_iter()))
    }
}

/// A value without templates for the engine.
pub(super) fn to_jinja(node: &Node) -> Jinja {
    match &node.value {
        Value::Null => Jinja::from(()),
        Value::Bool(value) => Jinja::from(*value),
        Value::Integer(value) => Jinja::from(*value),
        Value::Float => node.spelling.replace('_', "").parse::<f64>().map_or_else(|_| Jinja::from(node.spelling.as_str()), Jinja::from),
        Value::Text(text) => Jinja::from(text.as_str()),
        Value::List(items) => Jinja::from(items.iter().map(to_jinja).collect::<Vec<_>>()),
        Value::Map(entries) => {
            let pairs = entries.iter().map(|entry| (Arc::from(entry.key.as_str()), to_jinja(&entry.node)));
            Jinja::from_object(Dict(pairs.collect()))
        }
    }
}

/// What the engine made, as a value that stands where its template stands.
pub(super) fn to_node(value: &Jinja, position: &Position) -> Result<Node, Error> {
    let mut left = MAX_NODES;
    convert(value, position, 0, &mut left)
}

fn convert(value: &Jinja, position: &Position, depth: usize, left: &mut usize) -> Result<Node, Error> {
    *left = left
        .checked_sub(1)
        .filter(|_| depth <= MAX_DEPTH)
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the value is too large"))?;
    let mut spelling = String::new();
    let converted = match value.kind() {
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::None => Value::Null,
        ValueKind::Bool => {
            spelling = value.to_string();
            Value::Bool(value.is_true())
        }
        ValueKind::Number => {
            spelling = value.to_string();
            value.as_i64().filter(|_| value.is_integer()).map_or(Value::Float, Value::Integer)
        }
        ValueKind::String => Value::Text(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?.map(|item| convert(&item, position, depth + 1, left));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        ValueKind::Map => {
            let entry = |key: Jinja| {
                let node = convert(&value.get_item(&key)?, position, depth + 1, left)?;
                Ok(Entry { key: key.to_string(), key_position: position.clone(), node })
            };
            Value::Map(value.try_iter()?.map(entry).collect::<Result<_, Error>>()?)
        }
        kind => return Err(Error::new(ErrorKind::InvalidOperation, format!("the result is {kind}, which is no value of a variable"))),
    };
    Ok(Node { spelling, ..Node::new(converted, position.clone()) })
}
