//! Values of entries, and what is wrong with them.

use crate::Problem;
use crate::decode::{Decoder, Field, Fields};
use crate::model::Rights;
use crate::syntax::name;
use crate::tree::Value;
use crate::words::quote;

/// The longest path of Linux, with the NUL at its end (`PATH_MAX`).
const MOST_PATH: usize = 4095;

/// Text that `check` finds nothing wrong with; `what` it is, with its article.
pub(crate) fn checked(decoder: &mut Decoder, field: &Field<'_>, check: fn(&str) -> Option<&'static str>, what: &str) -> Option<String> {
    let text = decoder.text(field)?;
    let Some(reason) = check(text) else { return Some(text.to_owned()) };
    let problem = Problem::new(format!("{} cannot be {what}", quote(text))).at(field.position());
    decoder.report(problem.because(reason).hint(format!("write {what} in its place")));
    None
}

/// A field that must be there, and is such a text.
pub(super) fn required(
    decoder: &mut Decoder,
    fields: &Fields<'_>,
    (name, what): (&str, &str),
    check: fn(&str) -> Option<&'static str>,
) -> Option<String> {
    let field = decoder.required(fields, name)?;
    checked(decoder, &field, check, what)
}

/// A field that may be there. One that is wrong is none that is left out.
pub(crate) fn optional(
    decoder: &mut Decoder,
    fields: &Fields<'_>,
    (name, what): (&str, &str),
    check: fn(&str) -> Option<&'static str>,
) -> Option<Option<String>> {
    fields.get(name).map_or(Some(None), |field| checked(decoder, &field, check, what).map(Some))
}

/// What is wrong with a path on a host.
pub(crate) fn host_path(text: &str) -> Option<&'static str> {
    if !text.starts_with('/') {
        Some("it does not begin with `/`, and nobody could tell what it is seen from")
    } else if text.len() > MOST_PATH {
        Some("it is longer than the 4095 bytes that Linux takes")
    } else if text.chars().any(|c| c.is_control() || c == '\\') {
        Some("it has control characters or backslashes")
    } else if text.len() == 1 {
        Some("it is the root of all files")
    } else if text.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) {
        Some("it has `//`, `.` or `..` in it, or ends with `/`, and would be another spelling of a path")
    } else {
        None
    }
}

/// What is wrong with a path that is to go: what lies at the top is the host's own.
pub(super) fn removable(text: &str) -> Option<&'static str> {
    host_path(text).or_else(|| (text.matches('/').count() < 2).then_some("a host is not one without its folders at the top"))
}

/// What is wrong with the name of an entry.
pub(crate) fn entry_name(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > 63 {
        Some("it has 1 to 63 characters")
    } else if !text.chars().all(allowed) {
        Some("it may only have letters, digits, `-`, `_` and `.`")
    } else {
        None
    }
}

/// The name of a group of hosts.
pub(crate) fn group_name(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let check = |text: &str| entry_name(text).or_else(|| (text == "all").then_some("it means all hosts"));
    checked(decoder, field, check, "the name of a group")
}

/// What is wrong with one line of text.
pub(crate) fn one_line(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("it is empty")
    } else if text.chars().any(|c| c.is_control() && c != '\t') {
        Some("it is one line without control characters")
    } else {
        None
    }
}

/// What is wrong with the dotted name of a kernel parameter.
pub(super) fn sysctl(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':');
    let is_odd = text.split(['.', '/']).any(str::is_empty);
    (!text.chars().all(allowed) || is_odd || !text.contains('.')).then_some("it is a dotted name, as `net.ipv4.ip_forward`")
}

/// What is wrong with the name of a kernel module.
pub(super) fn module(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (text.is_empty() || !text.chars().all(allowed) || text.starts_with('-'))
        .then_some("it has letters, digits, `-` and `_`, as `br_netfilter`")
}

/// What is wrong with the name of a package.
pub(super) fn package(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    (!begins || !text.chars().all(allowed)).then_some("it is a name without a version, of letters, digits, `+`, `-`, `.` and `_`")
}

/// What is wrong with the name of a user or a group that is made.
pub(super) fn account(text: &str) -> Option<&'static str> {
    let is_number = || text.chars().all(|c| c.is_ascii_digit());
    let too_long = || (text.len() > 32).then_some("it is longer than the 32 characters that useradd takes");
    name::user(text).or_else(too_long).or_else(|| is_number().then_some("it is a number"))
}

/// What is wrong with the comment of a user.
pub(super) fn comment(text: &str) -> Option<&'static str> {
    one_line(text).or_else(|| text.contains(':').then_some("it has `:`, which parts the fields of /etc/passwd"))
}

/// What is wrong with a line of `authorized_keys`.
pub(super) fn key(text: &str) -> Option<&'static str> {
    let is_key = |word: &str| word.starts_with("AAAA") && word.len() > 60;
    let has_key =
        || text.split(' ').any(is_key).then_some(()).is_none().then_some("it has no public key: a type, as ssh-ed25519, and base64");
    if text.contains("PRIVATE KEY") { Some("it is a private key") } else { one_line(text).or_else(has_key) }
}

/// What systemd calls its kinds of units.
const UNITS: [&str; 8] = [".service", ".socket", ".timer", ".mount", ".automount", ".path", ".target", ".slice"];

/// What is wrong with the name of a unit.
pub(super) fn unit(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '.' | '\\' | '@' | '-');
    if !UNITS.iter().any(|kind| text.strip_suffix(kind).is_some_and(|name| !name.is_empty())) {
        Some("it is the full name of a unit, as `nginx.service`")
    } else if !text.chars().all(allowed) || text.starts_with('-') {
        Some("it may only have letters, digits, `:`, `_`, `.`, `\\`, `@` and `-`")
    } else {
        None
    }
}

/// Mode and owner, with this mode where none is said.
pub(super) fn rights(decoder: &mut Decoder, fields: &Fields<'_>, mode: u32) -> Option<Rights> {
    let mode = fields.get("mode").map_or(Some(mode), |field| read_mode(decoder, &field));
    let owner = optional(decoder, fields, ("owner", "the name of a user"), name::user);
    let group = optional(decoder, fields, ("group", "the name of a group"), name::user);
    let (owner, group) = (owner?, group?);
    Some(Rights { mode: mode?, owner: owner.unwrap_or_else(|| "root".to_owned()), group })
}

/// Octal digits, in quotes or without: nobody means 420 by `0644`.
fn read_mode(decoder: &mut Decoder, field: &Field<'_>) -> Option<u32> {
    decoder.place(field);
    let text = match &field.node.value {
        Value::Integer(_) | Value::Float => field.node.spelling.as_str(),
        _ => decoder.text(field)?,
    };
    let is_octal = (3..=4).contains(&text.len()) && text.chars().all(|c| ('0'..='7').contains(&c));
    let mode = u32::from_str_radix(text, 8).ok().filter(|_| is_octal);
    if mode.is_none() {
        let problem = Problem::new(format!("`mode` cannot be {}", quote(text))).at(field.position());
        decoder.report(problem.because("it is three or four octal digits").hint("write it as chmod takes it, for example \"0644\""));
    }
    mode
}
