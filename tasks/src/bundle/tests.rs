#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn digest(digit: char) -> String {
    digit.to_string().repeat(64)
}

fn file(name: &str, version: &str, architecture: &str) -> BundleFile {
    BundleFile {
        name: name.to_owned(),
        version: version.to_owned(),
        architecture: architecture.to_owned(),
        path: format!("files/{name}/{version}/{architecture}"),
        size: 3,
        sha256: digest('a'),
        contents: Vec::new(),
    }
}

fn image(reference: &str, architecture: &str) -> BundleImage {
    let (repository, tag) = reference.rsplit_once(':').unwrap();
    BundleImage {
        name: repository.rsplit('/').next().unwrap().to_owned(),
        version: tag.trim_start_matches('v').to_owned(),
        architecture: architecture.to_owned(),
        path: format!("images/{repository}/{tag}-linux-{architecture}.tar"),
        size: 4,
        sha256: digest('b'),
        reference: reference.to_owned(),
        manifest_digest: format!("sha256:{}", digest('c')),
        lacks: Vec::new(),
    }
}

fn bundle() -> Bundle {
    let images = BTreeMap::from([("pause".to_owned(), "registry.k8s.io/pause:3.10.2".to_owned())]);
    Bundle {
        format: FORMAT,
        kubernetes: vec![KubernetesRelease { version: "1.37.1".to_owned(), images }],
        files: vec![file("kubeadm", "1.37.1", "amd64"), file("runc", "1.5.2", "amd64")],
        images: vec![image("registry.k8s.io/pause:3.10.2", "amd64")],
        packages: vec![packages("debian-12", "amd64")],
    }
}

fn packages(distribution: &str, architecture: &str) -> BundlePackages {
    let suite = PackageSuite {
        archive: "deb.debian.org/debian".to_owned(),
        suite: "bookworm".to_owned(),
        components: vec!["main".to_owned()],
        sha256: digest('d'),
    };
    let package = BundlePackage {
        name: "chrony".to_owned(),
        version: "4.3-2".to_owned(),
        path: "deb.debian.org/debian/pool/main/c/chrony/chrony_4.3-2_amd64.deb".to_owned(),
        size: 5,
        sha256: digest('e'),
    };
    BundlePackages {
        distribution: distribution.to_owned(),
        architecture: architecture.to_owned(),
        path: BundlePackages::path_of(distribution, architecture),
        size: 6,
        sha256: digest('f'),
        names: vec!["chrony".to_owned()],
        suites: vec![suite],
        packages: vec![package],
    }
}

fn parse(bundle: &Bundle) -> Result<Bundle, BundleError> {
    Bundle::parse(&serde_json::to_string(bundle).unwrap())
}

#[test]
fn a_good_index_survives_writing_and_reading() {
    assert_eq!(parse(&bundle()).unwrap(), bundle());
}

#[test]
fn a_newer_format_is_told_before_its_unknown_fields() {
    let error = Bundle::parse(r#"{"format": 2, "something": "new"}"#).unwrap_err();
    assert_eq!(error, BundleError::NewerFormat { found: 2 });
    assert!(error.to_string().contains("newer program"), "{error}");
}

#[test]
fn syntax_errors_and_unknown_fields_say_where() {
    for text in ["", "{", "[]", r#"{"format": 1, "files": [], "images": [], "kubernetes": [], "more": 1}"#] {
        let error = Bundle::parse(text).unwrap_err();
        assert!(matches!(error, BundleError::Syntax { .. }), "{error}");
        assert!(error.to_string().contains("line"), "{error}");
    }
}

#[test]
fn paths_that_leave_the_bundle_are_refused() {
    for path in ["/etc/passwd", "files/../../x", "..", "", "files//x", "./x", "files\\..\\x", "bundle.json"] {
        let mut bad = bundle();
        bad.files[1].path = path.to_owned();
        let error = parse(&bad).unwrap_err();
        assert!(matches!(error, BundleError::Path { .. }), "{path}: {error}");
        assert!(error.to_string().contains("runc 1.5.2"), "{error}");
        let mut bad = bundle();
        bad.images[0].path = path.to_owned();
        assert!(matches!(parse(&bad).unwrap_err(), BundleError::Path { .. }), "{path}");
    }
    let mut bad = bundle();
    bad.files[1].contents = vec![ArchiveEntry { path: "../bin/runc".to_owned(), size: 1, sha256: digest('d') }];
    assert!(matches!(parse(&bad).unwrap_err(), BundleError::Path { .. }));
}

#[test]
fn digests_must_be_digests() {
    for value in [String::new(), digest('A'), digest('g'), "ab".to_owned(), format!("sha256:{}", digest('a'))] {
        let mut bad = bundle();
        bad.files[0].sha256 = value.clone();
        assert!(matches!(parse(&bad).unwrap_err(), BundleError::Digest { .. }), "{value}");
    }
    let mut bad = bundle();
    bad.images[0].manifest_digest = digest('c');
    assert!(matches!(parse(&bad).unwrap_err(), BundleError::Digest { .. }));
}

#[test]
fn nothing_stands_there_twice() {
    let mut bad = bundle();
    bad.files.push(BundleFile { path: "files/other".to_owned(), ..file("runc", "1.5.2", "amd64") });
    assert!(matches!(parse(&bad).unwrap_err(), BundleError::Duplicate { entry } if entry.contains("runc 1.5.2")));
    let mut bad = bundle();
    bad.files[1].path = bad.files[0].path.clone();
    assert!(matches!(parse(&bad).unwrap_err(), BundleError::Duplicate { entry } if entry.contains("path")));
    let mut bad = bundle();
    bad.images.push(BundleImage { path: "images/other".to_owned(), ..bad.images[0].clone() });
    assert!(matches!(parse(&bad).unwrap_err(), BundleError::Duplicate { entry } if entry.contains("pause")));
    let mut bad = bundle();
    bad.kubernetes.push(bad.kubernetes[0].clone());
    assert!(matches!(parse(&bad).unwrap_err(), BundleError::Duplicate { entry } if entry.contains("Kubernetes")));
}

#[test]
fn a_release_needs_its_images_for_every_architecture_of_its_kubeadm() {
    let mut bad = bundle();
    bad.images.clear();
    let error = parse(&bad).unwrap_err();
    assert!(error.to_string().contains("registry.k8s.io/pause:3.10.2"), "{error}");
    let mut bad = bundle();
    bad.files.push(file("kubeadm", "1.37.1", "arm64"));
    assert!(matches!(parse(&bad).unwrap_err(), BundleError::Dangling { architecture, .. } if architecture == "arm64"));
    bad.images.push(image("registry.k8s.io/pause:3.10.2", "arm64"));
    assert!(parse(&bad).is_ok());
}

#[test]
fn lookups_find_or_say_what_there_is() {
    let mut bundle = bundle();
    bundle.files.push(file("runc", "1.10.0", "amd64"));
    assert_eq!(bundle.file("runc", "1.5.2", "amd64").unwrap().version, "1.5.2");
    assert_eq!(bundle.image("registry.k8s.io/pause:3.10.2", "amd64").unwrap().name, "pause");
    assert_eq!(bundle.release("1.37.1").unwrap().images.len(), 1);
    let missing =
        [bundle.file("runc", "1.4.0", "amd64").unwrap_err().to_string(), bundle.file("runc", "1.5.2", "arm64").unwrap_err().to_string()];
    assert!(missing.iter().all(|text| text.contains("1.5.2 for amd64, 1.10.0 for amd64")), "{missing:?}");
    assert!(bundle.file("crictl", "1", "amd64").unwrap_err().to_string().contains("none of it"));
    assert!(bundle.image("registry.k8s.io/pause:3.9", "amd64").unwrap_err().to_string().contains("pause:3.10.2"));
    assert!(bundle.release("1.36.3").unwrap_err().to_string().contains("1.37.1"));
}

#[test]
fn versions_and_entries_are_ordered_by_number() {
    let mut bundle = bundle();
    bundle.files.insert(0, file("runc", "1.10.0", "amd64"));
    bundle.files.push(file("runc", "1.5.2", "arm64"));
    let newest = |name: &str, architecture: &str| bundle.newest_file(name, architecture).map(|file| file.version.clone());
    assert_eq!(newest("runc", "amd64").as_deref(), Some("1.10.0"));
    assert_eq!(newest("runc", "arm64").as_deref(), Some("1.5.2"), "what another architecture has does not count");
    assert_eq!(newest("crictl", "amd64"), None);
    assert_eq!(bundle.newest_image("pause", "amd64").map(|image| image.version.as_str()), Some("3.10.2"));
    bundle.sort();
    let order: Vec<_> = bundle.files.iter().map(|file| (file.name.as_str(), file.version.as_str(), file.architecture.as_str())).collect();
    assert_eq!(
        order,
        [("kubeadm", "1.37.1", "amd64"), ("runc", "1.5.2", "amd64"), ("runc", "1.5.2", "arm64"), ("runc", "1.10.0", "amd64")]
    );
}

#[test]
fn what_only_dropped_releases_need_is_left_out() {
    let mut bundle = bundle();
    let images = [
        ("pause", "registry.k8s.io/pause:3.10.2"),
        ("etcd", "registry.k8s.io/etcd:3.6.8-0"),
        ("coredns", "registry.k8s.io/coredns:v1.12.1"),
    ];
    let images: BTreeMap<String, String> = images.map(|(name, reference)| (name.to_owned(), reference.to_owned())).into();
    bundle.images.extend([
        image("registry.k8s.io/etcd:3.6.8-0", "amd64"),
        image("registry.k8s.io/coredns:v1.12.1", "amd64"),
        image("ghcr.io/flannel:v0.27.0", "amd64"),
    ]);
    bundle.kubernetes.insert(0, KubernetesRelease { version: "1.36.3".to_owned(), images });
    bundle.kubernetes[1].images.insert("etcd".to_owned(), "registry.k8s.io/etcd:3.7.0-0".to_owned());
    bundle.images.push(image("registry.k8s.io/etcd:3.7.0-0", "amd64"));
    for (name, version) in [("kubeadm", "1.36.3"), ("kubelet", "1.36.3"), ("etcd", "3.6.8"), ("etcd", "3.7.0"), ("runc", "1.4.0")] {
        bundle.files.push(file(name, version, "amd64"));
    }
    bundle.check().unwrap();
    let kept = bundle.keeping(&["1.37.1".to_owned()]).unwrap();
    kept.check().unwrap();
    let files: Vec<String> = kept.files.iter().map(|file| format!("{} {}", file.name, file.version)).collect();
    assert_eq!(files, ["kubeadm 1.37.1", "runc 1.5.2", "etcd 3.7.0", "runc 1.4.0"], "a cluster's file may name the older runc");
    let images: Vec<&str> = kept.images.iter().map(|image| image.reference.as_str()).collect();
    assert_eq!(images, ["registry.k8s.io/pause:3.10.2", "ghcr.io/flannel:v0.27.0", "registry.k8s.io/etcd:3.7.0-0"]);
    assert_eq!(bundle.keeping(&["1.37.1".to_owned(), "1.36.3".to_owned()]).unwrap(), bundle);
    assert!(bundle.keeping(&["1.35.0".to_owned()]).unwrap_err().to_string().contains("1.36.3"));
}

#[test]
fn packages_are_left_out_where_there_are_none_and_lead_nowhere_else() {
    let none = Bundle { packages: Vec::new(), ..bundle() };
    assert!(!serde_json::to_string(&none).unwrap().contains("packages"), "a program that does not know them reads it");
    assert!(bundle().packages_of("debian-12", "amd64").is_some() && bundle().packages_of("debian-12", "arm64").is_none());
    type Change = fn(&mut BundlePackages);
    let wrong: [(Change, &str); 6] = [
        (|held| held.path = "../x.tar".to_owned(), "\"../x.tar\" is not a plain relative path"),
        (|held| held.packages[0].path = "deb.debian.org/../x.deb".to_owned(), "\"deb.debian.org/../x.deb\" is not a plain relative path"),
        (|held| held.suites[0].archive = "deb.debian.org/$(id)".to_owned(), "$(id)"),
        (|held| held.suites[0].suite = "bookworm main\ndeb [trusted=yes] http://x".to_owned(), "trusted"),
        (|held| held.names[0] = "chrony; id".to_owned(), "\"chrony; id\" is no name"),
        (|held| held.sha256 = "1".to_owned(), "is not a sha256"),
    ];
    for (change, told) in wrong {
        let mut bundle = bundle();
        change(&mut bundle.packages[0]);
        let error = parse(&bundle).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let mut twice = bundle();
    twice.packages.push(packages("debian-12", "amd64"));
    assert!(parse(&twice).unwrap_err().to_string().contains("stands there twice"));
}
