//! Tests of what needs no Go.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod bundle;
mod packing;
mod recipes;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Writes files with a time that differs from one call to the next, as files of two builds do.
fn sources(folder: &Path, age: u64, files: &[(&str, &str)]) -> BTreeMap<String, PathBuf> {
    files
        .iter()
        .enumerate()
        .map(|(number, (path, content))| {
            let source = folder.join(format!("{age}-{number}"));
            fs::write(&source, content).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age);
            File::options().append(true).open(&source).unwrap().set_modified(time).unwrap();
            ((*path).to_owned(), source)
        })
        .collect()
}
