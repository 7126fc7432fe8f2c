//! known_hosts files, as sshd(8) describes them: plain, hashed and pattern host fields, negation, markers.
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use russh::keys::PublicKey;

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

/// The lines of `text` that match `host`, which is written as known_hosts writes it: an address, or `[address]:port`.
/// Lines that say nothing (comments, unknown markers, too few fields) are passed over, as OpenSSH does.
pub(super) fn matching(text: &str, host: &str) -> Vec<Line> {
    text.lines().enumerate().filter_map(|(index, line)| parse(line, host, index + 1)).collect()
}

fn parse(line: &str, host: &str, number: usize) -> Option<Line> {
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
    let hosts = fields.next()?;
    if !matches_hosts(hosts, host) {
        return None;
    }
    let (algorithm, key) = (fields.next()?, fields.next()?);
    Some(Line { number, marker, key: PublicKey::from_openssh(&format!("{algorithm} {key}")).ok() })
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

/// `*` is any text and `?` any one character; letters match in either case. The text is walked once and a failed tail goes back to
/// the last star only, so no pattern can make this slow.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().flat_map(char::to_lowercase).collect();
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(character) = text.get(seen) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == character => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((star_at, star_seen)) => {
                    star = Some((star_at, star_seen + 1));
                    at = star_at + 1;
                    seen = star_seen + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|rest| *rest == '*')
}

#[cfg(test)]
#[path = "tests/known_hosts.rs"]
mod tests;
