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
    /// A token by its line, which has the end of those that have one as base64. One whose end can't be read has ended: nobody could rely on it.
    pub(super) fn read(line: &str) -> Self {
        let (name, expiration) = line.split_once('\t').unwrap_or((line, ""));
        let decoded = STANDARD.decode(expiration.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        let end = OffsetDateTime::parse(&decoded, &Rfc3339).map_or(i64::MIN, OffsetDateTime::unix_timestamp);
        Self { name: name.to_owned(), ends_seconds: (!expiration.is_empty()).then_some(end) }
    }
}
