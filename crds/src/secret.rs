//! Secrets that stand in a user's file.

use std::sync::Arc;

use zeroize::Zeroizing;

/// A password or the like. It is overwritten in memory when the last clone is dropped, and has neither `Debug`, `Display` nor
/// `Serialize`, so that no message, log or journal can hold it by mistake.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<Vec<u8>>>);

impl Secret {
    /// Takes the bytes over; copies that the caller has left are the caller's to overwrite.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Arc::new(Zeroizing::new(bytes.into())))
    }

    /// The bytes themselves. Whoever asks for them sees to it that they go nowhere but where they are needed.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Secret {
    /// Takes the same time wherever the first difference is.
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.expose(), other.expose());
        ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn equal_are_the_same_bytes_only() {
        let secret = Secret::new("secret");
        assert!(secret == Secret::new(b"secret".to_vec()));
        for other in ["Secret", "secres", "secre", "secrets", ""] {
            assert!(secret != Secret::new(other), "{other}");
        }
        assert_eq!(secret.clone().expose(), b"secret");
    }
}
