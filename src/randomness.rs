//! Randomness of the system, the only place that asks for it.

use kok_pki::{KeyAlgorithm, KeyPair, PkiError, Randomness};

use crate::failure::{Failure, Kind};

/// Bytes of the system's random generator.
///
/// # Errors
/// [`Failure`] if the system has none to give.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    // The kernel's own, not that of the TLS library: before its first byte that one gathers entropy from the processor's jitter, which costs
    // more than a whole converged host.
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(Kind::Internal, "the system's random generator does not answer").because(error.to_string()))?;
    Ok(bytes)
}

/// Randomness and keys of the system.
#[derive(Debug, Clone, Copy)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PkiError> {
        aws_lc_rs::rand::fill(bytes).map_err(|_| PkiError::Randomness("the system has none to give".to_owned()))
    }

    fn key_pair(&mut self, algorithm: KeyAlgorithm) -> Result<KeyPair, PkiError> {
        algorithm.generate()
    }
}
