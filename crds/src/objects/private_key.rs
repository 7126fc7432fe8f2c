//! Whether a text is a private key, as far as that can be seen from outside: a login would only say that the key does not fit.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What a private key calls itself in its first line and its last one.
const LABELS: [&str; 6] =
    ["OPENSSH PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"];
/// How keys of OpenSSH begin (PROTOCOL.key).
const OPENSSH: &[u8] = b"openssh-key-v1\0";
/// A sequence of ASN.1, which all others are.
const SEQUENCE: u8 = 0x30;

const GENERATE: &str = "take the file that `ssh-keygen` writes without `.pub`";
const WHOLE: &str = "copy the whole file, from `-----BEGIN` to the last `-----`, with its line ends: `kubectl create secret generic NAME --from-file=ssh-privatekey=FILE` does";

/// What is wrong with a key, and what to do.
pub(super) fn wrong(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some(("it is no text", GENERATE)) };
    let text = text.trim();
    let begins = |word: &str| text.starts_with(word);
    if begins("-----BEGIN") {
        wrong_block(text)
    } else if text.is_empty() {
        Some(("it is empty", GENERATE))
    } else if begins("LS0tLS1CRUdJTi") {
        Some(("it is base64 of base64", "encode it once, or write it as it is under `stringData`"))
    } else if begins("ssh-") || begins("ecdsa-") || begins("sk-") {
        Some(("it is a public key", GENERATE))
    } else if begins("PuTTY-User-Key-File") {
        Some(("it is a key of PuTTY", "`puttygen KEY -O private-openssh` converts it"))
    } else {
        Some(("a private key begins with `-----BEGIN`", GENERATE))
    }
}

/// The same for what has the first line of a key or of something like it.
fn wrong_block(text: &str) -> Option<(&'static str, &'static str)> {
    let label = text.strip_prefix("-----BEGIN ").and_then(|rest| rest.split_once("-----")).map(|(label, _)| label).unwrap_or_default();
    if !LABELS.contains(&label) {
        let is_certificate = label.contains("CERTIFICATE");
        let what = if is_certificate { "it is a certificate" } else { "its first line is not that of a private key" };
        return Some((what, GENERATE));
    }
    let body = text.strip_prefix(&format!("-----BEGIN {label}-----")).and_then(|rest| rest.strip_suffix(&format!("-----END {label}-----")));
    let Some(body) = body else { return Some(("its last line is missing", WHOLE)) };
    let (headers, lines): (Vec<&str>, Vec<&str>) = body.lines().map(str::trim).partition(|line| line.contains(':'));
    let Ok(bytes) = STANDARD.decode(lines.concat()) else {
        return Some(("what stands between its first and its last line is not base64", WHOLE));
    };
    let is_encrypted = headers.iter().any(|header| header.starts_with("Proc-Type:"));
    let is_known = match label {
        "OPENSSH PRIVATE KEY" => bytes.starts_with(OPENSSH),
        // Encrypted by the old way of OpenSSL it has no form.
        _ => is_encrypted || bytes.first() == Some(&SEQUENCE),
    };
    (!is_known).then_some(("what stands between its first and its last line is no key", GENERATE))
}

#[cfg(test)]
mod tests {
    use super::wrong;

    fn block(label: &str, body: &str) -> String {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    }

    #[test]
    fn keys_of_all_kinds_are_taken() {
        for key in [
            block("OPENSSH PRIVATE KEY", "b3BlbnNzaC1rZXktdjEAAAAABG5v\r\nbmU="),
            block("RSA PRIVATE KEY", "MIIEpAIBAAKC"),
            block("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA"),
            block("ENCRYPTED PRIVATE KEY", "MIIFHDBO"),
            format!("\n  {}", block("PRIVATE KEY", "MC4CAQAw")),
        ] {
            assert_eq!(wrong(key.as_bytes()), None, "{key}");
        }
    }

    #[test]
    fn what_only_looks_like_a_key_is_none() {
        for (text, expected) in [
            (block("OPENSSH PRIVATE KEY", "garbage"), "not base64"),
            (block("OPENSSH PRIVATE KEY", "AAAA"), "is no key"),
            (block("EC PRIVATE KEY", "AAAA"), "is no key"),
            (block("OPENSSH PRIVATE KEY", ""), "is no key"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n".to_owned(), "last line is missing"),
            (block("CERTIFICATE", "MIIE"), "a certificate"),
            (block("PUBLIC KEY", "MIIE"), "first line"),
            ("-----BEGIN ".to_owned(), "first line"),
            ("ssh-ed25519 AAAA".to_owned(), "public key"),
            (" ".to_owned(), "empty"),
        ] {
            let found = wrong(text.as_bytes()).map(|(because, _)| because).unwrap_or_default();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
