use std::fs;

use serde::{Deserialize, Serialize};

use super::folder::LabFolder;
use super::process::ProcessId;
use super::{LabError, LabSpec, address};

/// What is written down of a lab before anything of it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LabRecord {
    /// The lab's name.
    pub name: String,
    /// Its hosts in the order of the spec.
    pub hosts: Vec<HostRecord>,
    /// The process without which the lab has no use; none once the lab is meant to stay.
    pub(crate) owner: Option<ProcessId>,
}

/// One host of a [`LabRecord`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HostRecord {
    /// The host's name.
    pub name: String,
    /// Last number of the host's address.
    pub(crate) number: usize,
}

impl LabRecord {
    pub(crate) fn new(spec: LabSpec, owner: ProcessId) -> Self {
        let host = |(index, name)| HostRecord { name, number: address::number(index) };
        Self { name: spec.name, hosts: spec.hosts.into_iter().enumerate().map(host).collect(), owner: Some(owner) }
    }

    pub(crate) fn read(folder: &LabFolder) -> Result<Self, LabError> {
        let path = folder.record();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(LabError::NoLab { name: folder.name().to_owned(), record: path });
            }
            Err(error) => return Err(LabError::io(format!("read {}", path.display()))(error)),
        };
        serde_json::from_slice(&text).map_err(|source| LabError::Record { path, source })
    }

    /// Replaces the record as a whole, so that a reader sees the old or the new one.
    pub(crate) fn write(&self, folder: &LabFolder) -> Result<(), LabError> {
        let path = folder.record();
        let partial = path.with_extension("partial");
        let what = || format!("write {}", path.display());
        let text = serde_json::to_vec_pretty(self).map_err(|source| LabError::Record { path: path.clone(), source })?;
        fs::write(&partial, text).map_err(LabError::io(what()))?;
        fs::rename(&partial, &path).map_err(LabError::io(what()))
    }
}

impl HostRecord {
    /// The host's address in the lab's network.
    #[must_use]
    pub fn address(&self) -> String {
        address::address(self.number)
    }
}
