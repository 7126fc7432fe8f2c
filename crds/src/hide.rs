//! Keeping secrets out of what is said.

mod assigned;

use std::borrow::Cow;

use assigned::hide_assigned;

/// What stands in place of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";
/// What stands in place of a key.
const KEY: &str = "(a private key, hidden)";
/// How base64 of a key begins, with and without the lines around it.
const KEY_DIGITS: [&str; 2] = ["LS0tLS1CRUdJTi", "b3BlbnNzaC1rZXktdjE"];

/// Whether what goes by this name may be a secret, as far as the name tells it, perhaps misspelled.
pub(crate) fn names_a_secret(name: &str) -> bool {
    /// Ends of names of what says where a secret is, or whether there is one.
    const HARMLESS: [&str; 4] = ["file", "enabled", "auth", "bypass"];
    let words = words_of(name);
    let is_harmless = || matches!(words.as_slice(), [_, .., last] if HARMLESS.contains(&last.as_str()));
    (mentions_a_secret(name) || words.iter().any(|word| word == "pw")) && !is_harmless()
}

/// The words of a name in small letters, be they parted by signs or by capital letters.
fn words_of(name: &str) -> Vec<String> {
    let (mut words, mut word, mut before) = (Vec::new(), String::new(), '_');
    for c in name.chars() {
        let is_sign = matches!(c, '_' | '-');
        if (is_sign || (before.is_ascii_lowercase() && c.is_ascii_uppercase())) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !is_sign {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.push(word);
    words
}

/// Whether a text has a word in it that names of secrets have.
fn mentions_a_secret(text: &str) -> bool {
    /// Without what stands between words, which people write in many ways.
    const WORDS: [&str; 16] = [
        "pass",
        "pasw",
        "pwd",
        "secret",
        "token",
        "credential",
        "privatekey",
        "certificatekey",
        "encryptionkey",
        "accesskey",
        "apikey",
        "authkey",
        "ipseckey",
        "masterkey",
        "sharedkey",
        "signingkey",
    ];
    let plain: String = text.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    WORDS.iter().any(|word| plain.contains(word))
}

/// Whether the text is a private key and not the name of its file.
pub(crate) fn is_private_key(text: &str) -> bool {
    let digits = text.trim_start();
    (text.contains("-----BEGIN") && text.contains("PRIVATE")) || KEY_DIGITS.iter().any(|start| digits.starts_with(start))
}

/// The text without the keys, the passwords of commands and files, and the logins of URLs that can be told from anything else.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    if is_private_key(text) {
        return Cow::Borrowed(KEY);
    }
    let may_assign = text.contains(['=', ' ', ':']);
    let text = if may_assign { Cow::Owned(hide_assigned(text)) } else { Cow::Borrowed(text) };
    if text.contains("://") { Cow::Owned(hide_logins(&text)) } else { text }
}

/// Takes user and password out of URLs. Both may hold signs that end them by the rules: the last `@` of a URL is what counts.
fn hide_logins(text: &str) -> String {
    const SIGN: &str = "://";
    let mut pieces = text.split(SIGN);
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push_str(SIGN);
        let (url, behind) = piece.split_at(piece.find(char::is_whitespace).unwrap_or(piece.len()));
        match url.rsplit_once('@') {
            Some((_, host)) => shown.extend([HIDDEN, "@", host]),
            None => shown.push_str(url),
        }
        shown.push_str(behind);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{names_a_secret, without_secrets};

    #[test]
    fn names_of_secrets() {
        for name in [
            "ansible_pasword",
            "ansible_passwrd",
            "registry_api_key",
            "apikey",
            "backup_encryption_key",
            "aws_access_key_id",
            "join-token",
            "clientSecret",
            "db_pwd",
            "admin_pw",
            "rootPw",
            "cilium_ipsec_key",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "ansible_ssh_private_key_file",
            "ssh-private-key-file",
            "privateKeyFile",
            "kube_token_auth",
            "kube_proxy_mode",
            "key",
            "keyring",
            "kernel_pwm",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn keys_and_logins_are_not_shown() {
        for (text, expected) in [
            ("http://u:hush@proxy:3128/x, https://a@b@c", "http://(hidden)@proxy:3128/x, https://(hidden)@c"),
            ("http://u:hu,sh@proxy:3128", "http://(hidden)@proxy:3128"),
            ("http://u:hu/s?h]}@proxy:3128", "http://(hidden)@proxy:3128"),
            ("http://u:hush@a,http://v:hush@b", "http://(hidden)@a,http://(hidden)@b"),
            ("https://a.example/v2/x, b@c", "https://a.example/v2/x, b@c"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nhush", "(a private key, hidden)"),
            ("b3BlbnNzaC1rZXktdjEAAAA", "(a private key, hidden)"),
            ("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"),
            ("~/.ssh/id_ed25519", "~/.ssh/id_ed25519"),
        ] {
            assert_eq!(without_secrets(text), expected, "{text}");
        }
    }
}
