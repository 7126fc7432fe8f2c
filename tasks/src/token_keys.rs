//! The public keys by which an API server knows tokens of service accounts, as they stand one after the other in `sa.pub`
//! (`--service-account-key-file` takes several of a file). How far their replacement has come on a host is said by that one file ([`PemSet`]), so no private
//! key has to be looked at.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::digest::sha256;

/// The private key that signs.
pub const SIGNING_KEY: &str = "/etc/kubernetes/pki/sa.key";
/// The public keys.
pub const TOKEN_KEYS: &str = "/etc/kubernetes/pki/sa.pub";

/// The name by which tokens say which key has signed them (`kid`): sha256 of the public key, as Kubernetes makes it. Nothing for what is no public key in PEM.
#[must_use]
pub fn key_id(pem: &str) -> Option<String> {
    let body = pem.trim().strip_prefix("-----BEGIN PUBLIC KEY-----")?.strip_suffix("-----END PUBLIC KEY-----")?;
    let body: String = body.split_whitespace().collect();
    let digest = hex::decode(sha256(&STANDARD.decode(body).ok()?)).ok()?;
    Some(URL_SAFE_NO_PAD.encode(digest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    fn pem(letter: &str) -> String {
        format!("-----BEGIN PUBLIC KEY-----\n{letter}\n-----END PUBLIC KEY-----\n")
    }

    #[test]
    fn a_key_has_the_name_that_kubernetes_gives_it() {
        let digest = hex::decode(sha256(&[0, 0, 0])).unwrap();
        assert_eq!(key_id(&pem("AAAA")), Some(URL_SAFE_NO_PAD.encode(digest)));
        assert_eq!((key_id("AAAA"), key_id(&pem("!"))), (None, None));
    }
}
