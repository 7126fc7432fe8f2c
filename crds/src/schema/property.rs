//! Fields of objects as OpenAPI v3 schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::decode::Form;

/// A field with its schema.
pub(super) struct Property {
    name: &'static str,
    schema: Value,
}

impl Property {
    /// Sets a keyword of the schema.
    pub(super) fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(schema) = &mut self.schema {
            schema.insert(keyword.to_owned(), value.into());
        }
        self
    }
}

/// A field of any schema.
pub(super) fn property(name: &'static str, about: &str, schema: Value) -> Property {
    Property { name, schema }.with("description", about)
}

/// A field that is text.
pub(super) fn text(name: &'static str, about: &str) -> Property {
    property(name, about, json!({"type": "string"}))
}

/// A field that is one of some words.
pub(super) fn word(name: &'static str, about: &str, words: &[&str]) -> Property {
    text(name, about).with("enum", words)
}

/// A field that is a whole number of a range.
pub(super) fn integer(name: &'static str, about: &str, minimum: i64, maximum: i64) -> Property {
    property(name, about, json!({"type": "integer", "format": "int64"})).with("minimum", minimum).with("maximum", maximum)
}

/// A field that is a list of texts.
pub(super) fn texts(name: &'static str, about: &str) -> Property {
    property(name, about, json!({"type": "array", "items": {"type": "string"}}))
}

/// A field that is a time.
pub(super) fn time(name: &'static str, about: &str) -> Property {
    text(name, about).with("format", "date-time")
}

/// A schema that says what it is of.
pub(super) fn described(mut schema: Value, about: &str) -> Value {
    if let Value::Object(keywords) = &mut schema {
        keywords.insert("description".to_owned(), json!(about));
    }
    schema
}

/// The fields of a form.
pub(super) fn fields(form: &Form) -> Vec<&'static str> {
    form.fields.to_vec()
}

/// The fields of a form, with those that it only tolerates.
pub(super) fn tolerated(form: &Form) -> Vec<&'static str> {
    form.fields.iter().copied().chain(form.refused.iter().map(|(name, _)| *name)).collect()
}

/// An object with fields of these names. A name without a property is let through as it is; a test makes sure that there is none.
pub(super) fn map(names: &[&str], required: &[&str], properties: Vec<Property>) -> Value {
    let mut known: BTreeMap<&str, Value> = properties.into_iter().map(|property| (property.name, property.schema)).collect();
    let any = || json!({"x-kubernetes-preserve-unknown-fields": true});
    let properties: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), known.remove(name).unwrap_or_else(any))).collect();
    let mut schema = Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), properties.into())]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.into()
}
