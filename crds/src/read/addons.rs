//! What is installed into a cluster besides.

use super::read_label;
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::model::{Addon, Manifest, NETWORK_ADDON, Prune};
use crate::variables::url;
use crate::words::quote;

pub(crate) const ADDON: Form = Form {
    what: "an addon",
    fields: &["name", "namespace", "manifest", "manifests", "contents", "url", "sha256", "prune"],
    refused: &[
        ("path", "write it as `manifest`"),
        ("file", "write it as `manifest`"),
        ("inline", "write it as `contents`"),
        ("checksum", "write it as `sha256`"),
        ("chart", "give what `helm template` prints as `manifest`"),
    ],
};

/// What may be said of objects that leave a manifest.
pub(crate) const PRUNE: [(&str, Prune); 2] = [("Objects", Prune::Objects), ("All", Prune::All)];

/// Reads the list.
pub(crate) fn read(decoder: &mut Decoder, field: &Field<'_>) -> Vec<Addon> {
    let mut addons: Vec<Addon> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for item in
        decoder.list(field, "it is a list of addons, each with a `name` and a `manifest`, `contents` or a `url`").unwrap_or_default()
    {
        let Some(fields) = decoder.fields(&item, &ADDON) else { continue };
        let name = decoder.required(&fields, "name").and_then(|field| read_label(decoder, &field, "the name of an addon"));
        let namespace = fields.get("namespace").map(|field| read_label(decoder, &field, "a namespace"));
        let source = read_source(decoder, &fields, "the addon");
        let prune = read_prune(decoder, &fields);
        let Some(name) = name else { continue };
        if name == NETWORK_ADDON {
            let problem = Problem::new(format!("{} cannot be the name of an addon", quote(&name))).at(item.position());
            let problem = problem.because("it is that of the network, where that comes from a manifest");
            decoder.report(problem.hint("write `plugin: manifest` and the manifest under `network`; or choose another name"));
        } else if names.contains(&name) {
            let problem = Problem::new(format!("two addons have the name {}", quote(&name))).at(item.position());
            decoder.report(problem.hint("give each addon a name of its own"));
        } else if let Some((manifest, sha256, origin)) = source {
            let namespace = namespace.flatten();
            addons.push(Addon { name: name.clone(), namespace, manifest, sha256, prune, origin, objects: Vec::new() });
        }
        names.push(name);
    }
    addons
}

/// What becomes of objects that leave the manifest.
pub(super) fn read_prune(decoder: &mut Decoder, fields: &Fields<'_>) -> Prune {
    fields.get("prune").and_then(|field| decoder.choice(&field, &PRUNE)).unwrap_or_default()
}

/// What a manifest is, with its digest and the place where that is said.
pub(super) type Named = (Manifest, Option<String>, crate::Position);

/// The manifest: a file of the user's, its text, or an address with the digest of what has to come from there.
pub(super) fn read_source(decoder: &mut Decoder, fields: &Fields<'_>, what: &str) -> Option<Named> {
    let problem = |message: &str| Problem::new(format!("{what} {message}")).at(fields.position());
    let digest = fields.get("sha256").map(|field| read_digest(decoder, &field, "the manifest"));
    let mut named = Vec::new();
    for key in SOURCES {
        let Some(field) = fields.get(key) else { continue };
        let manifest = match key {
            "manifest" => decoder.text(&field).map(|text| Manifest::Files(vec![text.to_owned()])),
            "manifests" => paths(decoder, &field).map(Manifest::Files),
            "contents" => decoder.text(&field).map(|text| Manifest::Contents(text.to_owned())),
            _ => url(decoder, &field, "manifest").map(Manifest::Url),
        };
        named.push((key, manifest, field.position().clone()));
    }
    if let ([("manifests", _, position)], Some(_)) = (named.as_slice(), &digest) {
        let problem = Problem::new("`sha256` is of one manifest, and there is a list of them").at(position);
        decoder.report(problem.hint("write it as `manifest` if it is one, or leave `sha256` out"));
        return None;
    }
    match named.as_slice() {
        [("url", ..)] if digest.is_none() => {
            let problem = Problem::new("the field `sha256` is missing").at(fields.position());
            let problem = problem.because("what comes from a `url` has to be what was meant");
            decoder.report(problem.hint("write what `sha256sum` prints for the manifest"));
            None
        }
        [(_, manifest, position)] => {
            let digest = match digest {
                Some(read) => Some(read?),
                None => None,
            };
            Some((manifest.clone()?, digest, position.clone()))
        }
        [] if SOURCES.iter().any(|name| fields.is_misspelled(name)) => None,
        [] => {
            let because = "it has a `manifest`, the path of a file, or a list of them as `manifests`; `contents`, the text of one; or a `url` and its `sha256`";
            decoder.report(problem("has no manifest").because(because).hint("write one of these"));
            None
        }
        [(one, ..), (other, ..), ..] => {
            decoder.report(problem(&format!("has both `{one}` and `{other}`")).hint("leave one of the two out"));
            None
        }
    }
}

/// Where a manifest may come from, one of them.
const SOURCES: [&str; 4] = ["manifest", "manifests", "contents", "url"];

fn paths(decoder: &mut Decoder, field: &Field<'_>) -> Option<Vec<String>> {
    let paths: Vec<String> = decoder.texts(field, "it is a list of paths").into_iter().map(|(path, _)| path.to_owned()).collect();
    if paths.is_empty() {
        let problem = Problem::new(format!("`{}` names no file", field.name())).at(field.position());
        decoder.report(problem.because("nothing would be installed").hint("write the paths of the manifests, one an entry"));
    }
    (!paths.is_empty()).then_some(paths)
}

/// A digest by SHA-256 of what is named so.
pub(super) fn read_digest(decoder: &mut Decoder, field: &Field<'_>, what: &str) -> Option<String> {
    /// Digits of a digest by SHA-256.
    const DIGITS: usize = 64;
    let text = decoder.text(field)?;
    if text.len() == DIGITS && text.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c)) {
        return Some(text.to_owned());
    }
    let problem = Problem::new(format!("`sha256` cannot be {}", quote(text))).at(field.position());
    decoder.report(
        problem
            .because("it has 64 digits of 0 to 9 and a to f, as `sha256sum` prints it")
            .hint(format!("write what `sha256sum FILE` prints of {what}")),
    );
    None
}
