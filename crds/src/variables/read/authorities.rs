//! Certificate authorities that a user brings along.

use crate::decode::{Decoder, Field, Form};
use crate::model::{AuthorityName, OwnAuthority, Pem, PemSource, Settings};
use crate::{Problem, Secret};

const AUTHORITIES: Form = Form {
    what: "the map of certificate authorities",
    fields: &["kubernetes", "etcd", "frontProxy"],
    refused: &[
        ("front_proxy", "write it as `frontProxy`"),
        ("front-proxy", "write it as `frontProxy`"),
        ("ca", "write it as `kubernetes`"),
        ("serviceAccount", "leave it out: that is a key without an authority, and kokctl makes it"),
    ],
};

const AUTHORITY: Form = Form {
    what: "a certificate authority",
    fields: &["certificate", "key"],
    refused: &[
        ("cert", "write it as `certificate`"),
        ("crt", "write it as `certificate`"),
        ("caFile", "write it as `certificate`"),
        ("privateKey", "write it as `key`"),
    ],
};

/// Reads the map.
pub(crate) fn read(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(fields) = decoder.fields(field, &AUTHORITIES) else { return };
    for name in AuthorityName::ALL {
        let authority = fields.get(name.as_str()).and_then(|field| read_one(decoder, &field, name));
        settings.certificates.authorities.extend(authority);
    }
}

fn read_one(decoder: &mut Decoder, field: &Field<'_>, name: AuthorityName) -> Option<OwnAuthority> {
    let fields = decoder.fields(field, &AUTHORITY)?;
    let certificate = decoder.required(&fields, "certificate").and_then(|field| pem(decoder, &field));
    let key = fields.get("key");
    if key.is_none() && !fields.is_misspelled("key") {
        let problem = Problem::new(format!("the authority `{}` has no `key`", name.as_str())).at(fields.position());
        let because = "kokctl signs the certificates of hosts with it; certificates that somebody else has signed are not taken";
        decoder.report(problem.because(because).hint(
            "write `key` beside `certificate`; if the key may not leave its place, make an intermediate authority for this cluster with it",
        ));
    }
    let key = key.and_then(|field| pem(decoder, &field));
    Some(OwnAuthority { name, certificate: certificate?, key: key?, pair: None })
}

/// A path, or the text itself. What may be a key is not repeated.
fn pem(decoder: &mut Decoder, field: &Field<'_>) -> Option<Pem> {
    let text = decoder.text(field)?;
    let problem = |because: &str| {
        let problem = Problem::new(format!("`{}` is neither a path nor PEM", field.name())).at(field.position());
        problem.because(because).hint("write the path of the file, or its text, which begins with `-----BEGIN`")
    };
    let source = if text.contains("-----BEGIN ") {
        PemSource::Contents(Secret::new(text))
    } else if text.trim().is_empty() {
        decoder.report(problem("it is empty"));
        return None;
    } else if text.contains(char::is_control) || text.len() > LONGEST_PATH || text.starts_with("LS0tLS1CRUdJTi") {
        decoder.report(problem("a path is one line, and PEM is no base64 of itself"));
        return None;
    } else {
        PemSource::File(text.to_owned())
    };
    Some(Pem { source, origin: field.position().clone() })
}

/// Linux takes no longer one (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;
