//! Opening many encrypted texts, each of them once.

use std::collections::BTreeMap;

use super::{Closed, Envelope, Vault};
use crate::Problem;
use crate::message::Kind;
use crate::words::quote;

/// How a text that ansible-vault encrypted begins.
pub(crate) const BEGINNING: &str = "$ANSIBLE_VAULT;";

/// A thousand hosts with some passwords each; so many take a minute, and more are a mistake or an attack.
const MOST: usize = 10_000;

/// Why an encrypted text stays closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is none; what it is not.
    Malformed(&'static str),
    /// Nobody opens it.
    Closed(Closed, Option<String>),
    /// What came out is no text.
    NotText,
    /// There are too many.
    TooMany,
}

impl Refused {
    /// What is wrong with an encrypted text that nobody tries to open.
    pub(crate) fn of_nobody(text: &str) -> Self {
        match Envelope::parse(text) {
            Ok(envelope) => Self::Closed(Closed::NoPassword, envelope.label().map(str::to_owned)),
            Err(because) => Self::Malformed(because),
        }
    }

    /// What is wrong with `what`, which is encrypted.
    pub(crate) fn problem(&self, what: &str) -> Problem {
        match self {
            Self::Malformed(because) => broken(what, because),
            Self::NotText => broken(what, "what comes out is not in UTF-8"),
            Self::Closed(Closed::Damaged, _) => {
                broken(what, "the password is right, and what comes out does not end as what ansible-vault encrypts")
            }
            Self::Closed(Closed::NoPassword, label) => no_password(what, label.as_deref()),
            Self::Closed(Closed::WrongPassword(tried), label) => wrong_password(what, *tried, label.as_deref()),
            Self::TooMany => Problem::new(format!("{what} is not decrypted"))
                .because(format!("the files have more than {MOST} encrypted values, and more are not decrypted"))
                .hint("encrypt files as a whole: each counts as one")
                .of_kind(Kind::Encrypted),
        }
    }
}

fn broken(what: &str, because: &str) -> Problem {
    const HINT: &str = "copy it anew from where it was encrypted, or encrypt it again by `ansible-vault`";
    Problem::new(format!("what is encrypted in {what} can't be read")).because(because).hint(HINT).of_kind(Kind::Encrypted)
}

fn no_password(what: &str, label: Option<&str>) -> Problem {
    let option = match label {
        Some(label) => format!("--vault-id {}@FILE", in_option(label)),
        None => "--vault-password-file FILE".to_owned(),
    };
    Problem::new(format!("{what} is encrypted"))
        .because(format!("no password of a vault is given{}", of_label(label)))
        .hint(format!("name a file with the password: `{option}`, or ANSIBLE_VAULT_PASSWORD_FILE; at a terminal it is asked for"))
        .of_kind(Kind::Locked)
}

fn wrong_password(what: &str, tried: usize, label: Option<&str>) -> Problem {
    let none = match tried {
        1 => "the password that is given does not open it".to_owned(),
        _ => format!("none of the {tried} passwords that are given opens it"),
    };
    Problem::new(format!("{what} is encrypted with another password"))
        .because(format!("{none}{}; or its text was changed", of_label(label)))
        .hint(format!("give its own password too: `--vault-id {}@FILE`", label.map_or("LABEL", in_option)))
        .of_kind(Kind::Encrypted)
}

fn of_label(label: Option<&str>) -> String {
    label.map(|label| format!(", and its label is {}", quote(label))).unwrap_or_default()
}

/// A label as a word of the command line. Whoever wrote the file chose it.
fn in_option(label: &str) -> &str {
    let is_word = label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if is_word { label } else { "LABEL" }
}

/// What each of the texts holds, by the text itself.
pub(crate) type Opened = BTreeMap<String, Result<String, Refused>>;

/// Opens texts; those that are the same once.
pub(crate) fn open_all<'t>(vault: &dyn Vault, texts: impl Iterator<Item = &'t str>) -> Opened {
    let mut opened = Opened::new();
    let mut wanted: BTreeMap<&str, Envelope> = BTreeMap::new();
    for text in texts {
        match Envelope::parse(text) {
            Ok(envelope) if wanted.len() < MOST || wanted.contains_key(text) => _ = wanted.insert(text, envelope),
            Ok(_) => _ = opened.insert(text.to_owned(), Err(Refused::TooMany)),
            Err(because) => _ = opened.insert(text.to_owned(), Err(Refused::Malformed(because))),
        }
    }
    let (texts, envelopes): (Vec<&str>, Vec<Envelope>) = wanted.into_iter().unzip();
    // Where nothing is encrypted, nobody is asked.
    let results = if envelopes.is_empty() { Vec::new() } else { vault.open(&envelopes) };
    for ((text, envelope), result) in texts.into_iter().zip(envelopes).zip(results) {
        let result = match result {
            Ok(secret) => String::from_utf8(secret.expose().to_vec()).map_err(|_| Refused::NotText),
            Err(closed) => Err(Refused::Closed(closed, envelope.label().map(str::to_owned))),
        };
        opened.insert(text.to_owned(), result);
    }
    opened
}
