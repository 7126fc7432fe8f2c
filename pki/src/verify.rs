//! Checking a certificate that was found against what it should say.

use std::fmt;

use time::OffsetDateTime;

use crate::inspect::{CertificateFacts, Subject, inspect_certificate, parse_der};
use crate::{PkiError, Profile, San, TrustBundle};

/// One way in which a certificate, or a kubeconfig with its certificate, is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Defect {
    /// The certificate, or the authority's, cannot be read.
    Unreadable(String),
    /// Another authority signed it, by name or by signature.
    WrongAuthority {
        /// Issuer that the certificate names.
        issuer: Subject,
    },
    /// It is not valid yet.
    NotYetValid(OffsetDateTime),
    /// It is not valid any more.
    Expired(OffsetDateTime),
    /// Its subject is another one.
    Subject {
        /// What it should be.
        expected: Subject,
        /// What it is.
        found: Subject,
    },
    /// A name of the server is missing.
    MissingName(San),
    /// It may not identify a server, but should.
    NoServerAuth,
    /// It may not identify a client, but should.
    NoClientAuth,
    /// It is an authority, but should be a leaf.
    IsAuthority,
    /// A kubeconfig points to another server.
    Server {
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A kubeconfig trusts another authority, or none.
    TrustsAnother,
    /// A kubeconfig has no client certificate and key inside.
    NoCredentials,
    /// The private key in a kubeconfig is not its certificate's.
    ForeignKey,
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => formatter.write_str(reason),
            Self::WrongAuthority { issuer } => {
                write!(formatter, "it is signed by another authority ({issuer})")
            }
            Self::NotYetValid(from) => write!(formatter, "it is not valid before {from}"),
            Self::Expired(at) => write!(formatter, "it expired at {at}"),
            Self::Subject { expected, found } => {
                write!(formatter, "its subject is {found} instead of {expected}")
            }
            Self::MissingName(name) => write!(formatter, "it does not name {name}"),
            Self::NoServerAuth => formatter.write_str("it may not identify a server"),
            Self::NoClientAuth => formatter.write_str("it may not identify a client"),
            Self::IsAuthority => formatter.write_str("it is an authority's certificate"),
            Self::Server { expected, found } => write!(formatter, "its server is {} instead of {expected}", found.escape_debug()),
            Self::TrustsAnother => formatter.write_str("it trusts another authority than the cluster's"),
            Self::NoCredentials => formatter.write_str("it has no client certificate and key inside"),
            Self::ForeignKey => formatter.write_str("its private key is not that of its certificate"),
        }
    }
}

/// Checks that a leaf certificate says what `expected` says, was signed by one of the authorities of `ca_pem`, and is valid at `now`.
///
/// Names beyond the expected ones are no defect: kubeadm accepts them too.
///
/// # Errors
/// Everything that is wrong with it.
pub fn verify_leaf(ca_pem: &str, leaf_pem: &str, expected: &Profile, now: OffsetDateTime) -> Result<(), Vec<Defect>> {
    let unreadable = |error: PkiError| vec![Defect::Unreadable(error.to_string())];
    let trusted = TrustBundle::from_pem(ca_pem).map_err(unreadable)?;
    let leaf = inspect_certificate(leaf_pem).map_err(unreadable)?;
    let mut defects = Vec::new();
    if trusted.signer_of(&leaf).is_none() {
        defects.push(Defect::WrongAuthority { issuer: leaf.issuer.clone() });
    }
    check_validity(&leaf, now, &mut defects);
    check_profile(&leaf, expected, &mut defects);
    if defects.is_empty() { Ok(()) } else { Err(defects) }
}

/// Whether a certificate carries a valid signature of that authority. Says nothing about dates.
pub(crate) fn is_signed_by(leaf: &CertificateFacts, ca: &CertificateFacts) -> bool {
    let leaf_der = leaf.der();
    let (Ok(leaf), Ok(signer)) = (parse_der(leaf_der), parse_der(ca.der())) else {
        return false;
    };
    ca.is_ca
        && ca.may_sign
        && leaf.issuer().as_raw() == signer.subject().as_raw()
        // What is outside of the signed part must say the same as what is inside (RFC 5280, 4.1.1.2), and a signature is whole bytes.
        && repeats_its_algorithm(leaf_der, leaf.tbs_certificate.as_ref())
        && leaf.signature_value.unused_bits == 0
        && leaf.verify_signature(Some(signer.public_key())).is_ok()
}

/// Whether the algorithm behind the signed part is, byte for byte, one that stands inside it, and a signature follows. The parser
/// forgives wrong tags there.
fn repeats_its_algorithm(certificate: &[u8], signed: &[u8]) -> bool {
    let behind = certificate.windows(signed.len()).position(|window| window == signed);
    let behind = behind.and_then(|start| certificate.get(start + signed.len()..)).unwrap_or_default();
    // A SEQUENCE of less than 128 bytes: its tag, its length, its content.
    let length = behind.get(1).map_or(0, |length| usize::from(*length) + 2);
    let algorithm = behind.get(..length).unwrap_or_default();
    let tags = (certificate.first(), behind.get(length)) == (Some(&SEQUENCE), Some(&BIT_STRING));
    tags && !algorithm.is_empty() && signed.windows(length).any(|window| window == algorithm)
}

/// Tags of DER (X.690, 8.9 and 8.6).
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

fn check_validity(leaf: &CertificateFacts, now: OffsetDateTime, defects: &mut Vec<Defect>) {
    if now < leaf.not_before {
        defects.push(Defect::NotYetValid(leaf.not_before));
    }
    if now > leaf.not_after {
        defects.push(Defect::Expired(leaf.not_after));
    }
}

fn check_profile(leaf: &CertificateFacts, expected: &Profile, defects: &mut Vec<Defect>) {
    let subject_of =
        |organizations: &Vec<String>| Subject { common_name: Some(expected.common_name.clone()), organizations: organizations.clone() };
    let subject = subject_of(&expected.organizations);
    if leaf.subject != subject && expected.former_organizations.as_ref().map(subject_of).as_ref() != Some(&leaf.subject) {
        defects.push(Defect::Subject { expected: subject, found: leaf.subject.clone() });
    }
    let missing = expected.sans.iter().filter(|san| !leaf.sans.contains(san));
    defects.extend(missing.cloned().map(Defect::MissingName));
    if expected.server_auth && !leaf.server_auth {
        defects.push(Defect::NoServerAuth);
    }
    if expected.client_auth && !leaf.client_auth {
        defects.push(Defect::NoClientAuth);
    }
    if leaf.is_ca {
        defects.push(Defect::IsAuthority);
    }
}
