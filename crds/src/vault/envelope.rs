//! The text of ansible-vault: a line that says how it was encrypted, and lines of hexadecimal digits. Formats 1.1 and 1.2
//! (ansible/parsing/vault, `parse_vaulttext_envelope`).

use crate::Secret;

/// The label of what has none.
const DEFAULT: &str = "default";

/// What an encrypted text consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    label: Option<String>,
    /// What makes its keys others than those of the next one of the same password.
    pub salt: Vec<u8>,
    /// HMAC-SHA256 of the ciphertext.
    pub mac: Vec<u8>,
    /// AES-256 in counter mode of what was encrypted.
    pub ciphertext: Vec<u8>,
}

/// A password with its label.
#[derive(Clone)]
pub struct VaultPassword {
    /// The label before the `@` of `--vault-id`.
    pub label: Option<String>,
    /// The password itself.
    pub password: Secret,
}

impl Envelope {
    /// Reads an encrypted text, or says what it is not.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut lines = text.trim().lines().map(str::trim);
        let mut fields = lines.next().unwrap_or_default().split(';').map(str::trim);
        let (start, version, cipher, label) = (fields.next(), fields.next(), fields.next(), fields.next());
        if start != Some("$ANSIBLE_VAULT") {
            return Err("it does not begin with `$ANSIBLE_VAULT;`");
        }
        if !matches!(version, Some("1.1" | "1.2")) {
            return Err("its format is neither 1.1 nor 1.2");
        }
        if cipher != Some("AES256") {
            return Err("its first line does not end with `AES256`, the cipher of ansible-vault, or that and a label");
        }
        let digits: String = lines.collect();
        let body = bytes(digits.as_bytes()).ok_or("behind its first line stands something else than pairs of hexadecimal digits")?;
        let mut parts = body.splitn(3, |byte| *byte == b'\n').map(bytes);
        let [Some(salt), Some(mac), Some(ciphertext)] = [(); 3].map(|()| parts.next().flatten()) else {
            return Err("a part of it is missing");
        };
        let label = label.filter(|label| !label.is_empty()).map(str::to_owned);
        Ok(Self { label, salt, mac, ciphertext })
    }

    /// The label of the password with which it was encrypted, if it has one. It is a hint: nothing vouches for it.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The passwords in the order in which they are tried: first those of its label, then all others, as with Ansible.
    pub fn in_order<'p>(&self, passwords: &'p [VaultPassword]) -> impl Iterator<Item = &'p Secret> {
        let own = self.label.clone().unwrap_or_else(|| DEFAULT.to_owned());
        let (first, others): (Vec<_>, Vec<_>) = passwords.iter().partition(|given| given.label.as_deref().unwrap_or(DEFAULT) == own);
        first.into_iter().chain(others).map(|given| &given.password)
    }
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{Envelope, VaultPassword};
    use crate::Secret;

    /// `00`, `01` and `0202`, each in digits with a line end between, and all of that in digits.
    const BODY: &str = "30300a30310a30323032";

    #[test]
    fn labels_and_line_ends_are_as_ansible_has_them() {
        for (text, label) in [
            (format!("$ANSIBLE_VAULT;1.1;AES256\n{BODY}\n"), None),
            (format!("$ANSIBLE_VAULT;1.2;AES256;dev\r\n{BODY}\r\n\r\n"), Some("dev")),
            (format!("  $ANSIBLE_VAULT;1.1;AES256 \n  {}\n  {}", &BODY[..7], &BODY[7..]), None),
        ] {
            let envelope = Envelope::parse(&text).unwrap();
            assert_eq!((envelope.label(), envelope.salt.as_slice(), envelope.mac.as_slice()), (label, &[0][..], &[1][..]), "{text}");
            assert_eq!(envelope.ciphertext, [2, 2]);
        }
    }

    #[test]
    fn what_is_none_says_what_it_is_not() {
        for (text, expected) in [
            (String::new(), "begin"),
            ("x".to_owned(), "begin"),
            (format!("$ANSIBLE_VAULT;1.0;AES\n{BODY}"), "1.1 nor 1.2"),
            (format!("$ANSIBLE_VAULT;1.1;AES\n{BODY}"), "AES256"),
            (format!("$ANSIBLE_VAULT;1.1;AES256 {BODY}"), "AES256"),
            ("$ANSIBLE_VAULT;1.1;AES256".to_owned(), "missing"),
            ("$ANSIBLE_VAULT;1.1;AES256\n30300a30310a3".to_owned(), "pairs"),
            ("$ANSIBLE_VAULT;1.1;AES256\nxx".to_owned(), "pairs"),
            ("$ANSIBLE_VAULT;1.1;AES256\n30300a3031".to_owned(), "missing"),
            ("$ANSIBLE_VAULT;1.1;AES256\n30300a30310a3".repeat(2), "pairs"),
        ] {
            assert!(Envelope::parse(&text).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn the_label_is_a_hint_and_all_others_are_tried_too() {
        let password = |label: Option<&str>, text: &str| VaultPassword { label: label.map(str::to_owned), password: Secret::new(text) };
        let passwords = [password(Some("dev"), "a"), password(None, "b"), password(Some("prod"), "c"), password(Some("dev"), "d")];
        let order = |label: &str| -> String {
            let envelope = Envelope::parse(&format!("$ANSIBLE_VAULT;1.2;AES256;{label}\n{BODY}")).unwrap();
            envelope.in_order(&passwords).map(|secret| String::from_utf8_lossy(secret.expose()).into_owned()).collect()
        };
        assert_eq!([order("dev"), order("prod"), order("other"), order(""), order("default")], ["adbc", "cabd", "abcd", "bacd", "bacd"]);
    }
}
