#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use std::fs;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;

use super::*;

/// A file whose pieces all differ, in a folder that goes with it.
fn file(size: usize) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.tar");
    let content: Vec<u8> = (0..size).map(|index| (index / 1000 % 251) as u8).collect();
    fs::write(&path, &content).unwrap();
    (folder, path, content)
}

fn open(path: &Path) -> Arc<OpenArtifact> {
    OpenArtifact::open(path, FileIdentity::from_metadata(&fs::metadata(path).unwrap())).unwrap()
}

async fn read_all(source: &Arc<OpenArtifact>) -> Vec<u8> {
    let mut content = Vec::new();
    Reading::new(Arc::clone(source)).read_to_end(&mut content).await.unwrap();
    content
}

#[tokio::test]
async fn everyone_gets_the_whole_file_whatever_its_length() {
    for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7] {
        let (_folder, path, content) = file(size);
        let source = open(&path);
        let (one, two) = tokio::join!(read_all(&source), read_all(&source));
        assert!(one == content && two == content, "{size}");
    }
}

/// One that has fallen behind reads for itself, what is kept does not grow, and the others have ended long before.
#[tokio::test]
async fn a_slow_reader_stops_nobody_and_costs_no_memory() {
    let (_folder, path, content) = file((2 * KEPT + 5) * PIECE + 3);
    let source = open(&path);
    let mut slow = Reading::new(Arc::clone(&source));
    let mut begun = vec![0; 10];
    slow.read_exact(&mut begun).await.unwrap();
    let fast = tokio::time::timeout(Duration::from_secs(20), read_all(&source)).await.unwrap();
    assert!(fast == content);
    assert_eq!(source.window.lock().await.pieces.len(), KEPT);
    slow.read_to_end(&mut begun).await.unwrap();
    assert!(begun == content);
    assert_eq!(source.window.lock().await.pieces.len(), KEPT);
}

#[tokio::test]
async fn readers_beside_each_other_share_what_is_read() {
    let (_folder, path, content) = file(10 * PIECE);
    let source = open(&path);
    let mut readers: Vec<Reading> = (0..10).map(|_| Reading::new(Arc::clone(&source))).collect();
    let mut piece = vec![0; PIECE];
    for number in 0..10 {
        for reader in &mut readers {
            reader.read_exact(&mut piece).await.unwrap();
            assert!(piece == content[number * PIECE..(number + 1) * PIECE]);
        }
        // The same bytes in memory, not a copy of them for each.
        assert!(readers.iter().all(|reader| Arc::ptr_eq(&reader.piece, &readers[0].piece)));
    }
}

#[tokio::test]
async fn a_file_that_changed_after_it_was_verified_is_not_sent() {
    let (_folder, path, content) = file(3 * PIECE);
    let verified = FileIdentity::from_metadata(&fs::metadata(&path).unwrap());
    let mut reading = Reading::new(OpenArtifact::open(&path, verified).unwrap());
    let mut part = vec![0; 100];
    reading.read_exact(&mut part).await.unwrap();
    let began = Instant::now();
    let write = || fs::File::options().write(true).open(&path).unwrap().write_all_at(b"other", 2 * PIECE as u64).unwrap();
    write();
    // A kernel's clock for files ticks some milliseconds at a time: what is written within one is not seen.
    while FileIdentity::from_metadata(&fs::metadata(&path).unwrap()) == verified {
        assert!(began.elapsed() < Duration::from_secs(5), "a change is not seen");
        write();
    }
    let error = reading.read_to_end(&mut part).await.unwrap_err();
    assert!(error.to_string().contains("changed after it had been verified"), "{error}");
    assert!(OpenArtifact::open(&path, verified).is_err());
    // The same content in another file is another file.
    fs::write(path.with_extension("new"), &content).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    assert!(OpenArtifact::open(&path, verified).is_err());
}
