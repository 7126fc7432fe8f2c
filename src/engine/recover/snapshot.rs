//! The snapshot that etcd is made from.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use kok_tasks::artifact::{Artifact, Supply};
use kok_tasks::plan::Refusal;
use kok_tasks::preconditions;
use kok_tasks::recovery::Candidate;
use kok_tasks::snapshot::{Damage, Decoder, Form};

use crate::failure::{Failure, Kind};

/// What an etcd has besides what stands in the snapshot, two files of its log; and there are two of them, one that is looked at and the new one.
const LOGS: u64 = 4 * 64_000_000;

/// Reads the snapshot once and compares it with the digest that etcd has put at its end: a damaged one is refused before anything stands still.
///
/// # Errors
/// [`Failure`] if it can't be read, or is none.
pub fn snapshot_artifact(path: &Path) -> Result<Artifact, Failure> {
    let failure = |because: String| {
        let failure = Failure::new(Kind::Input, format!("{} can't be recovered from", path.display())).because(because);
        failure.hint("name a file that `etcdctl snapshot save` or kokctl has written, as it was written; nothing was changed")
    };
    let path = path.canonicalize().map_err(|error| failure(error.to_string()))?;
    let (size, sha256) = read(&path).map_err(|trouble| failure(trouble.to_string()))?;
    // A member's bare database has no digest, and says nothing of what is missing of it.
    Ok(Artifact { title: "the snapshot".to_owned(), path: path.display().to_string(), size, sha256, supply: Supply::Sent })
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}")]
    Disk(#[from] io::Error),
    #[error("{0}")]
    Damage(#[from] Damage),
}

/// Its length, and the sha256 of all of it.
fn read(path: &Path) -> Result<(u64, String), Trouble> {
    let (mut file, mut decoder, mut whole) = (File::open(path)?, Decoder::new(Form::Raw), Context::new(&SHA256));
    let mut buffer = vec![0; 1 << 18];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        let piece = buffer.get(..length).unwrap_or_default();
        whole.update(piece);
        decoder.push(piece)?;
    }
    let (size, _) = decoder.finish()?;
    Ok((size, hex::encode(whole.finish())))
}

/// What keeps the snapshot from being restored on a host for want of room: it is there three times for a while.
pub(in super::super) fn room(snapshot: &Artifact, host: &str, candidates: &[Candidate]) -> Option<Refusal> {
    let free = candidates.iter().find(|candidate| candidate.host == host)?.free;
    preconditions::room(host, free, 3 * snapshot.size + LOGS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use std::fs;

    use super::{Context, SHA256, snapshot_artifact};

    #[test]
    fn only_a_snapshot_that_is_whole_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let database = vec![7_u8; 4096];
        let mut digest = Context::new(&SHA256);
        digest.update(&database);
        let whole = [database.clone(), digest.finish().as_ref().to_vec()].concat();
        fs::write(&path, &whole).unwrap();
        let taken = snapshot_artifact(&path).unwrap();
        assert_eq!((taken.size, taken.sha256.len()), (4096 + 32, 64));
        let mut flipped = whole.clone();
        flipped[100] ^= 1;
        for wrong in [&flipped[..], &whole[..4096], &whole[..4000], b"", b"no snapshot"] {
            fs::write(&path, wrong).unwrap();
            let failure = snapshot_artifact(&path).unwrap_err();
            assert!(failure.hint.is_some());
        }
        assert!(snapshot_artifact(&folder.path().join("none.db")).is_err());
        assert!(snapshot_artifact(folder.path()).is_err(), "a folder");
    }
}
