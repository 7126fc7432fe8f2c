//! Certificate authorities of the user's: read where the cluster's file says they are, and checked before any host is asked.

use std::fs;

use kok_crds::model::{AuthorityName, AuthorityPair, OwnAuthority, Pem, PemSource};
use kok_crds::{Input, Problem, Secret};
use kok_pki::{Authority, PkiError};
use time::OffsetDateTime;

use crate::cli::process;
use crate::clock::Clock;
use crate::plain_file;
use crate::remote::mode_if_open;
use crate::state::beside;

/// More than any certificate or key has.
const MOST_BYTES: u64 = 1 << 20;

const MATCHING: &str =
    "give the certificate of an authority in PEM and its private key, without passphrase: RSA of 2048 bits or more, or ECDSA";

/// Reads the user's authorities. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input) {
    let Some(cluster) = &mut input.cluster else { return };
    let now = OffsetDateTime::from_unix_timestamp(Clock::seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (mut problems, mut known) = (Vec::new(), Vec::<(AuthorityName, String)>::new());
    for own in &mut cluster.settings.certificates.authorities {
        match read(own, now) {
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
fn read(own: &OwnAuthority, now: OffsetDateTime) -> Result<(AuthorityPair, String), Vec<Problem>> {
    let certificate = text(own.name, "certificate", &own.certificate);
    let key = own.key.as_ref().map(|key| {
        text(own.name, "key", key).and_then(|text| match open_to_others(key) {
            Some(problem) => Err(problem),
            None => Ok(text),
        })
    });
    let key = key.transpose();
    let (certificate, key) = match (certificate, key) {
        (Ok(certificate), Ok(key)) => (certificate, key),
        (certificate, key) => return Err([certificate.err(), key.err()].into_iter().flatten().collect()),
    };
    let of_pki = |secret: &Secret| kok_pki::Secret::new(String::from_utf8_lossy(secret.expose()).into_owned());
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

/// The text of a certificate or a key. Neither is repeated in messages.
fn text(name: AuthorityName, what: &str, pem: &Pem) -> Result<Secret, Problem> {
    let path = match &pem.source {
        PemSource::Contents(text) => return Ok(text.clone()),
        PemSource::File(path) => beside(&pem.origin, path, process::home().as_deref()),
    };
    let unreadable = |because: String| {
        Problem::new(format!("the {what} of the authority `{}` can't be read", name.as_str()))
            .at(&pem.origin)
            .because(format!("{}: {because}", path.display()))
            .hint("name a file in PEM, as seen from the folder of this file")
    };
    plain_file::read(&path, MOST_BYTES).map(Secret::new).map_err(unreadable)
}

/// Whoever reads the key of an authority owns the cluster.
fn open_to_others(key: &Pem) -> Option<Problem> {
    let path = match &key.source {
        PemSource::Contents(_) => std::path::PathBuf::from(&*key.origin.file),
        PemSource::File(path) => beside(&key.origin, path, process::home().as_deref()),
    };
    // What came by standard input or in an option is no file.
    let mode = mode_if_open(&fs::metadata(&path).ok().filter(fs::Metadata::is_file)?)?;
    let problem = Problem::new("the key of an authority is open to others").at(&key.origin);
    Some(problem.because(format!("the mode of {} is {mode:04o}", path.display())).hint(format!("chmod 600 {}", path.display())))
}

#[cfg(test)]
mod tests;
