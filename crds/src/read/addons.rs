//! What is installed into a cluster besides.

use super::read_label;
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::variables::url;
use crate::words::quote;

pub(crate) const ADDON: Form = Form {
    what: "an addon",
    fields: &["name", "manifest", "url", "sha256"],
    refused: &[
        ("path", "write it as `manifest`"),
        ("file", "write it as `manifest`"),
        ("checksum", "write it as `sha256`"),
        ("chart", "give what `helm template` prints as `manifest`"),
    ],
};

/// Reads the list. None of them is installed yet, which is said of each that is right.
pub(super) fn read(decoder: &mut Decoder, field: &Field<'_>) {
    let mut names: Vec<String> = Vec::new();
    for item in decoder.list(field, "it is a list of addons, each with a `name` and a `manifest` or a `url`").unwrap_or_default() {
        let before = decoder.count();
        let Some(fields) = decoder.fields(&item, &ADDON) else { continue };
        let name = decoder.required(&fields, "name").and_then(|field| read_label(decoder, &field, "the name of an addon"));
        let source = read_source(decoder, &fields);
        let Some(name) = name else { continue };
        if names.contains(&name) {
            let problem = Problem::new(format!("two addons have the name {}", quote(&name))).at(item.position());
            decoder.report(problem.hint("give each addon a name of its own"));
        } else if let Some(source) = source.filter(|_| decoder.count() == before) {
            decoder.report(
                Problem::new(format!("the addon {} is not installed yet", quote(&name)))
                    .at(item.position())
                    .because("this version installs CoreDNS, kube-proxy and the network plugin, and nothing of the user's own")
                    .hint(format!("leave it out, and give {} to `kubectl apply -f` once the cluster runs", quote(&source))),
            );
        }
        names.push(name);
    }
}

/// The manifest: a file of the user's, or an address with the digest of what has to come from there.
fn read_source(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<String> {
    let problem = |message: &str| Problem::new(message).at(fields.position());
    let file = fields.get("manifest").map(|field| decoder.text(&field).map(str::to_owned));
    let address = fields.get("url").map(|field| url(decoder, &field, "manifest"));
    let digest = fields.get("sha256").map(|field| read_digest(decoder, &field));
    match (file, address, digest) {
        (Some(file), None, None) => return file,
        (None, Some(address), Some(_)) => return address,
        (Some(_), Some(_), _) => decoder.report(problem("the addon has both `manifest` and `url`").hint("leave one of the two out")),
        (None, Some(_), None) => {
            let problem = problem("the field `sha256` is missing").because("what comes from a `url` has to be what was meant");
            decoder.report(problem.hint("write what `sha256sum` prints for the manifest"));
        }
        (_, None, Some(_)) => decoder.report(problem("`sha256` belongs to a `url`").hint("leave it out")),
        (None, None, None) => {
            decoder.report(
                problem("the addon has no manifest").because("it has a `manifest`, the path of a file, or a `url` and its `sha256`"),
            );
        }
    }
    None
}

fn read_digest(decoder: &mut Decoder, field: &Field<'_>) {
    /// Digits of a digest by SHA-256.
    const DIGITS: usize = 64;
    let Some(text) = decoder.text(field) else { return };
    if text.len() != DIGITS || !text.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c)) {
        let problem = Problem::new(format!("`sha256` cannot be {}", quote(text))).at(field.position());
        decoder.report(problem.because("it has 64 digits of 0 to 9 and a to f, as `sha256sum` prints it"));
    }
}
