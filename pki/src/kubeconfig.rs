//! Kubeconfigs in one fixed form, with everything embedded.
//!
//! Every value is written in double quotes, so no name can change the structure around it. That holds for
//! base64 too: a short one may consist of digits only, which YAML would take for a number.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::SecretText;

/// Name of the user in a kubeconfig without credentials: client-go wants one in every context.
const NOBODY: &str = "anonymous";

/// What a user logs in with.
pub struct Credentials<'a> {
    /// Name of the user's entry; to be readable, the common name of the certificate.
    pub user: &'a str,
    /// Client certificate in PEM.
    pub certificate_pem: &'a str,
    /// The certificate's private key in PEM.
    pub key_pem: &'a SecretText,
}

/// A kubeconfig that logs in with a client certificate. Its only context, also the current one, is `user@cluster_name`.
#[must_use]
pub fn kubeconfig(cluster_name: &str, server: &str, ca_pem: &str, credentials: &Credentials<'_>) -> SecretText {
    let key = Zeroizing::new(STANDARD.encode(credentials.key_pem.expose()));
    let certificate = STANDARD.encode(credentials.certificate_pem);
    // Reserved at once: a growing string would leave copies of the key behind.
    let mut text = String::with_capacity(4096 + 2 * ca_pem.len() + certificate.len() + key.len());
    write_head(&mut text, cluster_name, server, ca_pem, credentials.user);
    for part in ["    client-certificate-data: \"", &certificate, "\"\n    client-key-data: \"", &key, "\"\n"] {
        text.push_str(part);
    }
    SecretText::new(text)
}

/// A kubeconfig for kubeadm's file discovery: it says where the API is and which authority to trust, and holds no credentials.
#[must_use]
pub fn discovery_kubeconfig(cluster_name: &str, server: &str, ca_pem: &str) -> String {
    let mut text = String::new();
    write_head(&mut text, cluster_name, server, ca_pem, NOBODY);
    let without_user = text.trim_end().len();
    text.truncate(without_user);
    text.push_str(" {}\n");
    text
}

/// Everything up to and including the line `  user:`.
fn write_head(text: &mut String, cluster_name: &str, server: &str, ca_pem: &str, user: &str) {
    let cluster = quoted(cluster_name);
    let context = quoted(&format!("{user}@{cluster_name}"));
    let (server, user) = (quoted(server), quoted(user));
    let ca = STANDARD.encode(ca_pem);
    for line in [
        "apiVersion: v1",
        "kind: Config",
        "clusters:",
        &format!("- name: {cluster}"),
        "  cluster:",
        &format!("    certificate-authority-data: \"{ca}\""),
        &format!("    server: {server}"),
        "contexts:",
        &format!("- name: {context}"),
        "  context:",
        &format!("    cluster: {cluster}"),
        &format!("    user: {user}"),
        &format!("current-context: {context}"),
        "preferences: {}",
        "users:",
        &format!("- name: {user}"),
        "  user:",
    ] {
        text.push_str(line);
        text.push('\n');
    }
}

/// The text in double quotes and in ASCII, as every reader of YAML takes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    out
}

/// The same, behind what `out` has already.
pub(crate) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            ' '..='~' => out.push(character),
            // No halves of surrogates, as JSON has them: Go's reader of YAML refuses those.
            '\u{10000}'.. => out.push_str(&format!("\\U{:08x}", u32::from(character))),
            _ => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        }
    }
    out.push('"');
}
