//! What ansible-vault has encrypted: how its text is read, who may open it, and what is said where nobody can.
//!
//! Nothing here has a password or knows a cipher: whoever reads a user's files says by a [`Vault`] how they are opened. What comes out is a
//! secret from then on, whatever its variable is called.

mod envelope;
mod open;
mod unseal;

use crate::Secret;

pub use envelope::{Envelope, VaultPassword};
pub(crate) use open::{BEGINNING, Opened, Refused, open_all};
pub(crate) use unseal::{mark_leaves, unseal_values};

/// Opens what is encrypted.
pub trait Vault {
    /// For each envelope in turn what was encrypted, or why it can't be had. Each costs 10,000 rounds of PBKDF2 for each password that is tried,
    /// so that they are given all at once.
    fn open(&self, envelopes: &[Envelope]) -> Vec<Result<Secret, Closed>>;
}

/// Why an envelope can't be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// There is no password at all.
    NoPassword,
    /// None of so many passwords is its own.
    WrongPassword(usize),
    /// Its password is there, and what came out is nothing that ansible-vault would have encrypted.
    Damaged,
}

/// No vault is opened: there are no passwords.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoVault;

impl Vault for NoVault {
    fn open(&self, envelopes: &[Envelope]) -> Vec<Result<Secret, Closed>> {
        vec![Err(Closed::NoPassword); envelopes.len()]
    }
}
