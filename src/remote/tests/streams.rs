use super::harness::{LONG, Sshd};
use crate::remote::{ExitStatus, PutFile, RunError, Script};
use aws_lc_rs::digest::{SHA256, digest};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

fn sha256(data: &[u8]) -> [u8; 32] {
    digest(&SHA256, data).as_ref().try_into().unwrap()
}

/// Bytes without a pattern that a shell or a pipe could get right by accident.
fn noise(length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    aws_lc_rs::rand::fill(&mut data).unwrap();
    data
}

/// No temporary file is left.
fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_large_file_arrives_whole() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let folder = sshd.path("it's a folder");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("$(big) file");
    let data = noise(100_000_000);
    let file =
        PutFile { path: path.to_str().unwrap(), mode: 0o755, owner: Some("2000:2001"), size: data.len() as u64, sha256: sha256(&data) };
    connection.put_file(file, data.as_slice(), LONG).await.unwrap();
    assert!(fs::read(&path).unwrap() == data);
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.permissions().mode() & 0o7777, metadata.uid(), metadata.gid()), (0o755, 2000, 2001));
    assert_eq!(names(&folder), ["$(big) file"]);
}

#[tokio::test]
async fn a_corrupted_source_leaves_the_old_file() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let folder = sshd.path("folder");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("file");
    fs::write(&path, "old").unwrap();
    let mut data = noise(3_000_000);
    let file = PutFile { path: path.to_str().unwrap(), mode: 0o600, owner: None, size: data.len() as u64, sha256: sha256(&data) };
    data[1_000_000] ^= 1;
    let error = connection.put_file(file, data.as_slice(), LONG).await.unwrap_err();
    assert!(matches!(&error, RunError::Corrupted { found, .. } if *found == hex::encode(sha256(&data))), "{error:?}");
    let short = connection.put_file(file, &data[..100], LONG).await.unwrap_err();
    assert!(matches!(short, RunError::Corrupted { .. }), "{short:?}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(&folder), ["file"]);
}

#[tokio::test]
async fn a_file_that_cannot_be_stored_says_why() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let folder = sshd.path("folder");
    fs::create_dir_all(folder.join("taken")).unwrap();
    let data = noise(1000);
    for (path, said) in [
        (sshd.path("missing/file"), "nonexistent"),
        (folder.join("taken"), "cannot overwrite directory"),
        // A tmpfs of its own, mounted below, that is too small.
        ("/run/small/file".into(), "No space left on device"),
    ] {
        let mount = "mkdir -p /run/small && mount -t tmpfs -o size=64k tmpfs /run/small";
        let large = noise(1_000_000);
        let data = if path.starts_with("/run") {
            assert!(connection.run(Script::new(mount), LONG).await.unwrap().is_success());
            &large
        } else {
            &data
        };
        let file = PutFile { path: path.to_str().unwrap(), mode: 0o644, owner: None, size: data.len() as u64, sha256: sha256(data) };
        let error = connection.put_file(file, data.as_slice(), LONG).await.unwrap_err();
        let RunError::NotWritten { reason, .. } = &error else { panic!("{error:?}") };
        assert!(reason.contains(said), "{reason}");
    }
    let left = connection.run(Script::new("ls -A /run/small"), LONG).await.unwrap();
    assert_eq!(left.stdout, b"");
    assert_eq!(names(&folder), ["taken"]);
    let relative = PutFile { path: "etc/x", mode: 0o644, owner: None, size: 0, sha256: sha256(b"") };
    assert!(matches!(connection.put_file(relative, &b""[..], LONG).await, Err(RunError::NotWritten { .. })));
}

#[tokio::test]
async fn a_consumer_may_stop_early() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let data = noise(20_000_000);
    // Success: the rest is read too, so the digest is that of all data.
    let first = connection.stream(Script::new("head -c 5 >/dev/null"), data.as_slice(), LONG).await.unwrap();
    let sent = first.sent.unwrap();
    assert_eq!((sent.bytes, sent.sha256), (20_000_000, sha256(&data)));
    // Failure: it is told at once and the rest is not sent.
    let failed = connection.stream(Script::new("echo full >&2; exit 28"), data.as_slice(), LONG).await.unwrap();
    assert_eq!(failed.output.status, ExitStatus::Exited(28));
    assert_eq!(failed.output.reason().as_deref(), Some("full"));
    assert!(connection.run(Script::new("exit 0"), LONG).await.unwrap().is_success());
}

/// Gives some data, then an error.
struct Broken(bool);

impl AsyncRead for Broken {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(Err(io::Error::other("disk on fire")));
        }
        buffer.put_slice(b"half");
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_source_that_breaks_is_reported_and_changes_nothing() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let path = sshd.path("file");
    let file = PutFile { path: path.to_str().unwrap(), mode: 0o644, owner: None, size: 4, sha256: sha256(b"half and half") };
    let error = connection.put_file(file, Broken(false), LONG).await.unwrap_err();
    assert!(matches!(&error, RunError::Source { .. }), "{error:?}");
    assert_eq!(error.because().as_deref(), Some("disk on fire"));
    assert!(!path.exists());
}
