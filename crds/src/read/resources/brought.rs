//! Readers of what is brought to hosts from the user's side, besides small files.

use super::fields::{self, checked, optional, required, rights};
use super::kinds::{local_path, path};
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::hide::is_private_key;
use crate::model::{Content, LocalFile, Payload, PayloadSource, Text, Wish};
use crate::read::addons::read_digest;
use crate::variables::url;
use crate::words::quote;

pub(crate) const BINARY: Form = Form {
    what: "a binary",
    fields: &["path", "source", "url", "sha256", "mode", "owner", "group"],
    refused: &[
        ("dest", "write it as `path`"),
        ("src", "write it as `source`"),
        ("content", "write a text as a `file`"),
        ("checksum", "write its digits as `sha256`, without `sha256:` before them"),
        ("state", "leave it out; what is to be gone is an entry `absent: {path: …}`"),
    ],
};

/// No path that is unpacked has more parts.
pub(crate) const MOST_STRIPPED: i64 = 100;

pub(crate) const ARCHIVE: Form = Form {
    what: "an archive",
    fields: &["into", "source", "url", "sha256", "strip", "creates", "owner", "group"],
    refused: &[
        ("dest", "write it as `into`"),
        ("path", "write it as `into`"),
        ("src", "write it as `source`"),
        ("checksum", "write its digits as `sha256`, without `sha256:` before them"),
        ("extra_opts", "leave it out; how many folders are left out of paths is said by `strip`"),
        ("mode", "leave it out: files have the modes of the archive"),
        ("remote_src", "leave it out: a `url` is fetched by your machine, and what is on hosts already is not unpacked"),
    ],
};

pub(crate) const CA_CERTIFICATE: Form = Form {
    what: "a certificate of an authority",
    fields: &["name", "content", "source", "state"],
    refused: &[
        ("path", "leave it out: the distribution's trust store has a place for it"),
        ("dest", "leave it out: the distribution's trust store has a place for it"),
        ("pem", "write it as `content`"),
        ("src", "write it as `source`"),
        ("template", "write the certificate as `content`, or name its file as `source`"),
    ],
};

/// Whether something is to be there.
pub(crate) const PRESENCE: [(&str, bool); 2] = [("present", true), ("absent", false)];

pub(super) fn binary(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &BINARY)?;
    let path = path(decoder, &fields);
    let rights = rights(decoder, &fields, 0o755);
    let payload = payload(decoder, &fields, "the binary");
    Some(Wish::Binary { path: path?, payload: payload?, rights: rights? })
}

/// Where a file of any length comes from: one of two.
fn payload(decoder: &mut Decoder, fields: &Fields<'_>, what: &str) -> Option<Payload> {
    let digest = fields.get("sha256").map(|field| read_digest(decoder, &field, "the file"));
    let source = match (fields.get("source"), fields.get("url")) {
        (Some(field), None) => {
            let path = checked(decoder, &field, local_path, "the path of a file on your side");
            path.map(|path| (PayloadSource::File(path), field.position().clone()))
        }
        (None, Some(field)) => {
            let url = url(decoder, &field, "file");
            if digest.is_none() && !fields.is_misspelled("sha256") {
                let problem = Problem::new("the field `sha256` is missing").at(fields.position());
                let problem = problem.because("what comes from a `url` has to be what was meant");
                decoder.report(problem.hint("write what `sha256sum` prints for the file"));
                return None;
            }
            url.map(|url| (PayloadSource::Url(url), field.position().clone()))
        }
        (Some(_), Some(field)) => {
            let problem = Problem::new(format!("{what} has both `source` and `url`")).at(field.position());
            decoder.report(problem.because("it comes from one place").hint("leave one of the two out"));
            None
        }
        (None, None) if ["source", "url"].iter().any(|name| fields.is_misspelled(name)) => None,
        (None, None) => {
            let problem = Problem::new(format!("nothing says where {what} comes from")).at(fields.position());
            let because = "it has `source`, a file on your side, or `url`, from where your machine fetches it, with its `sha256`";
            decoder.report(problem.because(because).hint("write one of the two"));
            None
        }
    };
    let sha256 = digest.map_or(Some(None), |read| read.map(Some));
    let (source, origin) = source?;
    Some(Payload { source, sha256: sha256?, held: None, origin })
}

pub(super) fn archive(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &ARCHIVE)?;
    let into = required(decoder, &fields, ("into", "a path on a host"), fields::host_path);
    let payload = payload(decoder, &fields, "the archive");
    let strip = fields.get("strip").map_or(Some(0), |field| decoder.integer(&field, 0..=MOST_STRIPPED));
    let creates = optional(decoder, &fields, ("creates", "a path on a host"), fields::host_path);
    // Files have the modes of the archive.
    let rights = rights(decoder, &fields, 0);
    let strip = u32::try_from(strip?).ok()?;
    Some(Wish::Archive { into: into?, payload: payload?, strip, creates: creates?, rights: rights?, contents: None })
}

/// What is wrong with the name of a certificate in a trust store.
fn certificate_name(text: &str) -> Option<&'static str> {
    if text.starts_with("kokctl-") {
        Some("names that begin with `kokctl-` are those of `trusted_certificates`")
    } else if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Some("it begins with a letter or a digit")
    } else {
        fields::entry_name(text)
    }
}

pub(super) fn ca_certificate(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &CA_CERTIFICATE)?;
    let name = required(decoder, &fields, ("name", "the name of a certificate"), certificate_name);
    let present = fields.get("state").map_or(Some(true), |field| decoder.choice(&field, &PRESENCE));
    let certificate = certificate(decoder, &fields, present);
    Some(Wish::CaCertificate { name: name?, certificate: certificate? })
}

/// The certificate: one of two, where one is to be there.
fn certificate(decoder: &mut Decoder, fields: &Fields<'_>, present: Option<bool>) -> Option<Option<Content>> {
    const SOURCES: [&str; 2] = ["content", "source"];
    let given: Vec<_> = SOURCES.iter().filter_map(|name| Some((*name, fields.get(name)?))).collect();
    match (given.as_slice(), present) {
        ([(kind, field)], Some(false)) => {
            let problem = Problem::new(format!("the certificate has `{kind}`, and is to be gone")).at(field.position());
            decoder.report(problem.because("what is `absent` is known by its name").hint(format!("leave `{kind}` out")));
            None
        }
        ([], Some(false)) => Some(None),
        ([("content", field)], _) => content(decoder, field).map(Some),
        ([(_, field)], _) => {
            let path = checked(decoder, field, local_path, "the path of a file on your side")?;
            Some(Some(Content::Source(LocalFile { path, text: None, origin: field.position().clone() })))
        }
        ([], _) if present.is_none() || SOURCES.iter().any(|name| fields.is_misspelled(name)) => None,
        ([], _) => {
            let problem = Problem::new("nothing says which certificate it is").at(fields.position());
            let because = "it has `content`, the certificate in PEM, or `source`, a file on your side";
            decoder.report(problem.because(because).hint("write one of the two; what is to be gone has `state: absent`"));
            None
        }
        ([(one, _), (other, field), ..], _) => {
            let problem = Problem::new(format!("the certificate has both `{one}` and `{other}`")).at(field.position());
            decoder.report(problem.because("it is one certificate").hint("leave one of the two out"));
            None
        }
    }
}

/// A text in PEM, of which more is known where there is a clock.
fn content(decoder: &mut Decoder, field: &Field<'_>) -> Option<Content> {
    let text = decoder.text(field)?;
    let because = if is_private_key(text) || text.contains("PRIVATE KEY") {
        "a private key stands in it, and every program of a host may read its trust store".to_owned()
    } else if text.contains("-----BEGIN CERTIFICATE-----") {
        return Some(Content::Text(Text::new(text)));
    } else if text.lines().count() > 1 {
        "it has no block that begins with -----BEGIN CERTIFICATE-----".to_owned()
    } else {
        format!("{} is no certificate in PEM", quote(text))
    };
    let problem = Problem::new("`content` can't be the certificate of an authority").at(field.position()).because(because);
    decoder.report(problem.hint("write the certificate alone, from -----BEGIN CERTIFICATE----- on; a file of yours is named as `source`"));
    None
}
