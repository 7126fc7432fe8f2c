//! Passwords of ansible-vault, and opening with them what is encrypted.

mod source;

use std::env;
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use kok_crds::{Closed, Envelope, Secret, Vault, VaultPassword};
use kok_pki::{VaultError, VaultText, open_vault};

use crate::failure::Failure;
use source::{Asked, Source};

/// What names the file with the password for whoever has no other, as with Ansible.
const VARIABLE: &str = "ANSIBLE_VAULT_PASSWORD_FILE";

/// Where the passwords of encrypted values and files come from.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct VaultArguments {
    /// A file with the password of what ansible-vault encrypted, or a program that prints it; by default what ANSIBLE_VAULT_PASSWORD_FILE names.
    /// If there is none, it is asked for at the terminal
    #[arg(long = "vault-password-file", visible_alias = "vault-pass-file", value_name = "FILE")]
    password_files: Vec<PathBuf>,
    /// The same with the label of what it is tried for first: LABEL@FILE, or LABEL@prompt to be asked
    #[arg(long = "vault-id", value_name = "LABEL@SOURCE")]
    ids: Vec<String>,
}

impl VaultArguments {
    /// The passwords, or why one of them can't be had.
    pub(super) fn passwords(&self) -> Result<Passwords, Failure> {
        let mut sources: Vec<Source> = self.ids.iter().map(|id| Source::of_id(id)).collect();
        sources.extend(self.password_files.iter().map(|path| Source::of_file(path)));
        // Ansible takes it besides others, too.
        let named = env::var_os(VARIABLE).filter(|path| !path.is_empty());
        sources.extend(named.map(|path| Source::of_file(Path::new(&path))));
        let read = sources.iter().map(Source::read).collect::<Result<_, _>>();
        read.map(Passwords)
    }

    /// As options of a command that reads the same.
    pub(super) fn options(&self) -> impl Iterator<Item = String> {
        let ids = self.ids.iter().map(|id| format!("--vault-id {id}"));
        ids.chain(self.password_files.iter().map(|path| format!("--vault-password-file {}", path.display())))
    }
}

/// The passwords that are given, in their order.
pub(super) struct Passwords(Vec<VaultPassword>);

impl Passwords {
    /// The password that somebody at the terminal types, if somebody is there.
    pub(super) fn of_terminal() -> Option<Result<Self, Failure>> {
        Asked::is_possible().then(|| Source::unnamed().read().map(|password| Self(vec![password])))
    }

    pub(super) fn is_empty(&self) -> bool {
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

#[cfg(test)]
mod tests;
