//! Opening what ansible-vault encrypted.

use std::thread;

use kok_crds::{Closed, Envelope, Secret, Vault, VaultPassword};
use kok_pki::{VaultError, VaultText, open_vault};

/// The passwords that are given, in their order. It has no `Debug` on purpose.
pub struct Passwords(Vec<VaultPassword>);

impl Passwords {
    /// These, which are tried in this order where a label says nothing else.
    #[must_use]
    pub fn new(passwords: Vec<VaultPassword>) -> Self {
        Self(passwords)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn open(&self, envelope: &Envelope) -> Result<Secret, Closed> {
        let vault = VaultText { salt: &envelope.salt, mac: &envelope.mac, ciphertext: &envelope.ciphertext };
        for password in envelope.in_order(&self.0) {
            match open_vault(vault, password.expose()) {
                Ok(text) => return Ok(Secret::new(text.as_slice())),
                Err(VaultError::Password) => {}
                Err(VaultError::Damaged) => return Err(Closed::Damaged),
            }
        }
        Err(if self.is_empty() { Closed::NoPassword } else { Closed::WrongPassword(self.0.len()) })
    }
}

impl Vault for Passwords {
    /// Each has a salt of its own, so that nothing is derived twice; all processors derive.
    fn open(&self, envelopes: &[Envelope]) -> Vec<Result<Secret, Closed>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = envelopes.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let parts: Vec<_> = envelopes
                .chunks(share)
                .map(|part| (part, scope.spawn(|| part.iter().map(|one| Self::open(self, one)).collect())))
                .collect();
            // A thread can't be joined if it has panicked, which is a defect; its values stay closed.
            parts.into_iter().flat_map(|(part, thread)| thread.join().unwrap_or_else(|_| vec![Err(Closed::Damaged); part.len()])).collect()
        })
    }
}
