//! Reading certificates: what they say, as plain data.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aws_lc_rs::digest::{SHA256, digest};
use rcgen::PublicKeyData as _;
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::X509Name;

use crate::key::PrivateKey;
use crate::{PkiError, San, SecretText};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// What a certificate says. Everything in it is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Whom the certificate is about.
    pub subject: Subject,
    /// Who signed it.
    pub issuer: Subject,
    /// Names of the server, in the order of the certificate. Kinds other than DNS names and addresses are left out.
    pub sans: Vec<San>,
    /// First second of its validity.
    pub not_before: OffsetDateTime,
    /// Last second of its validity.
    pub not_after: OffsetDateTime,
    /// Whether its basic constraints say CA:TRUE.
    pub is_ca: bool,
    /// Whether its key usage allows to sign certificates; true without a key usage, as RFC 5280 has it.
    pub may_sign: bool,
    /// Whether its extended key usage allows to identify a server; true without one.
    pub server_auth: bool,
    /// Whether its extended key usage allows to identify a client; true without one.
    pub client_auth: bool,
    /// Serial number as lower-case hexadecimal digits, two per byte.
    pub serial: String,
    /// SHA-256 of the public key (its SubjectPublicKeyInfo) in lower-case hexadecimal digits.
    pub public_key_sha256: String,
    /// SHA-256 of the whole certificate in lower-case hexadecimal digits.
    pub sha256: String,
    der: Vec<u8>,
}

impl CertificateFacts {
    /// The certificate itself.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The digest of an authority's public key in the form of kubeadm's `--discovery-token-ca-cert-hash`: `sha256:` and 64 digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        format!("sha256:{}", self.public_key_sha256)
    }
}

/// A name in a certificate, reduced to the attributes that Kubernetes looks at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject {
    /// Common name; to Kubernetes, the name of the user.
    pub common_name: Option<String>,
    /// Organizations; to Kubernetes, the groups of the user.
    pub organizations: Vec<String>,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CN={}", self.common_name.as_deref().unwrap_or_default().escape_default())?;
        for organization in &self.organizations {
            write!(formatter, ", O={}", organization.escape_default())?;
        }
        Ok(())
    }
}

/// Reads the first certificate of a PEM text.
///
/// # Errors
/// [`PkiError::Certificate`] if there is none, or if it is malformed.
pub fn inspect_certificate(pem: &str) -> Result<CertificateFacts, PkiError> {
    let der = first_certificate(pem)?;
    let facts = facts_of(&parse_der(&der)?)?;
    Ok(CertificateFacts { der, ..facts })
}

/// Reads all certificates of a PEM text, one at least.
pub(crate) fn inspect_certificates(pem: &str) -> Result<Vec<CertificateFacts>, PkiError> {
    let mut found = Vec::new();
    let mut rest = Some(pem);
    while let Some(text) = rest {
        found.push(inspect_certificate(text)?);
        let behind = text.find(END).and_then(|end| text.get(end + END.len()..));
        rest = behind.filter(|behind| behind.contains(BEGIN));
    }
    Ok(found)
}

/// Whether a certificate was made for this private key.
///
/// # Errors
/// [`PkiError::Certificate`] or [`PkiError::PrivateKey`] if one of them cannot be read.
pub fn matches_key(certificate_pem: &str, key_pem: &SecretText) -> Result<bool, PkiError> {
    let facts = inspect_certificate(certificate_pem)?;
    let key = PrivateKey::from_pem(key_pem.clone())?;
    Ok(facts.public_key_sha256 == public_key_digest(&key))
}

pub(crate) fn public_key_digest(key: &PrivateKey) -> String {
    sha256_hex(&key.pair().subject_public_key_info())
}

fn first_certificate(pem: &str) -> Result<Vec<u8>, PkiError> {
    // The parser takes a block whose last line is cut off; Go doesn't, so a half-written file must not pass here.
    let block = pem.find(BEGIN).and_then(|start| {
        let length = pem.get(start..)?.find(END)? + END.len();
        pem.get(start..start + length)
    });
    let missing = || PkiError::Certificate("there is no complete PEM block of type CERTIFICATE".into());
    let (_, parsed) = parse_x509_pem(block.ok_or_else(missing)?.as_bytes()).map_err(|_| missing())?;
    Ok(parsed.contents)
}

pub(crate) fn parse_der(der: &[u8]) -> Result<X509Certificate<'_>, PkiError> {
    let (rest, certificate) =
        X509Certificate::from_der(der).map_err(|_| PkiError::Certificate("it is no well-formed X.509 certificate".into()))?;
    if rest.is_empty() { Ok(certificate) } else { Err(PkiError::Certificate("there is data behind the certificate".into())) }
}

fn facts_of(certificate: &X509Certificate<'_>) -> Result<CertificateFacts, PkiError> {
    let malformed = |what: &str| PkiError::Certificate(format!("its {what} is malformed or stands twice"));
    let constraints = certificate.basic_constraints().map_err(|_| malformed("basic constraints"))?;
    let key_usage = certificate.key_usage().map_err(|_| malformed("key usage"))?;
    let extended = certificate.extended_key_usage().map_err(|_| malformed("extended key usage"))?;
    let names = certificate.subject_alternative_name().map_err(|_| malformed("list of names"))?;
    let validity = certificate.validity();
    Ok(CertificateFacts {
        subject: subject_of(certificate.subject()),
        issuer: subject_of(certificate.issuer()),
        sans: names.map(|names| names.value.general_names.iter().filter_map(san_of).collect()).unwrap_or_default(),
        not_before: validity.not_before.to_datetime(),
        not_after: validity.not_after.to_datetime(),
        is_ca: constraints.is_some_and(|constraints| constraints.value.ca),
        may_sign: key_usage.is_none_or(|usage| usage.value.key_cert_sign()),
        server_auth: extended.as_ref().is_none_or(|usage| usage.value.any || usage.value.server_auth),
        client_auth: extended.as_ref().is_none_or(|usage| usage.value.any || usage.value.client_auth),
        serial: hex::encode(certificate.raw_serial()),
        public_key_sha256: sha256_hex(certificate.public_key().raw),
        sha256: sha256_hex(certificate.as_raw()),
        der: Vec::new(),
    })
}

fn subject_of(name: &X509Name<'_>) -> Subject {
    let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| attribute.as_str().map(str::to_owned).unwrap_or_default();
    Subject { common_name: name.iter_common_name().last().map(text), organizations: name.iter_organization().map(text).collect() }
}

fn san_of(name: &GeneralName<'_>) -> Option<San> {
    match name {
        GeneralName::DNSName(name) => Some(San::Dns((*name).to_owned())),
        GeneralName::IPAddress(bytes) => address_of(bytes).map(San::Ip),
        _ => None,
    }
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(octets).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|octets| Ipv6Addr::from(octets).into())
}

fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(digest(&SHA256, bytes))
}
