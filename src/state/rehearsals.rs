//! What came of the last rehearsal of a cluster's restore.

use std::fs::{self, DirBuilder, File};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::StateFolder;
use crate::failure::{Failure, Kind};
use crate::plain_file;

/// What came of it, as this machine knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRehearsal {
    /// The backup: its path, or its address in a bucket.
    pub backup: String,
    /// When the backup was made, in seconds since 1970.
    pub made: i64,
    /// When it was rehearsed, in seconds since 1970.
    pub rehearsed: i64,
    /// The host on which it was.
    pub host: String,
    /// How many seconds it took, from the first byte of the file that was read to the last object.
    pub seconds: f64,
    /// How many objects were read.
    pub objects: u64,
    /// What kept it from being whole. Empty if it was.
    pub faults: Vec<String>,
}

/// It is some lines.
const MOST_BYTES: u64 = 1 << 20;

impl LastRehearsal {
    fn path(state: &StateFolder, cluster: &str) -> PathBuf {
        state.cluster(cluster).join("rehearsal.json")
    }

    /// Keeps it in the place of the one before.
    ///
    /// # Errors
    /// [`Failure`] if it can't be written.
    pub fn keep(&self, state: &StateFolder, cluster: &str) -> Result<(), Failure> {
        let (path, folder) = (Self::path(state, cluster), state.cluster(cluster));
        let part = folder.join(format!(".rehearsal-{}.part", std::process::id()));
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other);
        let kept = text.and_then(|text| {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let mut file = File::create(&part)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&part, &path)
        });
        kept.map_err(|error| {
            let _ = fs::remove_file(&part);
            let failure = Failure::new(Kind::Internal, "what came of the rehearsal can't be kept").at(path.display().to_string());
            failure.because(error.to_string()).hint("`kokctl status` does not know of it; make room or correct the rights there")
        })
    }

    /// The last one; nothing where there was none, or what is there can't be read.
    #[must_use]
    pub fn find(state: &StateFolder, cluster: &str) -> Option<Self> {
        let file = plain_file::open(&Self::path(state, cluster)).ok()?;
        serde_json::from_slice(&plain_file::bounded(file, MOST_BYTES).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn the_last_one_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::at(folder.path().join("state"));
        assert_eq!(LastRehearsal::find(&state, "demo"), None);
        let is = |objects| LastRehearsal {
            backup: "/b/x".to_owned(),
            made: 1,
            rehearsed: 2,
            host: "cp1".to_owned(),
            seconds: 1.5,
            objects,
            faults: vec!["one".to_owned()],
        };
        for objects in [3, 4] {
            is(objects).keep(&state, "demo").unwrap();
            assert_eq!((LastRehearsal::find(&state, "demo"), LastRehearsal::find(&state, "other")), (Some(is(objects)), None));
        }
        fs::write(LastRehearsal::path(&state, "demo"), "{").unwrap();
        assert_eq!(LastRehearsal::find(&state, "demo"), None);
    }
}
