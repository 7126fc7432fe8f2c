//! Tokens as registries of the distribution project take them: JWT, signed by a key of Ed25519.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// Who signs, as the registry is told.
pub(super) const ISSUER: &str = "upstream of the lab";
const KEY: &str = "lab";
/// In seconds: longer than any test.
const LIFETIME: u64 = 3600;

pub(super) struct Tokens(Ed25519KeyPair);

impl Tokens {
    /// Makes a key, and writes its public half.
    pub(super) fn new(jwks: &Path) -> io::Result<Self> {
        let pair = Ed25519KeyPair::generate().map_err(io::Error::other)?;
        let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": KEY, "use": "sig", "alg": "EdDSA", "x": x}]});
        fs::write(jwks, keys.to_string())?;
        Ok(Self(pair))
    }

    /// A token for what the query of this address asks for.
    pub(super) fn token(&self, address: &str) -> String {
        let query = address.split_once('?').map_or("", |(_, query)| query);
        let pairs = || query.split('&').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key, plain(value)));
        let service = pairs().find(|(key, _)| *key == "service").map_or_else(String::new, |(_, value)| value);
        let scopes: Vec<String> = pairs().filter(|(key, _)| *key == "scope").map(|(_, value)| value).collect();
        let access: Vec<Value> = scopes.iter().flat_map(|scopes| scopes.split(' ')).filter_map(access).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let header = json!({"alg": "EdDSA", "typ": "JWT", "kid": KEY});
        let claims = json!({
            "iss": ISSUER, "sub": "user", "aud": service, "exp": now + LIFETIME, "nbf": now - 10, "iat": now, "jti": "1", "access": access,
        });
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let text = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.0.sign(text.as_bytes()).as_ref());
        format!("{text}.{signature}")
    }
}

/// `repository:NAME:pull,push`
fn access(scope: &str) -> Option<Value> {
    let (kind, rest) = scope.split_once(':')?;
    let (name, actions) = rest.rsplit_once(':')?;
    Some(json!({"type": kind, "name": name, "actions": actions.split(',').collect::<Vec<_>>()}))
}

/// What stands for other letters in queries.
fn plain(value: &str) -> String {
    let codes = BTreeMap::from([("%3A", ":"), ("%2F", "/"), ("%2C", ","), ("%20", " "), ("+", " ")]);
    codes.iter().fold(value.to_owned(), |value, (code, letter)| value.replace(code, letter).replace(&code.to_ascii_lowercase(), letter))
}
