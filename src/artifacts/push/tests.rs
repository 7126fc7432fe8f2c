#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use support::{RegistryFault, Site};

#[tokio::test(flavor = "multi_thread")]
async fn what_time_mends_is_tried_again_and_no_byte_is_told_twice() {
    let site = Site::start(true).await;
    site.once("GET /v2/", RegistryFault::Status(429));
    site.once("HEAD ", RegistryFault::Status(503));
    site.once("POST ", RegistryFault::Status(429));
    site.once("PUT /upload", RegistryFault::Cut(300_000));
    site.once("PUT /v2/pause/manifests/sha256:", RegistryFault::Status(502));
    site.once("PUT /v2/pause/manifests/3", RegistryFault::Cut(0));
    let pushed = site.push().await.unwrap();
    assert_eq!(pushed.tags, 2);
    assert_eq!(site.heard.bytes(), site.bytes(), "of all blobs, each once");
    assert_eq!(pushed.bytes, site.bytes() - site.layer(), "the layer of both is taken from the first");
    assert!(site.blobs_are_whole());
    let asked = site.requests().len();
    assert_eq!(site.push().await.unwrap(), super::Pushed::default());
    assert!(site.requests()[asked..].iter().all(|request| request.starts_with("GET ")), "{:?}", &site.requests()[asked..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_takes_nothing_of_other_repositories_is_asked_for_it_once() {
    let site = Site::start(false).await;
    let pushed = site.push().await.unwrap();
    assert_eq!(pushed.bytes, site.bytes());
    assert_eq!(site.requests().iter().filter(|request| request.contains("mount=")).count(), 1);
    assert!(site.blobs_are_whole());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_is_not_moved_while_something_is_missing_and_others_do_not_begin() {
    let site = Site::start(true).await;
    site.always("PUT /upload", RegistryFault::Status(413));
    let failures = site.push().await.unwrap_err();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].because.as_ref().unwrap().contains("413 Payload Too Large: too much for me"), "{failures:?}");
    assert!(failures[0].what.ends_with("can't be pushed") && failures[0].hint.as_ref().unwrap().contains("has room"), "{failures:?}");
    assert!(!site.requests().iter().any(|request| request.starts_with("PUT /v2/")), "{:?}", site.requests());
    assert!(!site.requests().iter().any(|request| request.starts_with("POST /v2/second/")), "{:?}", site.requests());
    site.heal();
    assert_eq!(site.push().await.unwrap().tags, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_without_what_its_manifest_names_is_not_pushed() {
    let site = Site::start(true).await;
    site.drop_blob("registry.k8s.io/pause:3");
    let failures = site.push().await.unwrap_err();
    assert!(failures[0].because.as_ref().unwrap().contains("is not in the archive"), "{failures:?}");
    assert!(site.requests().iter().all(|request| request.starts_with("GET ")), "{:?}", site.requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_named_another_image_is_told() {
    let site = Site::start(true).await;
    site.tag("pause", "3", b"{\"config\": {}}");
    site.push().await.unwrap();
    let notices = site.heard.notices();
    assert!(notices.len() == 1 && notices[0].contains("pause:3 named another image before"), "{notices:?}");
}
