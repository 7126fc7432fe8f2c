//! Bootstrap tokens, as far as they are public.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A bootstrap token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapTokenState {
    /// Name of the secret that holds it, with its public half.
    pub name: String,
    /// When it ends, in seconds since 1970; nothing for one without an end.
    pub ends_seconds: Option<i64>,
}

impl BootstrapTokenState {
    /// The tokens of a probe's answer: a line `secret/NAME` each, and the line `end BASE64` after those that have one.
    pub(super) fn read_all(text: &str) -> Vec<Self> {
        let mut tokens: Vec<Self> = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("secret/") {
                tokens.push(Self { name: name.to_owned(), ends_seconds: None });
            } else if let (Some(expiration), Some(token)) = (line.strip_prefix("end "), tokens.last_mut()) {
                token.ends_seconds = Some(seconds(expiration));
            }
        }
        tokens
    }
}

/// An end that can't be read has been: nobody could rely on it.
fn seconds(expiration: &str) -> i64 {
    let decoded = STANDARD.decode(expiration.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    OffsetDateTime::parse(&decoded, &Rfc3339).map_or(i64::MIN, OffsetDateTime::unix_timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_have_no_end_and_one_that_nobody_can_read_has_ended() {
        let end = STANDARD.encode("2026-11-21T16:03:08Z");
        let text = format!("secret/bootstrap-token-a\nend {end}\nsecret/bootstrap-token-b\nsecret/bootstrap-token-c\nend x\n");
        let ends: Vec<Option<i64>> = BootstrapTokenState::read_all(&text).iter().map(|token| token.ends_seconds).collect();
        assert_eq!(ends, [Some(1_795_276_988), None, Some(i64::MIN)]);
    }
}
