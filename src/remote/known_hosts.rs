//! known_hosts files, as sshd(8) describes them: plain, hashed and pattern host fields, negation, markers.
use super::pattern::{Case, matches};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use russh::keys::PublicKey;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// What a line says about its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    /// It is a key of the host.
    HostKey,
    /// It signs keys of the host.
    CertAuthority,
    /// It must never be accepted.
    Revoked,
}

/// A line that speaks of the host in question.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) marker: Marker,
    /// Nothing if the key can't be read.
    pub(super) key: Option<PublicKey>,
}

impl Line {
    /// Whether it says that this is a key of the host.
    pub(super) fn holds(&self, key: &PublicKey) -> bool {
        self.marker == Marker::HostKey && self.key.as_ref().is_some_and(|own| own.key_data() == key.key_data())
    }
}

/// A file that was read, to be asked for many hosts.
#[derive(Debug, Default)]
pub(super) struct KnownHosts {
    entries: Vec<Entry>,
    /// Entries by the names that stand in them, in lower case.
    by_name: HashMap<String, Vec<usize>>,
    /// Entries with patterns or hashes: each has to be compared.
    others: Vec<usize>,
}

#[derive(Debug)]
struct Entry {
    number: usize,
    marker: Marker,
    hosts: String,
    key: String,
}

impl KnownHosts {
    /// Lines that say nothing (comments, unknown markers, too few fields) are passed over, as OpenSSH does.
    pub(super) fn read(text: &str) -> Self {
        let mut read = Self::default();
        for entry in text.lines().enumerate().filter_map(|(index, line)| parse(line, index + 1)) {
            let index = read.entries.len();
            if entry.hosts.starts_with('|') || entry.hosts.contains(['*', '?', '!']) {
                read.others.push(index);
            } else {
                entry.hosts.split(',').for_each(|name| read.by_name.entry(name.to_ascii_lowercase()).or_default().push(index));
            }
            read.entries.push(entry);
        }
        read
    }

    /// The lines for `host`, which is written as known_hosts writes it: an address, or `[address]:port`.
    pub(super) fn matching(&self, host: &str) -> Vec<Line> {
        let named = self.by_name.get(&host.to_ascii_lowercase()).into_iter().flatten().copied();
        let matches = |index: &usize| self.entries.get(*index).is_some_and(|entry| matches_hosts(&entry.hosts, host));
        let found: BTreeSet<usize> = named.chain(self.others.iter().copied().filter(matches)).collect();
        found.into_iter().filter_map(|index| self.entries.get(index)).map(Entry::line).collect()
    }
}

impl Entry {
    fn line(&self) -> Line {
        Line { number: self.number, marker: self.marker, key: PublicKey::from_openssh(&self.key).ok() }
    }
}

/// A line for the file, without its end.
pub(super) fn line(host: &str, key: &PublicKey) -> io::Result<String> {
    let text = key.to_openssh().map_err(io::Error::other)?;
    // Without the comment, which a server might have made up.
    let fields: Vec<&str> = text.split(' ').take(2).collect();
    Ok(format!("{host} {}", fields.join(" ")))
}

/// Adds keys for a host that the file does not know, and gives the lines by which it does know it: then nothing was added.
///
/// The lines go to the end in one write under a lock, so whoever reads or adds meanwhile sees them whole or not at all. A file that is
/// made by this is for its owner alone.
pub(super) fn add(file: &Path, host: &str, keys: &[&PublicKey]) -> io::Result<Vec<Line>> {
    if !host.chars().all(|c| c.is_ascii_alphanumeric() || ".:-_[]".contains(c)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{host:?} can't be written to it")));
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut opened = fs::OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(file)?;
    if !opened.metadata()?.is_file() {
        // Such as /dev/null, which forgets: every key would be new for ever.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    lock(&opened)?;
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes)?;
    let known = KnownHosts::read(&String::from_utf8_lossy(&bytes)).matching(host);
    if !known.is_empty() {
        return Ok(known);
    }
    let start = if bytes.last().is_none_or(|last| *last == b'\n') { "" } else { "\n" };
    let mut text = start.to_owned();
    for key in keys {
        text.push_str(&line(host, key)?);
        text.push('\n');
    }
    opened.write_all(text.as_bytes())?;
    opened.sync_all()?;
    Ok(known)
}

/// Whoever holds the lock writes one line; a lock that is held for longer is not one of ours.
fn lock(file: &fs::File) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let began = Instant::now();
    loop {
        match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(error.into()),
        }
    }
}

fn parse(line: &str, number: usize) -> Option<Entry> {
    let mut fields = line.split_ascii_whitespace().peekable();
    let marker = match fields.peek()? {
        comment if comment.starts_with('#') => return None,
        &"@cert-authority" => Marker::CertAuthority,
        &"@revoked" => Marker::Revoked,
        unknown if unknown.starts_with('@') => return None,
        _ => Marker::HostKey,
    };
    if marker != Marker::HostKey {
        fields.next();
    }
    let (hosts, algorithm, key) = (fields.next()?.to_owned(), fields.next()?, fields.next()?);
    Some(Entry { number, marker, hosts, key: format!("{algorithm} {key}") })
}

/// A host field: a hash, or patterns of which none that is negated and at least one other matches.
fn matches_hosts(field: &str, host: &str) -> bool {
    if let Some(hashed) = field.strip_prefix("|1|") {
        return matches_hash(hashed, host);
    }
    let mut matched = false;
    for pattern in field.split(',') {
        match pattern.strip_prefix('!') {
            Some(negated) if matches_pattern(negated, host) => return false,
            Some(_) => {}
            None => matched |= matches_pattern(pattern, host),
        }
    }
    matched
}

/// `salt|hash`: HMAC-SHA1 of the host under the salt. It only hides names, so SHA-1 harms nobody here.
fn matches_hash(field: &str, host: &str) -> bool {
    let Some((salt, hash)) = field.split_once('|') else {
        return false;
    };
    let (Ok(salt), Ok(hash)) = (BASE64.decode(salt), BASE64.decode(hash)) else {
        return false;
    };
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &salt);
    hmac::verify(&key, host.as_bytes(), &hash).is_ok()
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    matches(pattern, text, Case::Ignored)
}

#[cfg(test)]
#[path = "tests/known_hosts.rs"]
mod tests;
