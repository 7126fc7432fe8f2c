use super::harness::{LONG, Sshd};
use crate::remote::{ExitStatus, RunError, Script, quote};
use std::fs;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes without a pattern that a shell or a pipe could get right by accident.
fn noise(length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    aws_lc_rs::rand::fill(&mut data).unwrap();
    data
}

#[tokio::test]
async fn a_large_source_arrives_whole() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let path = sshd.path("it's $(big)");
    let data = noise(100_000_000);
    let script = Script::new(format!("cat >{}", quote(path.to_str().unwrap())));
    let sent = connection.stream(script, data.as_slice(), LONG).await.unwrap().sent.unwrap();
    assert_eq!(sent, 100_000_000);
    assert!(fs::read(&path).unwrap() == data);
}

#[tokio::test]
async fn a_consumer_may_stop_early() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let data = noise(20_000_000);
    // Success: the rest is read too.
    let first = connection.stream(Script::new("head -c 5 >/dev/null"), data.as_slice(), LONG).await.unwrap();
    assert_eq!(first.sent, Some(20_000_000));
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
async fn a_source_that_breaks_is_reported() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let error = connection.stream(Script::new("cat"), Broken(false), LONG).await.unwrap_err();
    assert!(matches!(&error, RunError::Source { .. }) && error.may_have_run(), "{error:?}");
    assert_eq!(error.because().as_deref(), Some("disk on fire"));
    assert!(connection.run(Script::new("exit 0"), LONG).await.unwrap().is_success());
}

#[tokio::test]
async fn a_large_answer_comes_whole_and_is_not_kept_in_memory() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let data = noise(20_000_000);
    fs::write(sshd.path("big"), &data).unwrap();
    let script = || Script::new(format!("cat {}; echo told >&2; exit 3", quote(sshd.path("big").to_str().unwrap())));
    let (mut got, mut longest) = (Vec::new(), 0);
    let keep = |piece: &[u8]| {
        longest = longest.max(piece.len());
        got.extend_from_slice(piece);
        true
    };
    let output = connection.fetch(script(), keep, LONG).await.unwrap().unwrap();
    assert!(got == data && longest < 1 << 20, "{} bytes, {longest} at once", got.len());
    assert_eq!((output.status, output.stdout.len(), output.stdout_truncated), (ExitStatus::Exited(3), 0, false));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "told\n");

    let mut count = 0;
    let enough = connection
        .fetch(
            script(),
            |_| {
                count += 1;
                count < 3
            },
            LONG,
        )
        .await
        .unwrap();
    assert_eq!((enough, count), (None, 3), "whoever wants no more is sent no more");
}
