//! Takes out of a bundle's folder what nobody needs any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kok_tasks::bundle::Bundle;
use kok_tasks::sbom::SBOM;

use super::BundleFolder;
use super::fetch::{lock_now, write_index, write_sbom};
use crate::failure::{Failure, Kind};

/// Where files of the index lie, and what a fetch that was cut has left. Nothing else of the folder is touched.
const FOLDERS: [&str; 4] = ["files", "images", "packages", ".blobs"];

/// A file that the index does not name, with its length in bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unneeded {
    /// Inside the bundle's folder.
    pub path: PathBuf,
    /// In bytes.
    pub size: u64,
}

/// What lies in a bundle's folder and is not named by this index.
fn unneeded(folder: &Path, index: &Bundle) -> Result<Vec<Unneeded>, Failure> {
    let named: BTreeSet<PathBuf> = index.artifacts().map(|artifact| PathBuf::from(artifact.path)).collect();
    let mut found = Vec::new();
    for top in FOLDERS {
        walk(folder, Path::new(top), &named, &mut found).map_err(|error| failure(folder, &error))?;
    }
    found.sort();
    Ok(found)
}

/// Links are not followed: they are files like others.
fn walk(folder: &Path, below: &Path, named: &BTreeSet<PathBuf>, found: &mut Vec<Unneeded>) -> io::Result<()> {
    let entries = match fs::read_dir(folder.join(below)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let (path, metadata) = (below.join(entry.file_name()), entry.metadata()?);
        match metadata.is_dir() {
            true => walk(folder, &path, named, found)?,
            false if !named.contains(&path) => found.push(Unneeded { path, size: metadata.len() }),
            false => {}
        }
    }
    Ok(())
}

/// Keeps these releases of a bundle, or all, and what goes with them: writes that index, and removes what it does not name. The index comes first:
/// a kill in between leaves files that the next run removes. With `is_trial` nothing is changed. Returns what was, or would be, removed.
///
/// # Errors
/// [`Failure`] if the bundle does not hold one of the releases, if another run fetches into the folder, or something can't be written or removed.
pub fn prune(path: &Path, keep: &[String], licences: &BTreeMap<String, String>, is_trial: bool) -> Result<Vec<Unneeded>, Failure> {
    // Where there is no bundle nothing is written, a lock neither. What counts is what it says once no other run can change it.
    BundleFolder::open(path)?;
    let _lock = lock_now(path)?;
    let folder = BundleFolder::open(path)?;
    let index = if keep.is_empty() { Ok(folder.bundle().clone()) } else { folder.bundle().keeping(keep) };
    let index = index.map_err(|error| {
        Failure::new(Kind::Input, "the bundle does not hold what is to be kept").at(path.display().to_string()).because(error.to_string())
    })?;
    if !is_trial && index != *folder.bundle() {
        write_index(path, &index)?;
        if path.join(SBOM).exists() {
            write_sbom(path, licences, &index).map_err(|error| failure(path, &error))?;
        }
    }
    let unneeded = unneeded(path, &index)?;
    if !is_trial {
        unneeded.iter().try_for_each(|file| remove(path, &file.path).map_err(|error| failure(&path.join(&file.path), &error)))?;
    }
    Ok(unneeded)
}

/// Removes a file, and the folders that are empty without it.
fn remove(folder: &Path, file: &Path) -> io::Result<()> {
    fs::remove_file(folder.join(file))?;
    let parents = file.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    // The first that is not empty ends it.
    let _ = parents.map(|parent| fs::remove_dir(folder.join(parent))).find(Result::is_err);
    Ok(())
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(Kind::Input, "the bundle can't be pruned").at(path.display().to_string());
    failure.because(error.to_string()).hint("mend that, and run it again; what the index names is untouched")
}

#[cfg(test)]
mod tests;
