//! Randomness: what a host cannot guess, and what keeps controllers from retrying in step.
use std::fmt;
use std::time::Duration;

/// 128 random bits in hexadecimal. Lines that carry it can only come from the script that was sent with it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ScriptNonce(String);

/// The system gave no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRandomness;

impl ScriptNonce {
    pub(super) fn new() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(Self(hex::encode(bytes)))
    }

    #[cfg(test)]
    pub(super) fn fixed(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for ScriptNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Between `least` and twice as long. Without randomness, `least`.
pub(crate) fn jittered(least: Duration) -> Duration {
    let mut bytes = [0; 2];
    if getrandom::fill(&mut bytes).is_err() {
        return least;
    }
    least + least.mul_f64(f64::from(u16::from_ne_bytes(bytes)) / f64::from(u16::MAX))
}
