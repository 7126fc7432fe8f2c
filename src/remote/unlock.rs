//! Encrypted private keys, opened once.
use super::identity::{SshIdentity, Surroundings, load};
use super::identity_fault::IdentityFault;
use super::passphrase::{self, Passphrases};
use super::text::printable;
use russh::keys::PrivateKey;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What became of the keys of a run, so that a person is asked once and not once for each host.
#[derive(Default)]
pub(super) struct UnlockedKeys(tokio::sync::Mutex<BTreeMap<PathBuf, Unlocked>>);

enum Unlocked {
    Key(Arc<PrivateKey>),
    WrongPassphrase,
    NotGiven,
}

impl Surroundings {
    /// What is wrong with a key file, with the passphrase that a file gives where one is named. Nobody is asked.
    pub(crate) fn key_fault(&self, path: &Path) -> Option<IdentityFault> {
        match load(path, None) {
            Err(fault @ IdentityFault::Encrypted { .. }) if matches!(self.passphrases, Passphrases::File(_)) => {
                unlock_with(path, &self.passphrases, fault).err()
            }
            other => other.err(),
        }
    }

    /// Whether a key with this fault may log in all the same: an agent holds it, or a person knows its passphrase.
    pub(crate) fn may_help(&self, fault: &IdentityFault) -> bool {
        match fault {
            IdentityFault::Encrypted { .. } => true,
            IdentityFault::WrongPassphrase { .. } | IdentityFault::NoPassphrase { .. } => self.agent_socket.is_some(),
            _ => false,
        }
    }
}

impl UnlockedKeys {
    /// A key, with its passphrase if it is encrypted.
    pub(super) async fn load(&self, path: &Path, passphrases: &Passphrases) -> Result<SshIdentity, IdentityFault> {
        match load(path, None) {
            Err(fault @ IdentityFault::Encrypted { .. }) => self.unlock(path, passphrases, fault).await,
            result => result,
        }
    }

    /// An encrypted key with its passphrase. `encrypted` is what to say where there is none.
    pub(super) async fn unlock(
        &self,
        path: &Path,
        passphrases: &Passphrases,
        encrypted: IdentityFault,
    ) -> Result<SshIdentity, IdentityFault> {
        let mut unlocked = self.0.lock().await;
        let from = |unlocked: &Unlocked| match unlocked {
            Unlocked::Key(key) => Ok(SshIdentity::File { key: Arc::clone(key), path: path.to_owned() }),
            Unlocked::WrongPassphrase => Err(IdentityFault::WrongPassphrase { path: path.to_owned() }),
            Unlocked::NotGiven => Err(IdentityFault::NotGiven { path: path.to_owned() }),
        };
        if let Some(known) = unlocked.get(path) {
            return from(known);
        }
        let (owned, source) = (path.to_owned(), passphrases.clone());
        // Deriving a key from a passphrase takes long on purpose, and people take longer.
        let working = tokio::task::spawn_blocking(move || unlock_with(&owned, &source, encrypted));
        let key = match working.await {
            Ok(Ok(key)) => Unlocked::Key(key),
            Ok(Err(IdentityFault::WrongPassphrase { .. })) => Unlocked::WrongPassphrase,
            Ok(Err(IdentityFault::NotGiven { .. })) => Unlocked::NotGiven,
            Ok(Err(fault)) => return Err(fault),
            Err(error) => return Err(IdentityFault::NotAKey { path: path.to_owned(), reason: error.to_string() }),
        };
        let result = from(&key);
        unlocked.insert(path.to_owned(), key);
        result
    }
}

fn unlock_with(path: &Path, passphrases: &Passphrases, encrypted: IdentityFault) -> Result<Arc<PrivateKey>, IdentityFault> {
    /// As often as ssh(1) asks.
    const TRIES: usize = 3;
    let open = |passphrase: &str| match load(path, Some(passphrase))? {
        SshIdentity::File { key, .. } => Ok(key),
        SshIdentity::Agent { .. } => Err(IdentityFault::WrongPassphrase { path: path.to_owned() }),
    };
    match passphrases {
        Passphrases::Nobody => Err(encrypted),
        Passphrases::File(file) => {
            let passphrase = passphrase::read_file(file);
            let passphrase = passphrase.map_err(|source| IdentityFault::NoPassphrase { file: file.clone(), source })?;
            open(&passphrase)
        }
        Passphrases::Asked(ask) => {
            let question = format!("Passphrase of {}: ", printable(path.display().to_string().as_bytes()));
            for _ in 0..TRIES {
                let Ok(passphrase) = ask.ask(&question) else {
                    return Err(IdentityFault::NotGiven { path: path.to_owned() });
                };
                match open(&passphrase) {
                    Err(IdentityFault::WrongPassphrase { .. }) => {}
                    result => return result,
                }
            }
            Err(IdentityFault::WrongPassphrase { path: path.to_owned() })
        }
    }
}
