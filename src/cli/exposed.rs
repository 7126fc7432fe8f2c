//! Files with passwords or private keys that others on this machine may read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use kok_crds::File;
use kok_crds::model::Cluster;

use crate::ui::{Failure, Kind};

/// Bits that let the group or everybody read a file.
const READABLE: u32 = 0o044;

/// A file of the user's that others may read.
fn mode_of(name: &str) -> Option<u32> {
    let metadata = fs::metadata(name).ok().filter(fs::Metadata::is_file)?;
    Some(metadata.mode() & 0o7777).filter(|mode| mode & READABLE != 0)
}

/// A warning for each file with passwords, at the first of them.
pub(super) fn passwords(cluster: &Cluster) -> Vec<Failure> {
    let mut first = BTreeMap::new();
    for position in ["password", "sudoPassword"].into_iter().flat_map(|field| cluster.places_of(field)) {
        let place = first.entry(&*position.file).or_insert(position);
        *place = (*place).min(position);
    }
    let warning = |(file, position): (&str, &kok_crds::Position)| {
        let mode = mode_of(file)?;
        let failure = Failure::new(Kind::Input, "a password can be read by others").at(position.to_string());
        Some(failure.because(format!("the mode of the file is {mode:04o}")).hint(format!("chmod 600 {file}")))
    };
    first.into_iter().filter_map(warning).collect()
}

/// A refusal for each file with a private key to log in with, as ssh refuses a key of its own file.
///
/// # Errors
/// These refusals.
pub(super) fn private_keys(cluster: &Cluster, files: &[File]) -> Result<(), Vec<Failure>> {
    if cluster.hosts.iter().all(|host| host.ssh.private_key.is_none()) {
        return Ok(());
    }
    let refusal = |file: &File| {
        let mode = mode_of(&file.name).filter(|_| file.text.contains("ssh-privatekey"))?;
        let failure = Failure::new(Kind::Input, "a private key can be read by others").at(&file.name);
        Some(failure.because(format!("the mode of the file is {mode:04o}")).hint(format!("chmod 600 {}", file.name)))
    };
    let failures: Vec<Failure> = files.iter().filter_map(refusal).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}
