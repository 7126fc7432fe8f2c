//! What of a text is not passed on.

mod keys;
mod lines;
mod strings;
#[cfg(test)]
mod tests;
mod values;

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// What stands in place of a value.
const LEFT_OUT: &str = "(left out)";

/// Whoever writes JSON in JSON in JSON has said it all before.
const DEPTH: usize = 12;

/// What looks like a secret by itself, and what takes its place; the rest of a line stays.
const PATTERNS: [(&str, &str); 6] = [
    // A private key or a certificate, encoded once more: `-----BEGIN`.
    (r"\bLS0tLS1CRUdJTi[A-Za-z0-9+/=]+", "(a key or a certificate)"),
    // A JSON Web Token, whole or cut off: `{"`.
    (r"\beyJ[A-Za-z0-9_-]{12,}(?:\.[A-Za-z0-9_-]*)*", "(a token)"),
    (r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", "(a token)"),
    (r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|hvs\.|s\.)[A-Za-z0-9_-]{14,}", "(a token)"),
    (r"\$(?:2[aby]|1|5|6|y|7|apr1|argon2id?)\$[A-Za-z0-9./$=,+-]+", "(a hash)"),
    (r"(?i)\b(bearer|basic) +[A-Za-z0-9+/._~=-]{8,}", "$1 (left out)"),
];

/// A login in a URL, and what makes it none: an image's digest.
const LOGIN: &str = r"(?i)\b[a-z][a-z0-9+.-]*://([^\s\x22'<>]*)@";
const DIGESTS: [&str; 2] = ["sha256:", "sha512:"];

static SECRETS: LazyLock<Vec<(Regex, &str)>> =
    LazyLock::new(|| PATTERNS.iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, *by))).collect());

static LOGINS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(LOGIN).ok());

/// Whether anything of a text may have to go: most strings have nothing of it.
static ANY: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let more = [LOGIN.to_owned(), "PRIVATE KEY-----".to_owned(), format!("(?i)(?:{})", values::NAMES), r"(?:-u|-user)".to_owned()];
    RegexSet::new(PATTERNS.iter().map(|(pattern, _)| (*pattern).to_owned()).chain(more)).ok()
});

/// A text without what looks like a secret. More may go than has to; what is left is no proof that nothing secret is in it. What was JSON is JSON still.
#[must_use]
pub fn redacted(text: &str) -> String {
    without(text, DEPTH)
}

/// Strings that stand in quotes first, each for itself: so nothing of what they say reaches beyond them.
fn without(text: &str, depth: usize) -> String {
    if ANY.as_ref().is_some_and(|any| !any.is_match(text)) {
        return text.to_owned();
    }
    let text = strings::each(text, |inner| match depth.checked_sub(1) {
        Some(depth) => without(inner, depth),
        None => LEFT_OUT.to_owned(),
    });
    let text = SECRETS.iter().fold(keys::without(&text), |text, (pattern, by)| replaced(pattern, &text, by));
    values::without(&without_logins(&text))
}

fn replaced(pattern: &Regex, text: &str, by: &str) -> String {
    pattern.replace_all(text, by).into_owned()
}

/// Of a URL with a digest, what is before an `@` further to the left is a login still.
fn without_logins(text: &str) -> String {
    let Some(pattern) = LOGINS.as_ref() else { return LEFT_OUT.to_owned() };
    let (mut kept, mut done) = (String::with_capacity(text.len()), 0);
    for found in pattern.captures_iter(text) {
        let (Some(whole), Some(login)) = (found.get(0), found.get(1)) else { continue };
        let is_digest = text.get(whole.end()..).is_some_and(|rest| DIGESTS.iter().any(|digest| rest.starts_with(digest)));
        let length = if is_digest { login.as_str().rfind('@') } else { Some(login.len()) };
        let Some(length) = length else { continue };
        kept.push_str(text.get(done..login.start()).unwrap_or_default());
        kept.push_str(LEFT_OUT);
        done = login.start() + length;
    }
    kept.push_str(text.get(done..).unwrap_or_default());
    kept
}
