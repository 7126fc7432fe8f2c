//! The token by which hosts join in one run.

use kok_tasks::operations::TOKEN_PREFIX;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::randomness::random_bytes;

/// A bootstrap token: `abcdef.0123456789abcdef`.
pub struct Token {
    /// Its public half.
    pub id: String,
    secret: Zeroizing<String>,
}

impl Token {
    /// A new token; its public half begins with kokctl's prefix.
    ///
    /// # Errors
    /// [`Failure`] if the system has no randomness to give.
    pub fn generate() -> Result<Self, Failure> {
        let character = |byte: &u8| ALPHABET.get(usize::from(*byte) % ALPHABET.len()).copied().map(char::from);
        let characters = |bytes: &[u8]| bytes.iter().filter_map(character).collect::<String>();
        let id = format!("{}{}", TOKEN_PREFIX, characters(&random_bytes::<3>()?));
        Ok(Self { id, secret: Zeroizing::new(characters(&random_bytes::<16>()?)) })
    }

    /// A token with this public half and a new secret; nothing if that is none that kokctl could have made.
    ///
    /// # Errors
    /// [`Failure`] if the system has no randomness to give.
    pub fn with_id(id: &str) -> Result<Option<Self>, Failure> {
        let is_ours = |rest: &str| rest.len() == 3 && rest.bytes().all(|byte| ALPHABET.contains(&byte));
        if !id.strip_prefix(TOKEN_PREFIX).is_some_and(is_ours) {
            return Ok(None);
        }
        Ok(Some(Self { id: id.to_owned(), ..Self::generate()? }))
    }

    /// Both halves, as hosts are given them.
    pub(super) fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{}.{}", self.id, self.secret.as_str()))
    }
}

/// kubeadm's alphabet of tokens, cut to 32 characters so that a byte falls on each of them equally often: 16 of them are 80 bits.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
