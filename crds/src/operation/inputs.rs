//! What a cluster is made of, as objects name it.

use std::fmt;

use crate::{Position, Secret, Source};

/// What a cluster is described by, or what an operation takes instead of its cluster's.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// The inventory; a cluster always has one.
    pub hosts: Option<Source>,
    /// Variables that win over those of the inventory.
    pub vars: Option<Source>,
    /// The private key of logins. Without it they need a password.
    pub ssh_key: Option<SshKey>,
    /// Whether it names variables that could not be found; there is a problem about them.
    pub incomplete: bool,
}

impl fmt::Debug for Inputs {
    /// Only the names: inventories have passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |source: &Option<Source>| source.as_ref().map(|source| source.name.to_string());
        let key = self.ssh_key.as_ref().map(|key| &key.position);
        f.debug_struct("Inputs").field("hosts", &name(&self.hosts)).field("vars", &name(&self.vars)).field("ssh_key", &key).finish()
    }
}

/// A private key out of a Secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SshKey {
    /// The key as PEM.
    pub key: Secret,
    /// Where it stands.
    pub position: Position,
}
