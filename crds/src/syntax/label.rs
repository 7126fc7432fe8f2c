//! Labels and taints, by the rules of Kubernetes' API.

use super::name::dns_name;

/// What is wrong with the key of a label or a taint: a qualified name, of which the part before `/` is a DNS name.
pub(crate) fn key(text: &str) -> Option<&'static str> {
    match text.split_once('/') {
        None => short_name(text),
        Some((_, name)) if name.contains('/') => Some("it has more than one `/`"),
        Some((prefix, _)) if dns_name(prefix).is_some() => Some("the part before `/` is no DNS name"),
        Some((_, name)) => short_name(name),
    }
}

/// What is wrong with the value of a label or a taint; it may be empty.
pub(crate) fn value(text: &str) -> Option<&'static str> {
    if text.is_empty() { None } else { short_name(text) }
}

fn short_name(text: &str) -> Option<&'static str> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let at_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    if text.is_empty() {
        Some("its name is empty")
    } else if text.len() > 63 {
        Some("its name is longer than 63 characters")
    } else if !text.chars().all(inner) {
        Some("it may only have letters, digits, `-`, `_` and `.`")
    } else if !at_end(text.chars().next()) || !at_end(text.chars().last()) {
        Some("it must begin and end with a letter or a digit")
    } else {
        None
    }
}
