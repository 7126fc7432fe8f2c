#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use object_store::aws::AmazonS3Builder;
use object_store::{BackoffConfig, RetryConfig};

use super::*;

/// A server that has one object under every name.
#[derive(Clone, Default)]
struct Server {
    object: Arc<Vec<u8>>,
    /// A line is cut when so many bytes of an object went over it.
    cut_after: Option<usize>,
    /// Another object takes its place when it was asked for so many times.
    replaced_after: Option<usize>,
    /// Whether it looks at `If-Match`.
    is_conditional: bool,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn with(bytes: usize) -> Self {
        // No two pieces of it are the same.
        let object = (0_u32..).flat_map(u32::to_le_bytes).take(bytes).collect();
        Self { object: Arc::new(object), is_conditional: true, ..Self::default() }
    }

    /// It ends with the test program.
    fn begin(&self) -> Bucket {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = self.clone();
        thread::spawn(move || {
            for line in listener.incoming() {
                let server = server.clone();
                thread::spawn(move || server.answer(&line.unwrap()));
            }
        });
        // As many tries as kokctl has of a request, without the waiting.
        let backoff = BackoffConfig { init_backoff: Duration::from_millis(1), max_backoff: Duration::from_millis(2), base: 2.0 };
        let retry = RetryConfig { backoff, max_retries: super::super::TRIES, retry_timeout: super::super::TRIES_LAST };
        let builder = AmazonS3Builder::new().with_bucket_name("backups").with_endpoint(address).with_allow_http(true);
        let store = builder.with_access_key_id("id").with_secret_access_key("secret").with_retry(retry).build().unwrap();
        Bucket { store: Arc::new(store), name: "backups".to_owned(), prefix: String::new() }
    }

    fn answer(&self, mut line: &TcpStream) {
        let lines = BufReader::new(line).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        let asked: Vec<String> = lines.map(|line| line.to_lowercase()).collect();
        let value = |name: &str| asked.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let is_head = asked.first().is_some_and(|line| line.starts_with("head"));
        let times = if is_head { 0 } else { self.asked.fetch_add(1, Ordering::SeqCst) };
        let tag = if self.replaced_after.is_some_and(|after| times >= after) { "\"b\"" } else { "\"a\"" };
        let size = self.object.len();
        let range = value("range").map_or(0..size, |range| {
            let (from, to) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
            from.parse().unwrap()..to.parse::<usize>().unwrap() + 1
        });
        let (status, body) = match value("if-match") {
            Some(wanted) if self.is_conditional && wanted != tag => ("412 Precondition Failed", &[][..]),
            _ if is_head => ("200 OK", &[][..]),
            _ => ("206 Partial Content", &self.object[range.clone()]),
        };
        let length = if is_head { size } else { body.len() };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Range: bytes {}-{}/{size}\r\nETag: {tag}\r\n\
             Last-Modified: Sun, 29 Nov 2026 07:00:00 GMT\r\nConnection: close\r\n\r\n",
            range.start,
            range.end.saturating_sub(1)
        );
        let body = &body[..body.len().min(self.cut_after.unwrap_or(usize::MAX))];
        // Whoever was told enough may go away.
        let _ = line.write_all(head.as_bytes()).and_then(|()| line.write_all(body)).and_then(|()| line.shutdown(Shutdown::Both));
    }
}

async fn fetched(bucket: &Bucket) -> Result<Vec<u8>, Failure> {
    let name = BackupName::parse("demo-20261126T232149Z.kokctl-backup.age").unwrap();
    let mut file = tempfile::tempfile().unwrap();
    bucket.fetch(&name, file.try_clone().unwrap()).await?;
    let mut content = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut content).unwrap();
    Ok(content)
}

#[tokio::test]
async fn parts_come_in_order_and_an_empty_object_is_one() {
    for bytes in [0, 5, PART, 2 * PART + 5] {
        let server = Server::with(bytes);
        let content = fetched(&server.begin()).await.unwrap_or_else(|failure| panic!("{failure:?}"));
        assert!(content == *server.object, "{} of {bytes} bytes", content.len());
        assert_eq!(server.asked.load(Ordering::SeqCst), bytes.div_ceil(PART));
    }
}

/// Of one request the library goes on so many times; this needs more.
#[tokio::test]
async fn what_is_cut_again_and_again_is_gone_on_with() {
    let server = Server { cut_after: Some(PART / 10), ..Server::with(PART + 5) };
    let content = fetched(&server.begin()).await.unwrap_or_else(|failure| panic!("{failure:?}"));
    assert!(content == *server.object, "{} bytes", content.len());
    assert!(server.asked.load(Ordering::SeqCst) > super::super::TRIES + 2);
}

#[tokio::test]
async fn a_line_that_carries_nothing_is_given_up() {
    let server = Server { cut_after: Some(0), ..Server::with(5) };
    let failure = fetched(&server.begin()).await.unwrap_err();
    assert_eq!(failure.what, WHAT);
    assert_eq!(server.asked.load(Ordering::SeqCst), TRIES * (1 + super::super::TRIES));
}

#[tokio::test]
async fn an_object_that_takes_the_place_of_another_is_no_part_of_it() {
    for is_conditional in [true, false] {
        for cut_after in [None, Some(PART / 2)] {
            let server = Server { cut_after, replaced_after: Some(1), is_conditional, ..Server::with(PART + 5) };
            let failure = fetched(&server.begin()).await.unwrap_err();
            assert!(failure.because.as_deref().unwrap_or_default().contains("has taken its place"), "{failure:?}");
        }
    }
}
