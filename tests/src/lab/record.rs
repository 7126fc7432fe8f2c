use std::fs;

use serde::{Deserialize, Serialize};

use super::folder::LabFolder;
use super::process::ProcessId;
use super::spec::HostSpec;
use super::{Image, LabError, LabSpec, address};

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
    /// How many bastions stand before it.
    #[serde(default)]
    pub(crate) depth: usize,
    /// The last of these.
    #[serde(default)]
    pub(crate) behind: Option<String>,
    /// Whether other hosts are behind it.
    #[serde(default)]
    pub(crate) is_bastion: bool,
    /// The distribution that it runs.
    #[serde(default)]
    pub(crate) image: Image,
    /// Whether only systemd and sshd are started.
    #[serde(default)]
    pub(crate) light: bool,
    /// Whether it has an address of IPv6 too.
    #[serde(default)]
    pub(crate) dual_stack: bool,
}

impl LabRecord {
    /// Of a spec that was checked.
    pub(crate) fn new(spec: LabSpec, owner: ProcessId) -> Self {
        let mut hosts: Vec<HostRecord> = Vec::new();
        for (index, HostSpec { name, image, light, behind }) in spec.hosts.into_iter().enumerate() {
            let mut depth = 0;
            if let Some(bastion) = hosts.iter_mut().find(|host| behind.as_ref() == Some(&host.name)) {
                bastion.is_bastion = true;
                depth = bastion.depth + 1;
            }
            let (number, dual_stack) = (address::number(index), spec.dual_stack);
            hosts.push(HostRecord { name, number, depth, behind, is_bastion: false, image, light, dual_stack });
        }
        Self { name: spec.name, hosts, owner: Some(owner) }
    }

    /// The hosts that kokctl is for: all but the bastions.
    pub(crate) fn members(&self) -> impl Iterator<Item = &HostRecord> {
        self.hosts.iter().filter(|host| !host.is_bastion)
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
    /// The host's address in the network of its depth.
    #[must_use]
    pub fn address(&self) -> String {
        address::address(self.depth, self.number)
    }

    /// The host's address of IPv6 in that network, if it has one.
    #[must_use]
    pub fn address_ipv6(&self) -> Option<String> {
        self.dual_stack.then(|| address::address_ipv6(self.depth, self.number))
    }

    /// A bastion's address in the network of the hosts behind it.
    pub(crate) fn inner_address(&self) -> String {
        address::address(self.depth + 1, self.number)
    }

    /// The bridge that the host's port is on.
    pub(crate) fn bridge(&self) -> String {
        address::bridge(self.depth)
    }
}
