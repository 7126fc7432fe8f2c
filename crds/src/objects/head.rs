//! Name and namespace of an object.

use crate::decode::{Decoder, Field, Fields, Form};
use crate::read::METADATA;
use crate::syntax::name::dns_name;
use crate::words::quote;
use crate::{Position, Problem};

/// What an object is called.
pub(super) struct Head {
    /// `None` for an object that gets its name from the API server.
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
    /// Where the name stands, or else the metadata.
    pub(super) position: Position,
}

/// The fields of an object and what it is called.
pub(super) fn read<'a>(root: &Field<'a>, form: &Form, decoder: &mut Decoder) -> Option<(Fields<'a>, Head)> {
    let fields = decoder.fields_but(root, form, &["metadata", "spec", "data", "stringData"])?;
    let metadata = decoder.required(&fields, "metadata")?;
    let metadata = decoder.fields_but(&metadata, &METADATA, &["name"])?;
    let generated = metadata.get("generateName");
    let written = metadata.get("name");
    let position = written.as_ref().or(generated.as_ref()).map_or(metadata.position(), Field::position).clone();
    let name = match (written, generated) {
        (Some(field), _) => Some(checked(decoder, &field)?),
        (None, Some(_)) => None,
        (None, None) => {
            decoder.required(&metadata, "name");
            return None;
        }
    };
    let namespace = metadata.get("namespace").and_then(|field| decoder.text(&field)).filter(|text| !text.is_empty());
    let namespace = namespace.map(str::to_owned);
    Some((fields, Head { name, namespace, position }))
}

fn checked(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let text = decoder.text(field)?;
    let Some(reason) = dns_name(text) else {
        return Some(text.to_owned());
    };
    let problem = Problem::new(format!("{} cannot be the name of an object: {reason}", quote(text)));
    decoder.report(
        problem
            .at(field.position())
            .because("names of objects are DNS names (RFC 1123)")
            .hint("write a name of lower-case letters, digits, `-` and `.`"),
    );
    None
}
