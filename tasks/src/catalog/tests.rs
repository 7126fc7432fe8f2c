#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use super::*;
use crate::facts::{CHRONY, COMMANDS, CURL, KEEPALIVED, TRUST_DEBIAN};

const DIGITS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn request(releases: &[&str]) -> Request {
    Request {
        kubernetes: releases.iter().map(|release| Version::parse(release).unwrap()).collect(),
        architectures: BTreeSet::from(["amd64".to_owned()]),
        needs: None,
    }
}

fn files(items: &[Item]) -> Vec<&FileItem> {
    items.iter().filter_map(|item| if let Item::File(file) = item { Some(file) } else { None }).collect()
}

fn images(items: &[Item]) -> Vec<&ImageItem> {
    items.iter().filter_map(|item| if let Item::Image(image) = item { Some(image) } else { None }).collect()
}

#[test]
fn the_built_in_catalog_covers_three_minors_with_pinned_and_published_digests() {
    let catalog = Catalog::built_in().unwrap();
    assert_eq!(catalog.kubernetes.iter().map(|minor| minor.minor.as_str()).collect::<Vec<_>>(), ["1.37", "1.36", "1.35"]);
    let items = catalog.items(&request(&["1.36.3"])).unwrap();
    let kubelet = *files(&items).iter().find(|file| file.name == "kubelet").unwrap();
    assert_eq!(kubelet.address, "https://dl.k8s.io/release/v1.36.3/bin/linux/amd64/kubelet");
    assert_eq!(kubelet.path(), "files/dl.k8s.io/release/v1.36.3/bin/linux/amd64/kubelet");
    assert_eq!(kubelet.expected, Expected::Pinned("46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718".to_owned()));
    let items = catalog.items(&request(&["1.37.1"])).unwrap();
    let kubelet = *files(&items).iter().find(|file| file.name == "kubelet").unwrap();
    let address = "https://dl.k8s.io/release/v1.37.1/bin/linux/amd64/kubelet.sha256".to_owned();
    assert_eq!(kubelet.expected, Expected::Published { address, is_list: false });
    let etcd = *files(&items).iter().find(|file| file.name == "etcd").unwrap();
    let address = "https://github.com/etcd-io/etcd/releases/download/v3.7.0/SHA256SUMS".to_owned();
    assert_eq!(etcd.expected, Expected::Published { address, is_list: true });
}

#[test]
fn images_of_a_release_are_told_and_shared_by_releases() {
    let catalog = Catalog::built_in().unwrap();
    let items = catalog.items(&request(&["1.36.3", "1.36.4"])).unwrap();
    let images = images(&items);
    let pause: Vec<_> = images.iter().filter(|image| image.name == "pause").collect();
    assert_eq!(pause.len(), 1);
    assert_eq!(pause[0].releases.iter().collect::<Vec<_>>(), ["1.36.3", "1.36.4"]);
    assert_eq!(pause[0].reference, "registry.k8s.io/pause:3.10.2");
    assert_eq!(pause[0].path(), "images/registry.k8s.io/pause/3.10.2-linux-amd64.tar");
    let proxies = images.iter().filter(|image| image.name == "kube-proxy").count();
    assert_eq!(proxies, 2, "each release has its own");
    assert!(images.iter().filter(|image| image.name == "flannel").all(|image| image.releases.is_empty()));
}

/// Without it nobody could go from the one to the other.
#[test]
fn between_two_minor_versions_comes_the_etcd_through_which_a_cluster_goes() {
    let catalog = Catalog::built_in().unwrap();
    let etcd = |releases: &[&str]| {
        let items = catalog.items(&request(releases)).unwrap();
        let versions: BTreeSet<String> = files(&items).iter().filter(|file| file.name == "etcd").map(|file| file.version.clone()).collect();
        let unnamed = images(&items).iter().filter(|image| image.name == "etcd" && image.releases.is_empty()).count();
        (versions.into_iter().collect::<Vec<_>>(), unnamed)
    };
    assert_eq!(etcd(&["1.37.1", "1.36.3"]), (["3.6.14", "3.6.8", "3.7.0"].map(str::to_owned).to_vec(), 1));
    assert_eq!(etcd(&["1.36.3", "1.36.4"]), (vec!["3.6.8".to_owned()], 0));
}

#[test]
fn only_what_is_needed_is_taken_and_a_version_that_is_asked_for() {
    let catalog = Catalog::built_in().unwrap();
    let components = ["containerd", "pause"].map(str::to_owned).into();
    let versions = [("containerd".to_owned(), "2.3.3".to_owned())].into();
    let mut request = request(&["1.37.1"]);
    request.needs = Some(Needs { components, versions });
    let items = catalog.items(&request).unwrap();
    assert_eq!(items.len(), 2);
    let containerd = files(&items)[0];
    assert_eq!(containerd.version, "2.3.3");
    assert!(matches!(&containerd.expected, Expected::Pinned(digest) if digest.starts_with("ebf6e710")));
    request.needs = Some(Needs { components: ["weave".to_owned()].into(), ..Needs::default() });
    let error = catalog.items(&request).unwrap_err().to_string();
    assert!(error.contains("weave") && error.contains("containerd"), "{error}");
}

#[test]
fn what_the_catalog_lacks_is_told_with_what_it_has() {
    let error = Catalog::built_in().unwrap().items(&request(&["1.29.0"])).unwrap_err().to_string();
    assert!(error.contains("1.29.0") && error.contains("1.37, 1.36, 1.35"), "{error}");
    // A patch that came out later takes what its minor has.
    assert!(Catalog::built_in().unwrap().items(&request(&["1.37.9"])).is_ok());
}

/// Without these no Debian runs, and they are no packages that could be missing.
const ESSENTIAL: [&str; 6] = ["coreutils", "gzip", "mount", "systemd", "tar", "util-linux"];

#[test]
fn packages_are_those_that_hosts_are_asked_for() {
    let catalog = Catalog::built_in().unwrap();
    let programs = COMMANDS.iter().chain([&CHRONY, &CURL, &KEEPALIVED, &TRUST_DEBIAN]).map(|program| program.debian);
    let asked: BTreeSet<&str> = programs.filter(|package| !ESSENTIAL.contains(package)).collect();
    for source in &catalog.distributions {
        assert_eq!(source.packages.iter().map(String::as_str).collect::<BTreeSet<_>>(), asked, "{}", source.name);
    }
}

#[test]
fn packages_are_taken_from_the_archives_of_their_architecture() {
    let catalog = Catalog::built_in().unwrap();
    let architectures: BTreeSet<String> = ["amd64", "arm64"].map(str::to_owned).into();
    let items = catalog.packages(&["ubuntu-24.04".to_owned(), "debian-12".to_owned()], &architectures).unwrap();
    let told = |item: &Item| match item {
        Item::Packages(item) => {
            format!("{}: {}", item.title(), item.archives.iter().map(ArchiveSource::folder).collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    };
    assert_eq!(
        items.iter().map(told).collect::<Vec<_>>(),
        [
            "packages of debian-12 for amd64: deb.debian.org/debian, deb.debian.org/debian-security",
            "packages of debian-12 for arm64: deb.debian.org/debian, deb.debian.org/debian-security",
            "packages of ubuntu-24.04 for amd64: archive.ubuntu.com/ubuntu",
            "packages of ubuntu-24.04 for arm64: ports.ubuntu.com/ubuntu-ports",
        ]
    );
    let error = catalog.packages(&["debian-10".to_owned()], &architectures).unwrap_err().to_string();
    assert!(error.contains("debian-10") && error.contains("debian-12, debian-13, ubuntu-22.04, ubuntu-24.04"), "{error}");
}

#[test]
fn a_catalog_that_does_not_hold_together_is_refused() {
    let good = include_str!("../../catalog.yaml");
    let wrong = [
        ("format: 1", "format: 2", "newer program"),
        ("    endOfLife: 2027-10-28", "    endOfLive: 2027-10-28", "endOfLive"),
        ("https://dl.k8s.io/release/v${version}/bin/linux/${architecture}/kubeadm", "http://dl.k8s.io/v${version}", "https://"),
        ("      pause: 3.10.1", "      paws: 3.10.1", "names no pause"),
        ("releases: [1.37.1]", "releases: [1.36.1]", "is no release of it"),
        ("reference: registry.k8s.io/pause:${version}", "reference: pause", "no registry"),
        ("name: debian-12", "name: debian 12", "\"debian 12\" is no name"),
        ("https://deb.debian.org/debian-security", "ftp://deb.debian.org/debian-security", "is none such as"),
        ("suites: [trixie-security]", "suites: [\"../trixie\"]", "is no suite"),
    ];
    for (old, new, told) in wrong {
        assert!(good.contains(old), "{old}");
        let error = Catalog::parse(&good.replace(old, new)).unwrap_err().to_string();
        assert!(error.contains(told), "{new}: {error}");
    }
    let short = good.replace("46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718", "46707a53");
    assert!(Catalog::parse(&short).unwrap_err().to_string().contains("kubelet 1.36.3 for amd64"));
}

#[test]
fn published_digests_are_found_however_they_are_written() {
    let upper = DIGITS.to_uppercase();
    for (text, is_list) in [
        (format!("{DIGITS}\n"), false),
        (format!("{DIGITS}  kubelet\n"), false),
        (format!("{upper}  runc.arm64\n{DIGITS}  runc.amd64\n").replace("runc.amd64", "kubelet"), true),
        (format!("{DIGITS} *./kubelet"), true),
        (format!("{DIGITS}\tdist/kubelet"), true),
    ] {
        assert_eq!(published_digest(&text, "kubelet", is_list).as_deref(), Some(DIGITS), "{text:?}");
    }
    for (text, is_list) in [("", false), ("<html>", false), (&DIGITS[1..], false), (&format!("{DIGITS}  kubeadm"), true), ("", true)] {
        assert_eq!(published_digest(text, "kubelet", is_list), None, "{text:?}");
    }
}
