//! `InRelease`: what a suite of an archive has, with its signature.

use std::collections::BTreeMap;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::ArchiveError;

const BEGIN: &str = "-----BEGIN PGP SIGNED MESSAGE-----";
const SIGNATURE: &str = "-----BEGIN PGP SIGNATURE-----";
const END: &str = "-----END PGP SIGNATURE-----";

/// What a suite says of itself and of its lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Release {
    /// Such as `stable`, `noble-updates`.
    suite: String,
    /// Such as `bookworm`.
    codename: String,
    valid_until: Option<String>,
    /// Whether lists stand at addresses by their digests too, where they stay when newer ones come.
    by_hash: bool,
    /// sha256 and length by path.
    lists: BTreeMap<String, (String, u64)>,
}

impl Release {
    /// Reads an `InRelease`, which has to be of this suite and to hold at this time. That there is a signature is seen here; whose it is, is not.
    ///
    /// # Errors
    /// [`ArchiveError`] saying what is wrong with it.
    pub fn parse(text: &str, suite: &str, now_seconds: i64) -> Result<Self, ArchiveError> {
        let release = read(&signed(text)?);
        if release.suite != suite && release.codename != suite {
            let found = format!("{} ({})", release.codename, release.suite);
            return Err(ArchiveError::Suite { asked: suite.to_owned(), found });
        }
        match &release.valid_until {
            Some(until) if seconds(until).is_none_or(|until| until < now_seconds) => Err(ArchiveError::Expired { until: until.clone() }),
            _ => Ok(release),
        }
    }

    /// The list of a component for an architecture, compressed by xz: its path below the suite, its address below that, its sha256 and its length.
    ///
    /// # Errors
    /// [`ArchiveError::NoList`]
    pub fn list(&self, component: &str, architecture: &str) -> Result<(String, String, &str, u64), ArchiveError> {
        let folder = format!("{component}/binary-{architecture}");
        let path = format!("{folder}/Packages.xz");
        let (sha256, size) = self.lists.get(&path).ok_or_else(|| ArchiveError::NoList { list: path.clone() })?;
        let address = if self.by_hash { format!("{folder}/by-hash/SHA256/{sha256}") } else { path.clone() };
        Ok((path, address, sha256, *size))
    }
}

/// The text that is signed. What stands before or behind it is not, and is not looked at.
fn signed(text: &str) -> Result<String, ArchiveError> {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(BEGIN) {
        return Err(ArchiveError::Unsigned);
    }
    let mut lines = lines.skip_while(|line| !line.trim_end().is_empty());
    let mut signed = String::new();
    for line in lines.by_ref().take_while(|line| line.trim_end() != SIGNATURE) {
        // RFC 9580, 7.1: a line that begins with a dash has `- ` in front.
        signed.push_str(line.strip_prefix("- ").unwrap_or(line));
        signed.push('\n');
    }
    if lines.any(|line| line.trim_end() == END) { Ok(signed) } else { Err(ArchiveError::Unsigned) }
}

fn read(text: &str) -> Release {
    let (mut release, mut field) = (Release::default(), "");
    for line in text.lines() {
        if let Some(row) = line.strip_prefix(' ') {
            if field == "SHA256" {
                release.lists.extend(list(row));
            }
            continue;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        field = name;
        let value = value.trim();
        match name {
            "Suite" => value.clone_into(&mut release.suite),
            "Codename" => value.clone_into(&mut release.codename),
            "Valid-Until" => release.valid_until = Some(value.to_owned()),
            "Acquire-By-Hash" => release.by_hash = value == "yes",
            _ => {}
        }
    }
    release
}

/// A line of digest, length and path.
fn list(row: &str) -> Option<(String, (String, u64))> {
    let mut words = row.split_ascii_whitespace();
    let (sha256, size, path) = (words.next()?, words.next()?, words.next()?);
    let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then(|| Some((path.to_owned(), (sha256.to_owned(), size.parse().ok()?)))).flatten()
}

/// A moment as these lists write it: `Sat, 11 Jul 2026 10:16:37 UTC`.
fn seconds(text: &str) -> Option<i64> {
    let text = text.replace(" UTC", " +0000");
    OffsetDateTime::parse(&text, &Rfc2822).ok().map(OffsetDateTime::unix_timestamp)
}
