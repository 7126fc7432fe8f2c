//! Certificate authorities of the user's: read where the cluster's file says they are, and checked before any host is asked.

use kok_crds::model::{AuthorityName, AuthorityPair, OwnAuthority, Pem, PemSource};
use kok_crds::{Input, Problem, Secret};
use kok_pki::{Authority, PkiError};
use time::OffsetDateTime;

use super::files::Files;
use crate::clock::Clock;

/// More than any certificate or key has.
const MOST_BYTES: u64 = 1 << 20;

const MATCHING: &str =
    "give the certificate of an authority in PEM and its private key, without passphrase: RSA of 2048 bits or more, or ECDSA";

/// Reads the user's authorities. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input, files: &dyn Files) {
    let Some(cluster) = &mut input.cluster else { return };
    let now = OffsetDateTime::from_unix_timestamp(Clock::seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (mut problems, mut known) = (Vec::new(), Vec::<(AuthorityName, String)>::new());
    for own in &mut cluster.settings.certificates.authorities {
        match read(own, now, files) {
            Ok((pair, public_key)) => {
                problems.extend(known.iter().find(|(_, other)| *other == public_key).map(|(other, _)| shared(own, *other)));
                known.push((own.name, public_key));
                own.pair = Some(pair);
            }
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        input.problems.extend(problems);
        input.cluster = None;
    }
}

/// Certificate and key, with the digest of the public key.
fn read(own: &OwnAuthority, now: OffsetDateTime, files: &dyn Files) -> Result<(AuthorityPair, String), Vec<Problem>> {
    let certificate = text((own.name, "certificate"), &own.certificate, files).map(|(text, _)| text);
    let key = own.key.as_ref().map(|key| {
        let (text, open) = text((own.name, "key"), key, files)?;
        open.map_or(Ok(text), |(name, mode)| Err(open_to_others(key, &name, mode)))
    });
    let key = key.transpose();
    let (certificate, key) = match (certificate, key) {
        (Ok(certificate), Ok(key)) => (certificate, key),
        (certificate, key) => return Err([certificate.err(), key.err()].into_iter().flatten().collect()),
    };
    let of_pki = |secret: &Secret| kok_pki::SecretText::new(String::from_utf8_lossy(secret.expose()).into_owned());
    let certificate = String::from_utf8_lossy(certificate.expose()).into_owned();
    let authority = Authority::adopt(certificate.clone(), key.as_ref().map(of_pki), now).map_err(|error| vec![wrong(own, &error)])?;
    let public_key = authority.facts().public_key_sha256.clone();
    Ok((AuthorityPair { certificate, key }, public_key))
}

fn wrong(own: &OwnAuthority, error: &PkiError) -> Problem {
    let of_key = own.key.as_ref().filter(|_| matches!(error, PkiError::PrivateKey | PkiError::KeyMismatch(_)));
    let at = of_key.map_or(&own.certificate.origin, |key| &key.origin);
    let problem = Problem::new(format!("`{}` can't be an authority of the cluster", own.name.as_str())).at(at);
    problem.because(error.to_string()).hint(MATCHING)
}

/// Whoever one of them has signed would be trusted as if the other one had.
fn shared(own: &OwnAuthority, other: AuthorityName) -> Problem {
    Problem::new(format!("`{}` and `{}` are the same authority", other.as_str(), own.name.as_str()))
        .at(&own.certificate.origin)
        .because("who has a certificate for one of these purposes would be trusted for the other: each kubelet could read etcd")
        .hint("make an authority for each, or leave one out: kokctl makes it")
}

/// The text of a certificate or a key, and the file that it stands in with its mode if others may do anything with that. None of the texts is
/// repeated in messages.
fn text((name, what): (AuthorityName, &str), pem: &Pem, files: &dyn Files) -> Result<(Secret, Option<(String, u32)>), Problem> {
    let path = match &pem.source {
        PemSource::Contents(text) => return Ok((text.clone(), files.open_to_others(&pem.origin))),
        PemSource::File(path) => path,
    };
    let file = files.name(&pem.origin, path);
    let contents = files.read(&pem.origin, path, MOST_BYTES).map_err(|unread| {
        Problem::new(format!("the {what} of the authority `{}` can't be read", name.as_str()))
            .at(&pem.origin)
            .because(format!("{file}: {}", unread.because))
            .hint("name a file in PEM, as seen from the folder of this file")
    })?;
    Ok((Secret::new(contents.bytes), contents.open_mode.map(|mode| (file, mode))))
}

/// Whoever reads the key of an authority owns the cluster.
fn open_to_others(key: &Pem, name: &str, mode: u32) -> Problem {
    let problem = Problem::new("the key of an authority is open to others").at(&key.origin);
    problem.because(format!("the mode of {name} is {mode:04o}")).hint(format!("chmod 600 {name}"))
}
