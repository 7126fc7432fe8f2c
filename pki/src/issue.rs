//! Making certificates with rcgen. Nothing is left to its defaults, which are valid from 1975 to 4096.

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyUsagePurpose, SanType,
};
use time::{Duration, OffsetDateTime};

use crate::key::{PrivateKey, serial_number};
use crate::{Authority, AuthorityKind, KeyAlgorithm, PkiError, Profile, Randomness, San};

/// How keys are made and how long certificates live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Kind of new keys.
    pub algorithm: KeyAlgorithm,
    /// How long before now a certificate begins to be valid. A host's clock may be behind ours until its time is synchronised, so this is
    /// an hour where kubeadm takes five minutes.
    pub backdate: Duration,
    /// Validity of leaves from now on, cut off where their authority ends.
    pub leaf_validity: Duration,
    /// Validity of new authorities from now on.
    pub authority_validity: Duration,
}

impl Default for Policy {
    /// P-256; leaves live 365 days and authorities 3650, as kubeadm's.
    fn default() -> Self {
        Self {
            algorithm: KeyAlgorithm::default(),
            backdate: Duration::hours(1),
            leaf_validity: Duration::days(365),
            authority_validity: Duration::days(3650),
        }
    }
}

/// A new leaf certificate with its key. It has no `Debug` on purpose.
pub struct Issued {
    /// The certificate in PEM.
    pub certificate_pem: String,
    /// The certificate's key.
    pub key: PrivateKey,
}

/// Makes a key and a certificate of this profile, signed by `authority`.
///
/// # Errors
/// [`PkiError::InvalidName`] for a name that cannot stand in a certificate; [`PkiError::NoValidity`] if there is no moment after `now` at which
/// both the certificate and its authority are valid; [`PkiError::NoKey`]; those of [`Randomness`].
pub fn issue(
    profile: &Profile,
    authority: &Authority,
    policy: &Policy,
    now: OffsetDateTime,
    randomness: &mut dyn Randomness,
) -> Result<Issued, PkiError> {
    let key = PrivateKey::generate(policy.algorithm, randomness)?;
    let mut params = leaf_params(profile)?;
    // A leaf that is valid while its authority isn't would only look valid.
    let signer = authority.facts();
    params.not_before = whole_seconds(now - policy.backdate).max(signer.not_before);
    params.not_after = whole_seconds(now + policy.leaf_validity).min(signer.not_after);
    params.serial_number = Some(serial_number(randomness)?);
    let what = || format!("the certificate of {}", profile.common_name);
    check_validity(what(), (params.not_before, params.not_after), now)?;
    let issuer = Issuer::from_ca_cert_der(&signer.der().into(), authority.key()?.pair()).map_err(PkiError::make(what()))?;
    let certificate = params.signed_by(key.pair(), &issuer).map_err(PkiError::make(what()))?;
    Ok(Issued { certificate_pem: certificate.pem(), key })
}

/// Makes the self-signed certificate of an authority.
pub(crate) fn self_sign(
    kind: AuthorityKind,
    key: &PrivateKey,
    policy: &Policy,
    now: OffsetDateTime,
    randomness: &mut dyn Randomness,
) -> Result<String, PkiError> {
    let name = kind.common_name();
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished_name(name, &[])?;
    params.not_before = whole_seconds(now - policy.backdate);
    params.not_after = whole_seconds(now + policy.authority_validity);
    check_validity(format!("the certificate of the authority {name}"), (params.not_before, params.not_after), now)?;
    params.serial_number = Some(serial_number(randomness)?);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment, KeyUsagePurpose::KeyCertSign];
    // kubeadm names its authorities in a SAN too; tools that compare look for it.
    params.subject_alt_names = vec![san_type(&San::Dns(name.to_owned()))?];
    let certificate = params.self_signed(key.pair()).map_err(PkiError::make(format!("the certificate of the authority {name}")))?;
    Ok(certificate.pem())
}

fn leaf_params(profile: &Profile) -> Result<CertificateParams, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished_name(&profile.common_name, &profile.organizations)?;
    params.subject_alt_names = profile.sans.iter().map(san_type).collect::<Result<_, _>>()?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    if profile.server_auth {
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
    }
    if profile.client_auth {
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
    }
    Ok(params)
}

pub(crate) fn distinguished_name(common_name: &str, organizations: &[String]) -> Result<DistinguishedName, PkiError> {
    check_name("the common name", common_name)?;
    // X.520 allows 64 characters. `system:node:` and a long host name are more; Kubernetes' own signers issue them, and Go reads them.
    let mut name = DistinguishedName::new();
    // rcgen keeps one value per attribute, and no certificate of kubeadm's has two organizations.
    for organization in organizations.iter().take(1) {
        check_name("the organization", organization)?;
        name.push(DnType::OrganizationName, organization.as_str());
    }
    if let Some(second) = organizations.get(1) {
        return Err(invalid_name("the organization", second, "a subject has at most one"));
    }
    name.push(DnType::CommonName, common_name);
    Ok(name)
}

fn san_type(san: &San) -> Result<SanType, PkiError> {
    match san {
        San::Ip(address) => Ok(SanType::IpAddress(*address)),
        San::Dns(name) => {
            check_name("the name", name)?;
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '*');
            if !name.chars().all(allowed) {
                return Err(invalid_name("the name", name, "it is no DNS name"));
            }
            let ascii = Ia5String::try_from(name.as_str()).map_err(|_| invalid_name("the name", name, "it is no DNS name"))?;
            Ok(SanType::DnsName(ascii))
        }
    }
}

fn check_name(what: &'static str, value: &str) -> Result<(), PkiError> {
    if value.is_empty() {
        return Err(invalid_name(what, value, "it is empty"));
    }
    if value.chars().any(char::is_control) {
        return Err(invalid_name(what, value, "it has control characters"));
    }
    Ok(())
}

fn invalid_name(what: &'static str, value: &str, reason: &'static str) -> PkiError {
    PkiError::InvalidName { what, value: value.escape_default().to_string(), reason }
}

/// Refuses a certificate that would never be valid from now on: its authority has ended, or begins after the certificate would end.
fn check_validity(what: String, (from, until): (OffsetDateTime, OffsetDateTime), now: OffsetDateTime) -> Result<(), PkiError> {
    if until > from.max(now) { Ok(()) } else { Err(PkiError::NoValidity { what, from, until, now: whole_seconds(now) }) }
}

/// Certificates count whole seconds.
fn whole_seconds(moment: OffsetDateTime) -> OffsetDateTime {
    moment.to_offset(time::UtcOffset::UTC).replace_nanosecond(0).unwrap_or(moment)
}
