#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

mod faults;
mod packages;
pub(in crate::artifacts) mod support;

use std::sync::Arc;
use std::time::Duration;

use kok_tasks::bundle::INDEX;
use kok_tasks::mirrors::{Mirror, Mirrors};

use super::*;
use crate::artifacts::BundleFolder;
use support::{Heard, Upstream, archive};

#[tokio::test]
async fn files_and_images_become_a_bundle_that_can_be_installed_from() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Heard::default());
    let fetched = upstream.fetch(folder.path(), Arc::clone(&heard)).await.unwrap();
    assert_eq!(fetched.items, 4);
    let release = fetched.bundle.release("1.37.1").unwrap();
    assert_eq!(release.images["pause"], "registry.k8s.io/pause:3.10.2");
    let runc = fetched.bundle.file("runc", "1.5.2", "amd64").unwrap();
    assert_eq!(std::fs::read(folder.path().join(&runc.path)).unwrap(), upstream.runc());
    let cni = fetched.bundle.file("cni-plugins", "1.9.1", "amd64").unwrap();
    assert_eq!(cni.contents.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["bridge", "loopback"]);
    let opened = BundleFolder::open(folder.path()).unwrap();
    let artifacts: Vec<_> = opened.bundle().images.iter().map(kok_tasks::artifact::Artifact::from).collect();
    opened.verify(artifacts.iter()).unwrap();
    assert!(!folder.path().join(".blobs").exists(), "the archives have them");
    assert_eq!(heard.bytes(), upstream.bytes(), "each byte is told once, and a layer of two images is fetched once");
    // All of it is there: nobody is asked for anything.
    let asked = upstream.requests().len();
    let again = upstream.fetch(folder.path(), Arc::default()).await.unwrap();
    assert_eq!((again.items, upstream.requests().len()), (0, asked));
}

#[tokio::test]
async fn an_image_is_the_one_of_its_architecture_and_named_as_upstream_names_it() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let fetched = upstream.fetch(folder.path(), Arc::default()).await.unwrap();
    let pause = fetched.bundle.image("registry.k8s.io/pause:3.10.2", "amd64").unwrap();
    assert_eq!(pause.manifest_digest, upstream.manifest_digest("pause"));
    let mut archive = tar::Archive::new(std::fs::File::open(folder.path().join(&pause.path)).unwrap());
    let mut paths = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        if path == "index.json" {
            let index: serde_json::Value = serde_json::from_reader(&mut entry).unwrap();
            let name = &index["manifests"][0]["annotations"]["io.containerd.image.name"];
            assert_eq!(name, "registry.k8s.io/pause:3.10.2", "and not as the mirror does");
        }
        paths.push(path);
    }
    assert_eq!(paths.len(), 5, "{paths:?}");
}

#[tokio::test]
async fn an_image_that_may_be_absent_is_left_out_with_a_notice() {
    let upstream = Upstream::start().await;
    upstream.without("echo");
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Heard::default());
    let fetched = upstream.fetch(folder.path(), Arc::clone(&heard)).await.unwrap();
    assert_eq!(fetched.items, 3);
    assert!(heard.notices()[0].contains("ghcr.io/kokctl/echo:0.1.0"), "{:?}", heard.notices());
}

/// Who has all else needs no network for it, and asks again when upstream may have published it.
#[tokio::test(start_paused = true)]
async fn what_was_absent_is_not_asked_for_again_for_a_day() {
    let upstream = Upstream::start().await;
    upstream.without("echo");
    let folder = tempfile::tempdir().unwrap();
    upstream.fetch(folder.path(), Arc::default()).await.unwrap();
    upstream.stop();
    let again = upstream.fetch(folder.path(), Arc::default()).await.unwrap();
    assert_eq!((again.items, again.bundle.images.len()), (0, 1));
    let record = std::fs::File::options().append(true).open(folder.path().join(".absent")).unwrap();
    record.set_modified(std::time::SystemTime::now() - Duration::from_secs(25 * 60 * 60)).unwrap();
    assert!(upstream.fetch(folder.path(), Arc::default()).await.is_err(), "a day later it is asked for, and nobody answers");
}

#[tokio::test(start_paused = true)]
async fn nor_does_one_that_is_denied_stop_all_else() {
    for status in [403, 404, 503] {
        let upstream = Upstream::start().await;
        upstream.always("/v2/kokctl/echo/manifests/", support::UpstreamFault::Status(status, None));
        let heard = Arc::new(Heard::default());
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(upstream.fetch(folder.path(), Arc::clone(&heard)).await.unwrap().items, 3, "{status}");
        assert!(heard.notices()[0].contains("ghcr.io/kokctl/echo:0.1.0 is left out: "), "{:?}", heard.notices());
    }
}

#[tokio::test]
async fn an_index_that_nobody_could_open_is_not_written() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut bundle = upstream.fetch(folder.path(), Arc::default()).await.unwrap().bundle;
    let runc = bundle.file("runc", "1.5.2", "amd64").unwrap().clone();
    let (name, version, path) = ("kubeadm".to_owned(), "1.37.1".to_owned(), "files/kubeadm".to_owned());
    bundle.files.push(BundleFile { name, version, path, architecture: "arm64".to_owned(), ..runc });
    let failure = write_index(folder.path(), &bundle).unwrap_err();
    assert!(failure.because.unwrap().contains("registry.k8s.io/pause:3.10.2"), "its image is not there for arm64");
    assert_eq!(BundleFolder::open(folder.path()).unwrap().bundle().files.len(), 2, "what was there is as it was");
}

#[tokio::test]
async fn other_releases_are_added_to_a_bundle_and_a_part_of_it_is_its_own() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let fetched = upstream.fetch(folder.path(), Arc::default()).await.unwrap();
    let items: Vec<Item> = upstream.items().into_iter().filter(|item| matches!(item, Item::File(file) if file.name == "runc")).collect();
    let part = part_of(&fetched.bundle, &items, &["1.36.3".to_owned()]);
    assert_eq!((part.files.len(), part.images.len(), part.kubernetes.len()), (1, 0, 0));
}

#[test]
fn a_file_without_a_certificate_is_no_ca() {
    for (pem, because) in
        [("not PEM at all\n", "no certificate in PEM"), ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "")]
    {
        let connection = UpstreamConnection { authorities: vec![("ca.crt".to_owned(), pem.to_owned())], ..UpstreamConnection::default() };
        let failure = Client::new(&connection).map(drop).unwrap_err();
        assert_eq!(failure.at.as_deref(), Some("ca.crt"), "{failure}");
        assert!(failure.because.unwrap_or_default().contains(because));
    }
}

#[test]
fn mirrors_and_credentials_are_read() {
    let mirror: Mirror = "dl.k8s.io=https://mirror.example/dl/".parse().unwrap();
    let registry: Mirror = "registry.k8s.io=http://10.0.0.1:5000/k8s".parse().unwrap();
    let mirrors = Mirrors(vec![mirror, registry]);
    assert_eq!(mirrors.address("https://dl.k8s.io/release/v1/kubeadm"), "https://mirror.example/dl/release/v1/kubeadm");
    assert_eq!(mirrors.address("https://github.com/x"), "https://github.com/x");
    let reference = mirrored(&mirrors, &"registry.k8s.io/coredns/coredns:v1".parse().unwrap());
    assert_eq!(reference.whole(), "10.0.0.1:5000/k8s/coredns/coredns:v1");
    assert_eq!(mirrors.without_tls(), ["10.0.0.1:5000"]);
    for wrong in ["dl.k8s.io", "=https://x", "dl.k8s.io=ftp://x", "dl.k8s.io=https://", "a/b=https://x", "a=https://u:p@x"] {
        assert!(wrong.parse::<Mirror>().is_err(), "{wrong}");
    }
    let mut credentials = Credentials::default();
    credentials.add(r#"{"auths": {"https://index.docker.io/v1/": {"auth": "dXNlcjpwYXNz"}, "quay.io": {}}, "credsStore": "x"}"#).unwrap();
    assert_eq!(credentials.at("docker.io"), Some(("user".to_owned(), "pass".to_owned())));
    assert_eq!(credentials.at("quay.io"), None);
    assert!(!format!("{credentials:?}").contains("pass"));
    assert!(credentials.add(r#"{"auths": {"x": {"auth": "!"}}}"#).unwrap_err().contains("auths.\"x\".auth"));
}

#[test]
fn archives_that_lead_out_of_themselves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tgz");
    std::fs::write(&path, archive(&[("bin/good", b"1"), ("bin/good2", b"2")])).unwrap();
    assert_eq!(contents::list(&path, "https://x/a.tgz").unwrap().len(), 2);
    for wrong in ["../bad", "bin/../../bad", "/bad"] {
        std::fs::write(&path, archive(&[(wrong, b"1")])).unwrap();
        let failure = Failure::from(contents::list(&path, "https://x/a.tgz").unwrap_err());
        assert!(failure.because.unwrap().contains("leads out"), "{wrong}");
    }
    std::fs::write(&path, archive(&[("twice", b"1"), ("twice", b"2")])).unwrap();
    assert!(contents::list(&path, "https://x/a.tgz").is_err());
    assert!(!folder.path().join(INDEX).exists());
}
