//! What upstream, or somebody in its place, can do wrong.

use std::sync::Arc;

use super::super::*;
use super::support::{Heard, Upstream, UpstreamFault, archive};

async fn failed(upstream: &Upstream, folder: &Path) -> Failure {
    let mut failures = upstream.fetch(folder, Arc::default()).await.unwrap_err();
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures.remove(0)
}

fn left(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() { folders.push(entry.path()) } else { names.push(entry.file_name().into_string().unwrap()) }
        }
    }
    names
}

#[tokio::test(start_paused = true)]
async fn a_cut_is_gone_on_with_where_it_was() {
    for at in [0, 1, 1000, 99_999] {
        let upstream = Upstream::start().await;
        upstream.once("runc.amd64", UpstreamFault::Cut(at));
        let folder = tempfile::tempdir().unwrap();
        let heard = Arc::new(Heard::default());
        let fetched = upstream.fetch(folder.path(), Arc::clone(&heard)).await.unwrap();
        let runc = fetched.bundle.file("runc", "1.5.2", "amd64").unwrap();
        assert_eq!(std::fs::read(folder.path().join(&runc.path)).unwrap(), upstream.runc(), "cut at {at}");
        if at > 0 {
            assert!(upstream.requests().iter().any(|request| request.contains(&format!("bytes={at}-"))), "cut at {at}");
        }
        assert_eq!(heard.bytes(), upstream.bytes(), "cut at {at}: nothing came twice");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_blob_is_gone_on_with_too() {
    let upstream = Upstream::start().await;
    upstream.once("/blobs/", UpstreamFault::Cut(7));
    let folder = tempfile::tempdir().unwrap();
    upstream.fetch(folder.path(), Arc::default()).await.unwrap();
    assert!(upstream.requests().iter().any(|request| request.contains("/blobs/") && request.contains("bytes=7-")));
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_left_alone_for_as_long_as_it_says() {
    for (fault, pause) in [(UpstreamFault::Status(429, Some(7)), 7), (UpstreamFault::Status(503, None), 0)] {
        let upstream = Upstream::start().await;
        upstream.once("runc.amd64", fault);
        let began = tokio::time::Instant::now();
        upstream.fetch(tempfile::tempdir().unwrap().path(), Arc::default()).await.unwrap();
        assert!(began.elapsed().as_secs() >= pause, "{:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_digest_names_both_and_leaves_nothing() {
    let upstream = Upstream::start().await;
    upstream.always("runc.amd64", UpstreamFault::Other(b"something else".to_vec()));
    let folder = tempfile::tempdir().unwrap();
    let failure = failed(&upstream, folder.path()).await;
    assert!(failure.what.contains("runc 1.5.2 for amd64"), "{failure:?}");
    let because = failure.because.unwrap();
    assert!(because.contains(&kok_tasks::digest::sha256(&upstream.runc())), "{because}");
    assert!(because.contains(&kok_tasks::digest::sha256(b"something else")), "{because}");
    assert!(!left(folder.path()).iter().any(|name| name.starts_with("runc")), "{:?}", left(folder.path()));
    // What was right is kept.
    let asked = upstream.requests().len();
    upstream.heal();
    assert_eq!(upstream.fetch(folder.path(), Arc::default()).await.unwrap().items, 1);
    assert!(!upstream.requests()[asked..].iter().any(|request| request.contains("pause")));
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_run_left_is_not_trusted() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("files/github.com/opencontainers/runc/releases/download/v1.5.2/runc.amd64");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for size in [10, 100_000, 200_000] {
        std::fs::write(part(&path), vec![b'?'; size]).unwrap();
        let _ = std::fs::remove_file(folder.path().join(kok_tasks::bundle::INDEX));
        upstream.fetch(folder.path(), Arc::default()).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), upstream.runc(), "{size}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_blob_or_manifest_is_refused() {
    for path in ["/blobs/", "/manifests/sha256"] {
        let upstream = Upstream::start().await;
        upstream.always(path, UpstreamFault::Other(b"{}".to_vec()));
        let folder = tempfile::tempdir().unwrap();
        let failures = upstream.fetch(folder.path(), Arc::default()).await.unwrap_err();
        assert!(!failures.is_empty());
        assert!(!left(folder.path()).iter().any(|name| name.ends_with(".tar")), "{path}: {:?}", left(folder.path()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_length_that_is_a_lie_harms_nothing_for_the_digest_decides() {
    for path in ["runc.amd64", "/blobs/"] {
        let upstream = Upstream::start().await;
        upstream.always(path, UpstreamFault::LongerThanItIs(10));
        let folder = tempfile::tempdir().unwrap();
        let fetched = upstream.fetch(folder.path(), Arc::default()).await.unwrap();
        let runc = fetched.bundle.file("runc", "1.5.2", "amd64").unwrap();
        assert_eq!(std::fs::read(folder.path().join(&runc.path)).unwrap(), upstream.runc());
    }
    let upstream = Upstream::start().await;
    let mut more = upstream.runc();
    more.push(b'!');
    upstream.always("runc.amd64", UpstreamFault::Other(more));
    assert!(failed(&upstream, tempfile::tempdir().unwrap().path()).await.what.contains("runc"));
}

#[tokio::test(start_paused = true)]
async fn credentials_do_not_follow_to_another_host() {
    let upstream = Upstream::start().await;
    let elsewhere = Upstream::start().await;
    upstream.ask_for_login();
    upstream.always("/blobs/", UpstreamFault::Redirect(elsewhere.other_name()));
    let folder = tempfile::tempdir().unwrap();
    upstream.fetch(folder.path(), Arc::default()).await.unwrap();
    let there = elsewhere.requests();
    assert!(there.iter().any(|request| request.contains("/blobs/")), "{there:?}");
    assert!(!there.iter().any(|request| request.to_ascii_lowercase().contains("authorization")), "{there:?}");
    assert!(upstream.requests().iter().any(|request| request.to_ascii_lowercase().contains("authorization: basic")));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_told_before_anything_is_fetched() {
    let upstream = Upstream::start().await;
    upstream.without("runc.amd64");
    let failure = failed(&upstream, tempfile::tempdir().unwrap().path()).await;
    assert!(failure.because.unwrap().contains("404"));
    assert!(!upstream.requests().iter().any(|request| request.contains("/blobs/")));
}

#[tokio::test(start_paused = true)]
async fn an_archive_with_a_path_out_of_it_is_not_kept() {
    let upstream = Upstream::start().await;
    upstream.serve_cni(archive(&[("../../etc/cron.d/x", b"1")]));
    let folder = tempfile::tempdir().unwrap();
    let failure = failed(&upstream, folder.path()).await;
    assert!(failure.because.unwrap().contains("leads out"));
    assert!(!left(folder.path()).iter().any(|name| name.starts_with("cni-plugins")));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_told_once() {
    let upstream = Upstream::start().await;
    upstream.stop();
    let failures = upstream.fetch(tempfile::tempdir().unwrap().path(), Arc::default()).await.unwrap_err();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].what.contains("4 files or images"), "{failures:?}");
}
