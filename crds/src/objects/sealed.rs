//! What is encrypted in objects themselves: single values, or all of a file.

use super::Secrets;
use super::document::{Document, ObjectKind};
use crate::decode::Decoder;
use crate::hide::names_a_secret;
use crate::inventory::check_named;
use crate::resolve::Tainted;
use crate::tree::{Node, Tag, Value};
use crate::variables::plain;
use crate::vault::{Vault, unseal_values};
use crate::{Position, Problem};

/// Opens the encrypted values of objects of ours, and says of every value that was encrypted where it stands. What ConfigMaps hold is opened by
/// whoever reads it.
pub(super) fn open(documents: &mut [Document<'_>], vault: &dyn Vault, decoder: &mut Decoder) -> Secrets {
    let mut problems: Vec<Problem> = Vec::new();
    let own = || |document: &&mut Document<'_>| matches!(document.kind, ObjectKind::Cluster | ObjectKind::Operation);
    let starts: Vec<Position> = documents.iter_mut().filter(own()).map(|document| document.node.position.clone()).collect();
    for (document, start) in documents.iter_mut().filter(own()).zip(&starts) {
        check_named(&mut document.node, ("", start), &mut problems);
    }
    let values = documents.iter_mut().filter(own()).zip(&starts).map(|(document, start)| ("", start, &mut document.node));
    unseal_values(values.collect(), vault, &mut problems);
    problems.into_iter().for_each(|problem| decoder.report(problem));
    let mut secrets = Secrets::new();
    documents.iter().for_each(|document| leaves("", &document.node, &mut secrets));
    secrets
}

fn leaves(name: &str, node: &Node, secrets: &mut Secrets) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| leaves(name, item, secrets)),
        Value::Map(entries) => entries.iter().for_each(|entry| leaves(&entry.key, &entry.node, secrets)),
        Value::Null => {}
        _ if node.tag.is_secret() => {
            let is_local = node.tag == Tag::Sealed && !names_a_secret(name);
            let tainted =
                Tainted { name: name.to_owned(), results: [plain(node)].into(), is_encrypted: true, is_local, ..Tainted::default() };
            secrets.insert(node.position.clone(), tainted);
        }
        _ => {}
    }
}
