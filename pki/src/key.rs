//! Key pairs and the randomness that they and serial numbers are made from.

use rcgen::{KeyPair, RsaKeySize};
use zeroize::Zeroize;

use crate::{PkiError, SecretText};

/// Bytes of a serial number: RFC 5280 §4.1.2.2 allows 20, the CA/Browser Forum asks for 64 random bits; 16 bytes leave 126.
const SERIAL_BYTES: usize = 16;

/// Kind of a key pair. kubeadm's own default is RSA-2048; P-256 is as strong, accepted by every component since Kubernetes 1.19, and made
/// a hundred times faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyAlgorithm {
    /// ECDSA on the curve P-256 with SHA-256.
    #[default]
    EcdsaP256,
    /// ECDSA on the curve P-384 with SHA-384.
    EcdsaP384,
    /// RSA with 2048 bits, signing PKCS#1 v1.5 with SHA-256.
    Rsa2048,
    /// RSA with 3072 bits, otherwise the same.
    Rsa3072,
    /// RSA with 4096 bits, otherwise the same.
    Rsa4096,
}

impl KeyAlgorithm {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::EcdsaP256, Self::EcdsaP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// Makes a key pair with the randomness of the system.
    ///
    /// # Errors
    /// [`PkiError::Make`].
    pub fn generate(self) -> Result<KeyPair, PkiError> {
        let made = match self {
            Self::EcdsaP256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            Self::EcdsaP384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
            Self::Rsa2048 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
            Self::Rsa3072 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_3072),
            Self::Rsa4096 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_4096),
        };
        made.map_err(PkiError::make("a key"))
    }
}

/// Where randomness comes from. The program has one that asks the operating system; tests have a deterministic one.
pub trait Randomness {
    /// Fills `bytes` with cryptographically strong random bytes.
    ///
    /// # Errors
    /// [`PkiError::Randomness`] if there is none to be had.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PkiError>;

    /// Makes a new key pair of this kind.
    ///
    /// # Errors
    /// [`PkiError::Make`] or [`PkiError::Randomness`].
    fn key_pair(&mut self, algorithm: KeyAlgorithm) -> Result<KeyPair, PkiError>;
}

/// A key pair together with the PEM text that goes into its file. It has no `Debug` on purpose.
pub struct PrivateKey {
    pair: KeyPair,
    pem: SecretText,
}

impl PrivateKey {
    /// Makes a new key pair; its text is PKCS#8, which kubeadm, client-go and etcd read.
    ///
    /// # Errors
    /// Those of [`Randomness::key_pair`].
    pub fn generate(algorithm: KeyAlgorithm, randomness: &mut dyn Randomness) -> Result<Self, PkiError> {
        let pair = randomness.key_pair(algorithm)?;
        let pem = SecretText::new(pair.serialize_pem());
        Ok(Self { pair, pem })
    }

    /// Reads a private key in PEM: PKCS#8, SEC 1 (`EC PRIVATE KEY`) or PKCS#1 (`RSA PRIVATE KEY`). The text is kept as it is, so that
    /// a key found on a host is written back byte for byte.
    ///
    /// # Errors
    /// [`PkiError::PrivateKey`].
    pub fn from_pem(pem: SecretText) -> Result<Self, PkiError> {
        let key_block = private_key_block(pem.expose()).ok_or(PkiError::PrivateKey)?;
        let pair = KeyPair::from_pem(key_block).map_err(|_| PkiError::PrivateKey)?;
        Ok(Self { pair, pem })
    }

    /// The PEM text of the private key.
    #[must_use]
    pub fn pem(&self) -> &SecretText {
        &self.pem
    }

    /// The public key as a PKIX `PUBLIC KEY` in PEM.
    #[must_use]
    pub fn public_key_pem(&self) -> String {
        self.pair.public_key_pem()
    }

    pub(crate) fn pair(&self) -> &KeyPair {
        &self.pair
    }
}

impl Drop for PrivateKey {
    fn drop(&mut self) {
        self.pair.zeroize();
    }
}

/// The PEM block that holds the key. openssl writes an `EC PARAMETERS` block before it, which the parser must not take for the key.
fn private_key_block(pem: &str) -> Option<&str> {
    pem.match_indices("-----BEGIN ")
        .filter_map(|(start, _)| pem.get(start..))
        .find(|block| block.lines().next().is_some_and(|line| line.trim_end().ends_with("PRIVATE KEY-----")))
}

/// A new serial number: positive, of a fixed length, 126 random bits.
pub(crate) fn serial_number(randomness: &mut dyn Randomness) -> Result<rcgen::SerialNumber, PkiError> {
    let mut bytes = [0_u8; SERIAL_BYTES];
    randomness.fill(&mut bytes)?;
    if let Some(first) = bytes.first_mut() {
        // The highest bit would make the number negative; the next one keeps it from becoming zero or shorter.
        *first = (*first & 0x7f) | 0x40;
    }
    Ok(rcgen::SerialNumber::from_slice(&bytes))
}
