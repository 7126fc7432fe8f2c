//! ConfigMaps and Secrets, and what they hold.

use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::document::{Document, ObjectKind};
use super::head;
use super::place::Lines;
use super::reference::DataRef;
use crate::decode::{Decoder, Field, Form};
use crate::tree::Node;
use crate::words::quote;
use crate::{Notice, Position, Problem};

const CONFIG_MAP: Form =
    Form { what: "a ConfigMap", fields: &["apiVersion", "kind", "metadata", "data", "binaryData", "immutable"], refused: &[] };

const SECRET: Form =
    Form { what: "a Secret", fields: &["apiVersion", "kind", "metadata", "type", "data", "stringData", "immutable"], refused: &[] };

/// A ConfigMap or a Secret.
pub(super) struct DataObject<'d> {
    pub(super) kind: ObjectKind,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) position: Position,
    /// `type` of a Secret.
    pub(super) secret_type: Option<Field<'d>>,
    pub(super) values: Vec<ObjectValue<'d>>,
    pub(super) lines: &'d Lines<'d>,
    /// Whether something named it.
    pub(super) used: Cell<bool>,
}

/// One value of a ConfigMap or a Secret.
pub(super) struct ObjectValue<'d> {
    pub(super) key: &'d str,
    pub(super) node: &'d Node,
    /// Whether it stands there in base64.
    pub(super) encoded: bool,
}

impl DataObject<'_> {
    pub(super) fn value(&self, key: &str) -> Option<&ObjectValue<'_>> {
        self.values.iter().find(|value| value.key == key)
    }

    /// What it is and what it is called.
    pub(super) fn title(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {} of namespace {}", self.kind.word(), quote(&self.name), quote(namespace)),
            None => format!("{} {}", self.kind.word(), quote(&self.name)),
        }
    }
}

impl ObjectValue<'_> {
    /// The bytes, or a problem that shows none of them.
    pub(super) fn bytes(&self, path: &str, decoder: &mut Decoder) -> Option<Vec<u8>> {
        let field = Field { path: path.to_owned(), node: self.node };
        if !self.encoded {
            return decoder.text(&field).map(|text| text.as_bytes().to_vec());
        }
        // Go's decoder, which the API server uses, skips the ends of lines too.
        let text: String = decoder.text(&field)?.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        if let Ok(bytes) = STANDARD.decode(text) {
            return Some(bytes);
        }
        decoder.report(
            Problem::new(format!("the value of {} is not base64", quote(self.key)))
                .at(field.position())
                .because("the values of this map are encoded as base64")
                .hint("`base64 -w0 FILE` encodes; plain text stands under `stringData` of a Secret, or `data` of a ConfigMap"),
        );
        None
    }
}

impl ObjectKind {
    /// What users call it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Fleet => "Fleet",
            Self::Operation => "ClusterOperation",
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

/// All ConfigMaps and Secrets of the files.
pub(super) struct DataObjects<'d>(pub(super) Vec<DataObject<'d>>);

impl<'d> DataObjects<'d> {
    pub(super) fn read(documents: &'d [Document<'d>], decoder: &mut Decoder) -> Self {
        let data_objects: Vec<_> = documents.iter().filter_map(|document| read(document, decoder)).collect();
        for (index, data_object) in data_objects.iter().enumerate() {
            let same = |other: &&DataObject<'_>| {
                (other.kind, &other.name, &other.namespace) == (data_object.kind, &data_object.name, &data_object.namespace)
            };
            if let Some(first) = data_objects.iter().take(index).find(same) {
                decoder.report(
                    Problem::new(format!("there are two objects {}", data_object.title()))
                        .at(&data_object.position)
                        .because(format!("the first one stands at {}", first.position))
                        .hint("leave one of the two out, or give it another name"),
                );
            }
        }
        Self(data_objects)
    }

    /// Those that a reference means. An object or a reference without a namespace is in any.
    pub(super) fn meant(&self, kind: ObjectKind, reference: &DataRef) -> Vec<&DataObject<'d>> {
        let fits = |ours: &Option<String>| ours.is_none() || reference.namespace.is_none() || *ours == reference.namespace;
        let meant =
            |data_object: &&DataObject<'d>| data_object.kind == kind && data_object.name == reference.name && fits(&data_object.namespace);
        self.0.iter().filter(meant).collect()
    }

    /// Says which ones nothing names; without anything that could name them they are what the files are about.
    pub(super) fn note_unused(&self, decoder: &mut Decoder, something_refers: bool) {
        for data_object in self.0.iter().filter(|data_object| something_refers && !data_object.used.get()) {
            let notice = Notice::new(format!("{} is not used", data_object.title())).at(&data_object.position);
            decoder.note(notice.because("no Cluster and no ClusterOperation of the files names it"));
        }
    }
}

fn read<'d>(document: &'d Document<'d>, decoder: &mut Decoder) -> Option<DataObject<'d>> {
    let (form, maps) = match document.kind {
        ObjectKind::ConfigMap => (&CONFIG_MAP, [("data", false), ("binaryData", true)]),
        // The API server writes `stringData` over `data`.
        ObjectKind::Secret => (&SECRET, [("stringData", false), ("data", true)]),
        ObjectKind::Cluster | ObjectKind::Fleet | ObjectKind::Operation => return None,
    };
    let (fields, head) = head::read(&document.root(), form, decoder)?;
    let mut values = Vec::new();
    for (name, encoded) in maps {
        let entries = fields.get(name).and_then(|field| decoder.entries(&field, "what it holds"));
        values.extend(entries.unwrap_or_default().iter().map(|entry| ObjectValue { key: &entry.key, node: &entry.node, encoded }));
    }
    Some(DataObject {
        kind: document.kind,
        name: head.name?,
        namespace: head.namespace,
        position: head.position,
        secret_type: fields.get("type"),
        values,
        lines: document.lines,
        used: Cell::new(false),
    })
}
