//! Where passwords of ansible-vault come from.

mod source;

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::inputs::Passwords;
use clap::Args;
use source::{Asked, PasswordSource};

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
        let mut sources: Vec<PasswordSource> = self.ids.iter().map(|id| PasswordSource::of_id(id)).collect();
        sources.extend(self.password_files.iter().map(|path| PasswordSource::of_file(path)));
        // Ansible takes it besides others, too.
        let named = env::var_os(VARIABLE).filter(|path| !path.is_empty());
        sources.extend(named.map(|path| PasswordSource::of_file(Path::new(&path))));
        let read = sources.iter().map(PasswordSource::read).collect::<Result<_, _>>();
        read.map(Passwords::new)
    }

    /// As options of a command that reads the same.
    pub(super) fn options(&self) -> impl Iterator<Item = String> {
        let ids = self.ids.iter().map(|id| format!("--vault-id {id}"));
        ids.chain(self.password_files.iter().map(|path| format!("--vault-password-file {}", path.display())))
    }
}

/// The password that somebody at the terminal types, if somebody is there.
pub(super) fn of_terminal() -> Option<Result<Passwords, Failure>> {
    Asked::is_possible().then(|| PasswordSource::unnamed().read().map(|password| Passwords::new(vec![password])))
}

#[cfg(test)]
mod tests;
