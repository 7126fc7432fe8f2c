//! The sha256 that upstream publishes beside its files.

/// The sha256 of `file`, out of what is published: lines of `DIGITS  NAME` as sha256sum writes them, where a `*` may stand before the name and
/// a folder in it; or, without a list, the digits alone. Lower case. Nothing if it is not there, or is no sha256.
#[must_use]
pub fn published_digest(text: &str, file: &str, is_list: bool) -> Option<String> {
    let digits = if is_list {
        let is_file = |name: &str| name.trim_start_matches('*').rsplit('/').next() == Some(file);
        text.lines().filter_map(|line| line.trim().split_once(char::is_whitespace)).find(|(_, name)| is_file(name.trim()))?.0
    } else {
        // Some write the name behind it all the same.
        text.split_whitespace().next()?
    };
    let is_sha256 = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sha256.then(|| digits.to_ascii_lowercase())
}
