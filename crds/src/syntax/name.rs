//! Names: of DNS, of Linux users.

/// What is wrong with a DNS label (RFC 1123, as Kubernetes narrows it).
pub(crate) fn dns_label(text: &str) -> Option<&'static str> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() {
        Some("it is empty")
    } else if text.len() > 63 {
        Some("it is longer than 63 characters")
    } else if !text.chars().all(inner) {
        Some("it may only have lower-case letters, digits and `-`")
    } else if text.starts_with('-') || text.ends_with('-') {
        Some("it may not begin or end with `-`")
    } else {
        None
    }
}

/// What is wrong with a DNS name of one or more labels, without a dot at its end; nothing with one that is right (RFC 1123, as Kubernetes narrows it).
#[must_use]
pub fn dns_name(text: &str) -> Option<&'static str> {
    if text.len() > 253 {
        return Some("it is longer than 253 characters");
    }
    text.split('.').find_map(|label| match dns_label(label) {
        Some("it is empty") => Some("a part between its dots is empty"),
        other => other,
    })
}

/// What is wrong with the name of a Linux user. Wider than useradd's rule, since directories allow more, but nothing that a command could
/// take for an option or a second word.
pub(crate) fn user(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    if text.is_empty() {
        Some("it is empty")
    } else if text.len() > 256 {
        Some("it is longer than 256 characters")
    } else if !text.chars().all(allowed) {
        Some("it may only have letters, digits, `_`, `-`, `.` and `@`")
    } else if text.starts_with('-') {
        Some("it may not begin with `-`")
    } else {
        None
    }
}

/// What is wrong with a path of a file on the user's machine.
pub(crate) fn path(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("it is empty")
    } else if text.chars().any(char::is_control) {
        Some("it has control characters")
    } else {
        None
    }
}
