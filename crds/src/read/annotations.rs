//! Annotations of a host's node.

use std::collections::BTreeMap;

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::syntax::label;
use crate::words::quote;

/// The most for one node, keys and values together, in bytes. Kubernetes takes 256 KiB of all that write there; those of all nodes are asked for
/// at once, and a thousand of these fit into what a host may answer.
const MAX_BYTES: usize = 8 * 1024;

/// Reads a map of texts. Keys are like those of labels, values are any text.
pub(super) fn read(decoder: &mut Decoder, field: &Field<'_>) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::new();
    for entry in decoder.entries(field, "the annotations of a host").unwrap_or_default() {
        if let Some(reason) = label::key(&entry.key) {
            let problem = Problem::new(format!("{} cannot be the key of an annotation", quote(&entry.key)));
            decoder.report(problem.at(&entry.key_position).because(reason).hint("write a key like `example.org/owner`"));
        }
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if let Some(value) = decoder.text(&item) {
            annotations.insert(entry.key.clone(), value.to_owned());
        }
    }
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > MAX_BYTES {
        let problem = Problem::new(format!("the annotations of a host cannot have {bytes} bytes")).at(field.position());
        decoder.report(
            problem
                .because(format!("all of a node may have {MAX_BYTES}: they are asked for with those of all other nodes"))
                .hint("keep what is long elsewhere, and write where it is"),
        );
    }
    annotations
}
