//! Certificate authorities that a user brings along.

use crate::decode::{Decoder, Field, Form};
use crate::given::Given;
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
    // Whether it may be missing is known when everything was read.
    let key = fields.get("key").map(|field| pem(decoder, &field));
    if key.is_none() && fields.is_misspelled("key") {
        return None;
    }
    let key = match key {
        Some(key) => Some(key?),
        None => None,
    };
    Some(OwnAuthority { name, certificate: certificate?, key, pair: None })
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

/// An authority without its key signs nothing, so all that it would sign has to be there; and kubeadm works on such control planes only where
/// super-admin.conf is.
pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &mut Settings) {
    let certificates = &mut settings.certificates;
    let without = certificates.authorities.iter().filter(|own| own.key.is_none());
    match &certificates.issued {
        None => {
            for own in without {
                let problem = Problem::new(format!("the authority `{}` has no `key`", own.name.as_str())).at(&own.certificate.origin);
                decoder.report(problem.because("without it nothing can be signed, and no certificates are given that somebody else has issued").hint(
                    "write `key` beside `certificate`; or name the folder with the certificates and kubeconfigs of all hosts as `issued` (`issued_certificates`)",
                ));
            }
            return;
        }
        Some(issued) if without.count() == 0 => {
            let problem = Problem::new("nothing is taken out of the folder of issued certificates").at(&issued.origin);
            decoder.report(
                problem
                    .because("kokctl issues the certificates of all authorities whose keys it has")
                    .hint("leave it out; or give an authority by its `certificate` alone, and what it signs is taken from there"),
            );
        }
        Some(_) => {}
    }
    if certificates.has_key(AuthorityName::Kubernetes) {
        return;
    }
    let position = given.iter().find(|given| given.name == SUPER_ADMIN).map(|given| given.position.clone());
    let position = position.or_else(|| decoder.position("spec.certificates.superAdminKubeconfig").cloned());
    if let Some(place) = position.filter(|_| !certificates.super_admin_kubeconfig) {
        let problem = Problem::new("super-admin.conf has to stay on the control planes").at(&place);
        decoder.report(
            problem
                .because("kubeadm wants it where the key of the authority `kubernetes` is not (external CA mode)")
                .hint("leave that out"),
        );
    }
    certificates.super_admin_kubeconfig = true;
}

const SUPER_ADMIN: &str = "super_admin_kubeconfig";
