//! What was encrypted in the files, as secrets like those that are worked out.

use std::collections::BTreeMap;

use crate::Position;
use crate::hide::{names_a_secret, without_secrets};
use crate::model::Concealed;
use crate::resolve::{Resolved, Tainted};
use crate::tree::is_template;
use crate::tree::{Node, Tag, Value};
use crate::variables::{Variable, plain, variable};

/// Adds every value that was encrypted.
pub(super) fn add(resolved: &Resolved, secrets: &mut BTreeMap<Position, Tainted>) {
    for (name, variable) in resolved.written().flat_map(|(vars, _)| vars.iter()) {
        leaves(name, &variable.node, is_harmless(name), secrets);
    }
}

/// Whether what a variable says is nothing to hide, so that it is no secret but by being in a file with secrets.
fn is_harmless(name: &str) -> bool {
    variable(name).is_some_and(|row| !Variable::is_secret(row) && !row.is_family())
}

fn leaves(name: &str, node: &Node, harmless: bool, secrets: &mut BTreeMap<Position, Tainted>) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| leaves(name, item, harmless, secrets)),
        Value::Map(entries) => {
            entries.iter().for_each(|entry| leaves(name, &entry.node, harmless && !names_a_secret(&entry.key), secrets));
        }
        Value::Null => {}
        // What comes out of a template is known by now, if anybody asked for it.
        Value::Text(text) if node.tag == Tag::Sealed && is_template(text) => {}
        _ if node.tag.is_secret() => {
            let text = plain(node);
            let is_local = node.tag == Tag::Sealed && harmless && without_secrets(&text) == text;
            let tainted = Tainted { name: name.to_owned(), results: [text].into(), is_encrypted: true, is_local, ..Tainted::default() };
            secrets.insert(node.position.clone(), tainted);
        }
        _ => {}
    }
}

/// What nothing that leaves the program may repeat, of all secrets what was encrypted; and where it counts.
pub(super) fn concealed(secrets: &BTreeMap<Position, Tainted>) -> Concealed {
    let texts = secrets.values().filter(|tainted| tainted.is_encrypted && !tainted.is_local).flat_map(|tainted| &tainted.results);
    let encrypted = Concealed::new(texts.map(String::as_str));
    let has_some = |tainted: &Tainted| tainted.results.iter().any(|text| encrypted.hide(text) != *text);
    let places = secrets.iter().filter(|(_, tainted)| tainted.is_encrypted || has_some(tainted)).map(|(at, _)| at.clone()).collect();
    encrypted.at(places)
}
