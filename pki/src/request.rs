//! Requests for certificates that somebody else signs.

use rcgen::CertificateParams;

use crate::issue::distinguished_name;
use crate::{KeyAlgorithm, PkiError, PrivateKey, Randomness};

/// A request with the key that it is about, which stays with whoever asks. It has no `Debug` on purpose.
pub struct Request {
    /// The request in PEM (PKCS#10).
    pub request_pem: String,
    /// The key.
    pub key: PrivateKey,
}

/// Makes a key, and a request for the certificate of a client of this name, in this group if there is one.
///
/// # Errors
/// [`PkiError::InvalidName`] for a name that cannot stand in a certificate; those of [`Randomness`].
pub fn client_request(
    name: &str,
    group: Option<&str>,
    algorithm: KeyAlgorithm,
    randomness: &mut dyn Randomness,
) -> Result<Request, PkiError> {
    let groups: Vec<String> = group.map(str::to_owned).into_iter().collect();
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished_name(name, &groups)?;
    let key = PrivateKey::generate(algorithm, randomness)?;
    let what = || format!("the request of {name}");
    let request = params.serialize_request(key.pair()).map_err(PkiError::make(what()))?;
    Ok(Request { request_pem: request.pem().map_err(PkiError::make(what()))?, key })
}
