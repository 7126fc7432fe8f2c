//! Hosts that are to be gone.

use super::read_label;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::words::quote;

/// Reads their names.
pub(crate) fn read(decoder: &mut Decoder, field: &Field<'_>) -> Vec<String> {
    let mut removed: Vec<String> = Vec::new();
    for item in decoder.list(field, "it is a list of names of hosts").unwrap_or_default() {
        let Some(name) = read_label(decoder, &item, "the name of a host") else { continue };
        if removed.contains(&name) {
            decoder.report(Problem::new(format!("{} stands twice", quote(&name))).at(item.position()).hint("leave one of the two out"));
            continue;
        }
        removed.push(name);
    }
    removed
}
