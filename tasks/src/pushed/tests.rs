#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use serde_json::Value;

use super::*;
use crate::bundle::FORMAT;
use crate::digest::sha256;

fn image(reference: &str, architecture: &str) -> BundleImage {
    BundleImage {
        name: "one".to_owned(),
        version: "1".to_owned(),
        architecture: architecture.to_owned(),
        path: format!("images/{reference}-{architecture}.tar"),
        size: 10,
        sha256: sha256(b"archive"),
        reference: reference.to_owned(),
        manifest_digest: format!("sha256:{}", sha256(format!("{reference} {architecture}").as_bytes())),
        lacks: Vec::new(),
    }
}

fn bundle(images: &[(&str, &str)]) -> Bundle {
    let images = images.iter().map(|(reference, architecture)| image(reference, architecture)).collect();
    Bundle { format: FORMAT, kubernetes: Vec::new(), files: Vec::new(), images, packages: Vec::new() }
}

fn registry(text: &str) -> Registry {
    text.parse().unwrap()
}

fn manifest(image: &BundleImage) -> ImageManifest {
    let (architecture, digest) = (image.architecture.clone(), image.manifest_digest.clone());
    ImageManifest { architecture, digest, media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(), size: 7 }
}

#[test]
fn images_keep_their_names_and_the_registry_stands_in_for_upstream() {
    let bundle = bundle(&[
        ("ghcr.io/flannel-io/flannel:v0.28.4", "amd64"),
        ("registry.k8s.io/coredns/coredns:v1.14.6", "amd64"),
        ("registry.k8s.io/pause:3.10.2", "amd64"),
        ("registry.k8s.io/pause:3.10.2", "arm64"),
    ]);
    let at = |registry: &Registry, keeps_host: bool| {
        let places = places(&bundle, registry, keeps_host).unwrap();
        let names: Vec<String> = places.iter().map(|place| format!("{}:{} {}", place.repository, place.tag, place.images.len())).collect();
        (names, mirrors(&places, registry, keeps_host))
    };
    let (names, stands_in) = at(&registry("registry.lan:5000/k8s"), false);
    assert_eq!(names, ["k8s/coredns/coredns:v1.14.6 1", "k8s/flannel-io/flannel:v0.28.4 1", "k8s/pause:3.10.2 2"]);
    assert_eq!(stands_in, ["ghcr.io=https://registry.lan:5000/k8s", "registry.k8s.io=https://registry.lan:5000/k8s"]);
    let (names, stands_in) = at(&registry("http://registry.lan"), true);
    assert_eq!(names[0], "ghcr.io/flannel-io/flannel:v0.28.4 1");
    assert_eq!(stands_in[1], "registry.k8s.io=http://registry.lan/registry.k8s.io");
}

#[test]
fn images_of_two_hosts_with_one_name_are_told_apart_by_the_host_alone() {
    let two = bundle(&[("docker.io/pause:3", "amd64"), ("registry.k8s.io/pause:3", "amd64")]);
    let error = places(&two, &registry("registry.lan/k8s"), false).unwrap_err().to_string();
    assert_eq!(error, "docker.io/pause:3 and registry.k8s.io/pause:3 would both be k8s/pause:3");
    assert_eq!(places(&two, &registry("registry.lan/k8s"), true).unwrap().len(), 2);
    let tags = bundle(&[("docker.io/pause:2", "amd64"), ("registry.k8s.io/pause:3", "amd64")]);
    assert_eq!(places(&tags, &registry("registry.lan/k8s"), false).unwrap().len(), 2, "their tags tell them apart");
    assert!(matches!(places(&bundle(&[("registry.k8s.io/Pause:3", "amd64")]), &registry("a"), false), Err(PushError::Name { .. })));
}

#[test]
fn addresses_that_are_none_are_refused() {
    for (text, says) in [
        ("", "no registry"),
        ("ftp://registry.lan", "begins with"),
        ("user:password@registry.lan", "credentials"),
        ("registry.lan:no/k8s", "no registry"),
        ("registry.lan:", "no registry"),
        ("registry lan", "no registry"),
        ("registry.lan/K8s", "no folder"),
        ("registry.lan/k8s:v1", "no folder"),
        ("registry.lan/../k8s", "no folder"),
        ("registry.lan/k8s//a", "no folder"),
        ("[::1/k8s", "no registry"),
    ] {
        let error = text.parse::<Registry>().unwrap_err();
        assert!(error.contains(says), "{text}: {error}");
        assert!(!error.contains("password@"), "{error}");
    }
    assert_eq!(registry("http://[::1]:5000/k8s/").address("a"), "http://[::1]:5000/k8s/a");
}

#[test]
fn a_tag_names_a_manifest_for_each_architecture() {
    let [amd64, arm64] = ["amd64", "arm64"].map(|architecture| image("registry.k8s.io/pause:3", architecture));
    let (first, is_lost) = index(None, &[manifest(&amd64)]);
    assert!(!is_lost && names_all(&first, std::slice::from_ref(&amd64)) && !names_all(&first, &[amd64.clone(), arm64.clone()]));
    let (both, is_lost) = index(Some(&first), &[manifest(&arm64)]);
    assert!(!is_lost && names_all(&both, &[amd64.clone(), arm64.clone()]), "another architecture is added");
    let other = image("registry.k8s.io/pause:other", "amd64");
    let (moved, is_lost) = index(Some(&both), &[manifest(&other)]);
    assert!(
        is_lost && names_all(&moved, &[other.clone(), arm64]) && !names_all(&moved, std::slice::from_ref(&amd64)),
        "one takes the other's place"
    );
    let entry = &serde_json::from_slice::<Value>(&moved).unwrap()["manifests"][0];
    assert_eq!((entry["size"].as_u64(), entry["platform"]["os"].as_str()), (Some(7), Some("linux")));
    let (own, is_lost) = index(Some(b"{\"config\": {}}"), &[manifest(&amd64)]);
    assert!(is_lost && names_all(&own, &[amd64]), "a tag without an index gets one");
}

#[test]
fn a_tag_that_names_the_one_manifest_itself_is_left_alone() {
    let document = b"{\"config\": {}}";
    let own = BundleImage { manifest_digest: format!("sha256:{}", sha256(document)), ..image("registry.k8s.io/pause:3", "amd64") };
    assert!(names_all(document, std::slice::from_ref(&own)));
    assert!(!names_all(document, &[own, image("registry.k8s.io/pause:3", "arm64")]));
}
