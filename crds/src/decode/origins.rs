//! Where components were told what they are told: the model knows it no more, and whoever judges the whole has to say a place.

use serde_json::Value as Json;

use super::{Decoder, Field};
use crate::Position;

/// An option, a field or a feature gate of a component, and what says it.
pub(super) struct Origin {
    name: String,
    value: Json,
    path: String,
    position: Position,
}

impl Decoder {
    /// Remembers that a field of the file says this of a component.
    pub(crate) fn tell(&mut self, field: &Field<'_>, name: &str, value: &Json) {
        let (path, position) = (field.path.clone(), field.node.position.clone());
        self.origins.push(Origin { name: name.to_owned(), value: value.clone(), path, position });
    }

    /// Where that was said. Several components may have the same name and value: `likely` are parts of the paths that are meant, the likeliest
    /// first.
    pub(crate) fn position_of(&self, name: &str, value: &Json, likely: &[&str]) -> Option<&Position> {
        let same = self.origins.iter().filter(|origin| origin.name == name && origin.value == *value);
        let rank = |origin: &&Origin| likely.iter().position(|part| origin.path.contains(part)).unwrap_or(likely.len());
        same.min_by_key(rank).map(|origin| &origin.position)
    }
}
