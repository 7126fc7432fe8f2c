//! `kokctl bundle push` into the registry of the distribution project, and `bundle create` from it.

use std::fs;

use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;
use kok_tests::upstream::{Access, REGISTRY};

use crate::bundle_push_story::site::{LOGIN, Site, WRONG_LOGIN};
use crate::bundle_push_story::small;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::{KokctlOutput, bundle};

/// What of a bundle's images is compared: upstream's names and the digests of their manifests.
fn digests(bundle: &kok_tasks::bundle::Bundle) -> Vec<(&str, &str, &str)> {
    let images = bundle.images.iter();
    images.map(|image| (image.reference.as_str(), image.architecture.as_str(), image.manifest_digest.as_str())).collect()
}

/// How many things are told.
fn errors(said: &KokctlOutput) -> usize {
    said.stderr.lines().filter(|line| line.starts_with("error: ")).count()
}

fn assert_done(said: &KokctlOutput) {
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
}

/// The release's images go there, and come back the same by `arguments`.
fn round_trip(site: &mut Site, clock: &mut Clock, to: &str) {
    let source = bundle();
    let push = ["bundle", "push", to, source.to_str().unwrap(), "--kubernetes", DEFAULT_KUBERNETES_VERSION];
    site.kill_push_midway(&push);
    let (before, manifests) = (site.requests("PUT", "/blobs/uploads/", 201), site.requests("PUT", "/manifests/sha256:", 201));
    assert!(manifests > 0 && manifests < 10, "{manifests} images were there when it was killed");
    clock.lap("a push that is killed");
    let pushed = site.kokctl(&push);
    assert_done(&pushed);
    // Ten; and an etcd of the way there, where the bundle has the older release as well.
    let images = (10..=11).find(|images| pushed.stderr.contains(&format!(" of {images} images pushed")));
    assert_eq!(Some(site.requests("PUT", "/manifests/sha256:", 201)), images, "no image is pushed twice: {}", pushed.stderr);
    assert!(site.requests("PUT", "/blobs/uploads/", 201) - before <= 22, "blobs that are there are not sent again");
    clock.lap("the push that goes on");
    let sent = site.requests("PUT", "/v2/", 201) + site.requests("POST", "/v2/", 202);
    let again = site.kokctl(&push);
    assert_done(&again);
    assert!(again.stderr.contains("has all of it already"), "{}", again.stderr);
    assert_eq!(site.requests("PUT", "/v2/", 201) + site.requests("POST", "/v2/", 202), sent, "a second push sends nothing");
    clock.lap("a second push");
    // What it prints is what `create` takes.
    let mirrors: Vec<&str> = if to == REGISTRY { Vec::new() } else { pushed.stdout.split_whitespace().collect() };
    let create = ["bundle", "create", "--for", "cluster.yaml", "--catalog", "catalog.json", "--ca", "ca.crt", "--output", "back"];
    let gets = site.requests("GET", "/blobs/sha256:", 206);
    assert_done(&site.kokctl(&[&create[..], &mirrors].concat()));
    assert!(site.requests("GET", "/blobs/sha256:", 206) > gets, "the registry has answered");
    clock.lap("fetched from there");
    let (back, sent) = (site.index("back"), kok_tests::upstream::index_of(&source).unwrap());
    let sent = digests(&sent);
    assert!(back.images.len() > 7 && digests(&back).iter().all(|one| sent.contains(one)), "{:?}\n{sent:?}", digests(&back));
    assert_done(&site.kokctl(&["bundle", "verify", "back"]));
}

#[test]
fn images_come_back_the_same_from_a_registry_with_passwords() {
    let (mut site, mut clock) = (Site::start(Access::Basic), Clock::start());
    site.log_in(LOGIN);
    round_trip(&mut site, &mut clock, "registry.lan/k8s");
    site.containerd_pulls_by_digest("k8s/pause", bundle());
    clock.lap("containerd pulls by digest");
}

#[test]
fn images_come_back_the_same_from_upstreams_names_with_tokens() {
    let (mut site, mut clock) = (Site::start(Access::Tokens), Clock::start());
    site.log_in(LOGIN);
    round_trip(&mut site, &mut clock, REGISTRY);
}

#[test]
fn whoever_is_not_known_is_told_once_and_nothing_is_sent() {
    for access in [Access::Basic, Access::Tokens] {
        let site = Site::start(access);
        small::write(&site.file("small"), &small::IMAGES[1..]);
        site.log_in(WRONG_LOGIN);
        let said = site.kokctl(&["bundle", "push", "registry.lan/k8s", "small"]);
        assert_eq!((said.code, errors(&said)), (2, 1), "{}", said.stderr);
        assert!(said.stderr.contains("can't be pushed") && said.stderr.contains("docker login"), "{}", said.stderr);
        assert!(!said.stderr.contains("wrong-one") && !said.stderr.contains(WRONG_LOGIN), "{}", said.stderr);
        let asked = site.all_requests();
        assert!(asked > 0 && asked <= 6, "{asked} requests");
        assert_eq!(site.requests("POST", "/v2/", 401), 0);
    }
}

#[test]
fn a_tag_has_every_architecture_and_a_blob_is_sent_once() {
    let site = Site::start(Access::Basic);
    site.log_in(LOGIN);
    small::write(&site.file("small"), &small::IMAGES);
    let push = |more: &[&str]| site.kokctl(&[&["bundle", "push", "registry.lan/k8s", "small"], more].concat());
    let said = push(&[]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("would both be k8s/pause:3") && said.stderr.contains("--keep-host"), "{}", said.stderr);
    assert_eq!(site.all_requests(), 0, "it is told before anybody is asked");
    let said = push(&["--keep-host", "--architecture", "amd64"]);
    assert_done(&said);
    assert_eq!(said.stdout.lines().next(), Some("--mirror docker.io=https://registry.lan/k8s/docker.io"));
    assert_eq!(site.requests("POST", "mount=sha256", 201), 2, "of one layer in three repositories two are taken from the first");
    assert_eq!(site.architectures("k8s/registry.k8s.io/pause", "3"), ["amd64"]);
    assert_done(&push(&["--keep-host"]));
    let mut both = site.architectures("k8s/registry.k8s.io/pause", "3");
    both.sort();
    assert_eq!(both, ["amd64", "arm64"], "the other one is added");
    assert!(push(&["--keep-host", "--architecture", "amd64"]).stderr.contains("has all of it already"), "and stays");
}

#[test]
fn what_is_wrong_with_a_bundle_does_not_reach_a_registry() {
    let site = Site::start(Access::Basic);
    site.log_in(LOGIN);
    let alone = [small::IMAGES[1]];
    let archive = small::write(&site.file("small"), &alone);
    let bytes = fs::read(&archive).unwrap();
    let wrong: Vec<u8> = String::from_utf8(bytes).unwrap().replace("a shared layer", "another layer!").into_bytes();
    fs::write(&archive, wrong).unwrap();
    let push = || site.kokctl(&["bundle", "push", "registry.lan/k8s", "small"]);
    let said = push();
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("corrupted") && said.stderr.contains("the bundle's index says"), "{}", said.stderr);
    assert_eq!(site.requests("POST", "/v2/", 202), 0);
    // An index that goes with the archive: then the registry finds the blob that is not what its name says.
    small::index_again(&site.file("small"));
    let said = push();
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("registry.k8s.io/pause:3 can't be pushed") && said.stderr.contains("digest"), "{}", said.stderr);
    assert_eq!(site.requests("PUT", "/manifests/", 201), 0, "no tag names it");
}

#[test]
fn a_registry_that_takes_nothing_is_named_once() {
    let mut site = Site::start(Access::Basic);
    site.log_in(LOGIN);
    small::write(&site.file("small"), &small::IMAGES[1..]);
    let push = |site: &Site, to: &str| site.kokctl(&["bundle", "push", to, "small"]);
    assert_done(&push(&site, "registry.lan/k8s"));
    site.restart(true);
    assert_done(&push(&site, "registry.lan/k8s"));
    let said = push(&site, "registry.lan/other");
    assert_eq!((said.code, errors(&said)), (2, 1), "{}", said.stderr);
    assert!(said.stderr.contains("405") && said.stderr.contains("read-only"), "{}", said.stderr);
    site.stop();
    let said = push(&site, "registry.lan/k8s");
    assert_eq!((said.code, errors(&said)), (2, 1), "{}", said.stderr);
    assert!(said.stderr.contains("can't be pushed") && said.stderr.contains("address and port"), "{}", said.stderr);
}
