//! Requests for certificates, as OpenSSL reads them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use std::io::Write as _;
use std::process::{Command, Stdio};

use kok_pki::{KeyAlgorithm, PkiError, client_request};
use support::Repeating;

/// What OpenSSL says of a request, which it verifies.
fn read(request: &str) -> String {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-noout", "-verify", "-subject", "-nameopt", "RFC2253"]);
    let mut child = openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_request_says_who_asks_and_is_signed_by_the_key() {
    let made = |name, group| client_request(name, group, KeyAlgorithm::EcdsaP256, &mut Repeating::new(7)).map(|made| made.request_pem);
    assert_eq!(read(&made("jane", Some("dev")).unwrap()), "subject=CN=jane,O=dev");
    assert_eq!(read(&made("jane", None).unwrap()), "subject=CN=jane");
    for (name, group) in [("", None), ("a\nb", None), ("jane", Some(""))] {
        assert!(matches!(made(name, group), Err(PkiError::InvalidName { .. })), "{name:?} {group:?}");
    }
}
