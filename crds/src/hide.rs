//! Keeping secrets out of what is said.

use std::borrow::Cow;

/// What stands in place of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";
/// What stands in place of a key.
const KEY: &str = "(a private key, hidden)";
/// How base64 of a key begins, with and without the lines around it.
const KEY_DIGITS: [&str; 2] = ["LS0tLS1CRUdJTi", "b3BlbnNzaC1rZXktdjE"];

/// Whether what goes by this name may be a secret, as far as the name tells it, perhaps misspelled.
pub(crate) fn names_a_secret(name: &str) -> bool {
    /// Without what stands between words, which people write in many ways.
    const WORDS: [&str; 11] =
        ["pass", "pasw", "pwd", "secret", "token", "credential", "privatekey", "certificatekey", "encryptionkey", "accesskey", "apikey"];
    /// Ends of names of what says where a secret is, or whether there is one.
    const HARMLESS: [&str; 4] = ["file", "enabled", "auth", "bypass"];
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let is_harmless = || {
        let last = name.rsplit(['_', '-']).next().unwrap_or_default();
        last.len() < name.len() && HARMLESS.iter().any(|end| last.eq_ignore_ascii_case(end))
    };
    WORDS.iter().any(|word| plain.contains(word)) && !is_harmless()
}

/// Whether the text is a private key and not the name of its file.
pub(crate) fn is_private_key(text: &str) -> bool {
    let digits = text.trim_start();
    (text.contains("-----BEGIN") && text.contains("PRIVATE")) || KEY_DIGITS.iter().any(|start| digits.starts_with(start))
}

/// The text without the keys, passwords of commands and logins of URLs that can be told from anything else.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    if is_private_key(text) {
        return Cow::Borrowed(KEY);
    }
    let is_command = text.contains("sshpass") || (text.contains(['=', ' ']) && names_a_secret(&text.replace('=', " ")));
    let text = if is_command { Cow::Owned(hide_passwords(text)) } else { Cow::Borrowed(text) };
    if text.contains("://") { Cow::Owned(hide_logins(&text)) } else { text }
}

/// Takes the values of `sshpass -p`, `--password` and `password=` out of a command.
fn hide_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut is_sshpass, mut is_next) = (false, false);
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let (_, blank) = piece.split_at(word.len());
        if is_next && !word.is_empty() {
            shown.push_str(HIDDEN);
            let quote = word.chars().next().filter(|c| matches!(c, '"' | '\''));
            if quote.is_some_and(|quote| word.len() == 1 || !word.ends_with(quote)) {
                // Where the quotes end is for a shell to say.
                return shown;
            }
            is_next = false;
        } else if let Some((name, _)) = word.split_once('=').filter(|(name, value)| names_a_secret(name) && !value.is_empty()) {
            shown.push_str(&format!("{name}={HIDDEN}"));
        } else if is_sshpass && word.starts_with("-p") && word.len() > 2 {
            shown.push_str(&format!("-p{HIDDEN}"));
        } else {
            shown.push_str(word);
            is_next |= (is_sshpass && word == "-p") || (word.starts_with("--") && names_a_secret(word));
            is_sshpass |= word.contains("sshpass");
        }
        shown.push_str(blank);
    }
    shown
}

/// Takes user and password out of URLs.
fn hide_logins(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '/' | ',' | ']' | '}' | '?')).unwrap_or(after.len());
        let (host, behind) = after.split_at(end);
        match host.rsplit_once('@') {
            Some((_, host)) => {
                shown.push_str(HIDDEN);
                shown.push('@');
                shown.push_str(host);
            }
            None => shown.push_str(host),
        }
        rest = behind;
    }
    shown.push_str(rest);
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
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["ansible_ssh_private_key_file", "ssh-private-key-file", "kube_token_auth", "kube_proxy_mode", "key", "keyring"] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn commands_and_keys_are_shown_without_what_is_secret() {
        for (text, expected) in [
            ("-o ProxyCommand='sshpass -p hush ssh -W %h:%p b'", "-o ProxyCommand='sshpass -p (hidden) ssh -W %h:%p b'"),
            ("sshpass -phush ssh b", "sshpass -p(hidden) ssh b"),
            ("sshpass -p 'hush now' ssh b", "sshpass -p (hidden)"),
            ("run --password hush --user me", "run --password (hidden) --user me"),
            ("-e ansible_password=hush -e a=b", "-e ansible_password=(hidden) -e a=b"),
            ("http://u:hush@proxy:3128/x, https://a@b@c", "http://(hidden)@proxy:3128/x, https://(hidden)@c"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nhush", "(a private key, hidden)"),
            ("b3BlbnNzaC1rZXktdjEAAAA", "(a private key, hidden)"),
            ("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"),
            ("~/.ssh/id_ed25519", "~/.ssh/id_ed25519"),
        ] {
            assert_eq!(without_secrets(text), expected, "{text}");
        }
    }
}
