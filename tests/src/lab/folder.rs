//! The folder of a lab and what lies where in it.

use std::path::{Path, PathBuf};

use super::spec::check_name;
use super::{LabError, paths};

/// The folder of one lab; it need not be there.
#[derive(Debug, Clone)]
pub(crate) struct LabFolder {
    name: String,
    path: PathBuf,
}

impl LabFolder {
    pub(crate) fn by_name(name: &str) -> Result<Self, LabError> {
        check_name("lab", name, 32)?;
        Ok(Self { name: name.to_owned(), path: paths::state()?.join(name) })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.path.join("lab.json")
    }

    pub(crate) fn private_key(&self) -> PathBuf {
        self.path.join("id_ed25519")
    }

    pub(crate) fn known_hosts(&self) -> PathBuf {
        self.path.join("known_hosts")
    }

    pub(crate) fn ssh_config(&self) -> PathBuf {
        self.path.join("ssh_config")
    }

    pub(crate) fn start_script(&self) -> PathBuf {
        self.path.join("start.sh")
    }

    pub(crate) fn network_script(&self) -> PathBuf {
        self.path.join("network.sh")
    }

    pub(crate) fn network_log(&self) -> PathBuf {
        self.path.join("network.log")
    }

    /// Everything of one host.
    pub(crate) fn host(&self, host: &str) -> PathBuf {
        self.path.join("hosts").join(host)
    }

    /// What the host has written over its root.
    pub(crate) fn upper(&self, host: &str) -> PathBuf {
        self.host(host).join("upper")
    }

    pub(crate) fn console(&self, host: &str) -> PathBuf {
        self.host(host).join("console.log")
    }
}
