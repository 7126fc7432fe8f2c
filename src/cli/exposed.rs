//! Files with passwords or private keys that others on this machine may read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use kok_crds::model::Cluster;
use kok_crds::{Position, Problem};

use crate::failure::{Failure, Kind};
use crate::remote::mode_if_open;

/// Bits that let the group or everybody read a file.
const READABLE: u32 = 0o044;

/// Each file in which one of these fields stands, with the first such place.
fn files<'a>(cluster: &'a Cluster, fields: &'a [&'a str]) -> impl Iterator<Item = (fs::Metadata, &'a Position)> {
    let mut first = BTreeMap::new();
    // Who reads an encrypted value knows nothing.
    let is_open = |position: &&Position| !cluster.concealed.is_encrypted_at(position);
    for position in fields.iter().flat_map(|field| cluster.places_of(field)).filter(is_open) {
        let place = first.entry(&*position.file).or_insert(position);
        *place = (*place).min(position);
    }
    // What came by standard input or in an option is no file.
    let file = |(name, position): (&str, _)| Some((fs::metadata(name).ok().filter(fs::Metadata::is_file)?, position));
    first.into_iter().filter_map(file)
}

/// A warning for each file with passwords, at the first of them.
pub(super) fn passwords(cluster: &Cluster) -> Vec<Failure> {
    let warning = |(metadata, position): (fs::Metadata, &Position)| {
        let mode = Some(metadata.mode() & 0o7777).filter(|mode| mode & READABLE != 0)?;
        let failure = Failure::new(Kind::Input, "a password can be read by others").at(position.to_string());
        Some(failure.because(because(mode)).hint(hint(position)))
    };
    files(cluster, &["password", "sudoPassword"]).filter_map(warning).collect()
}

/// What is wrong with each file from which a private key to log in with was read: ssh refuses one of its own file that is as open.
pub(super) fn private_keys(cluster: &Cluster) -> Vec<Problem> {
    let problem = |(metadata, position): (fs::Metadata, &Position)| {
        let mode = mode_if_open(&metadata)?;
        Some(Problem::new("a private key is open to others").at(position).because(because(mode)).hint(hint(position)))
    };
    files(cluster, &["privateKey"]).filter_map(problem).collect()
}

fn because(mode: u32) -> String {
    format!("the mode of the file is {mode:04o}")
}

fn hint(position: &Position) -> String {
    format!("chmod 600 {}", position.file)
}
