//! Packages of a distribution, from an archive in small.

use std::io::Write as _;

use kok_tasks::catalog::{ArchiveSource, PackagesItem};
use kok_tasks::digest::sha256;

use super::support::{Heard, Upstream, UpstreamFault};
use super::*;

const DEB: &[u8] = b"!<arch>\nchrony\n";
const LIBRARY: &[u8] = b"!<arch>\nlibc6\n";
const IN_RELEASE: &str = "/debian/dists/bookworm/InRelease";

fn item() -> PackagesItem {
    let archive = ArchiveSource {
        address: "https://deb.debian.org/debian".to_owned(),
        architectures: std::collections::BTreeSet::new(),
        suites: vec!["bookworm".to_owned()],
        components: vec!["main".to_owned()],
    };
    PackagesItem {
        distribution: "debian-12".to_owned(),
        architecture: "amd64".to_owned(),
        packages: vec!["chrony".to_owned()],
        archives: vec![archive],
    }
}

/// An archive whose `InRelease` was made on this day. Returns where the list is.
fn publish(upstream: &Upstream, day: &str) -> String {
    let stanza = |name: &str, more: &str, content: &[u8]| {
        let (size, sum) = (content.len(), sha256(content));
        format!("Package: {name}\nVersion: 1-1\n{more}Filename: pool/{name}_1-1_amd64.deb\nSize: {size}\nSHA256: {sum}\n\n")
    };
    let text = stanza("chrony", "Depends: libc6, base-files\n", DEB)
        + &stanza("libc6", "", LIBRARY)
        + &stanza("base-files", "Essential: yes\n", b"");
    let mut list = liblzma::write::XzEncoder::new(Vec::new(), 0);
    list.write_all(text.as_bytes()).unwrap();
    let list = list.finish().unwrap();
    let sum = sha256(&list);
    let release = format!(
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nCodename: bookworm\nDate: {day}\nAcquire-By-Hash: yes\nSHA256:\n {sum} {} \
         main/binary-amd64/Packages.xz\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n",
        list.len()
    );
    let by_hash = format!("/debian/dists/bookworm/main/binary-amd64/by-hash/SHA256/{sum}");
    upstream.serve(&by_hash, list);
    upstream.serve(IN_RELEASE, release.into_bytes());
    upstream.serve("/debian/pool/chrony_1-1_amd64.deb", DEB.to_vec());
    upstream.serve("/debian/pool/libc6_1-1_amd64.deb", LIBRARY.to_vec());
    by_hash
}

async fn fetch_packages(upstream: &Upstream, folder: &Path) -> Result<Fetched, Vec<Failure>> {
    upstream.fetch_these(vec![Item::Packages(item())], folder, Arc::new(Heard::default())).await
}

#[tokio::test]
async fn lists_and_packages_become_an_archive_that_is_made_anew_when_there_are_newer_lists() {
    let upstream = Upstream::start().await;
    publish(&upstream, "today");
    let folder = tempfile::tempdir().unwrap();
    let fetched = fetch_packages(&upstream, folder.path()).await.unwrap();
    assert_eq!((fetched.items, fetched.bytes), (1, (DEB.len() + LIBRARY.len()) as u64));
    let held = fetched.bundle.packages_of("debian-12", "amd64").unwrap();
    let names: Vec<&str> = held.packages.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(names, ["chrony", "libc6"]);
    let mut archive = tar::Archive::new(std::fs::File::open(folder.path().join(&held.path)).unwrap());
    let paths: Vec<String> = archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
    let of_archive = |path: &str| format!("deb.debian.org/debian/{path}");
    let expected = [
        "dists/bookworm/InRelease",
        "dists/bookworm/main/binary-amd64/Packages.xz",
        "pool/chrony_1-1_amd64.deb",
        "pool/libc6_1-1_amd64.deb",
    ];
    assert_eq!(paths, expected.map(of_archive));
    let opened = BundleFolder::open(folder.path()).unwrap();
    opened.verify(opened.bundle().artifacts().collect::<Vec<_>>().iter()).unwrap();
    let asked = upstream.requests().len();
    let again = fetch_packages(&upstream, folder.path()).await.unwrap();
    assert_eq!((again.items, upstream.requests().len()), (0, asked + 1), "it is asked for newer lists, and for no more");
    publish(&upstream, "tomorrow");
    let newer = fetch_packages(&upstream, folder.path()).await.unwrap();
    assert_eq!(newer.items, 1);
    assert_ne!(newer.bundle.packages[0].suites, held.suites);
}

#[tokio::test]
async fn what_is_not_as_the_link_before_says_is_refused() {
    let upstream = Upstream::start().await;
    let list = publish(&upstream, "today");
    let other = || UpstreamFault::Other(b"something else".to_vec());
    for (path, what, because) in [
        (IN_RELEASE, "packages of debian-12 for amd64 can't be fetched", "not signed"),
        (list.as_str(), "packages of debian-12 for amd64 can't be fetched", "has to be"),
        ("/debian/pool/chrony_1-1_amd64.deb", "package chrony 1-1 of debian-12 can't be fetched", "has to be"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        upstream.always(path, other());
        let failures = fetch_packages(&upstream, folder.path()).await.unwrap_err();
        let told = failures[0].because.clone().unwrap_or_default();
        assert!(failures[0].what == what && told.contains(because), "{path}: {:?}", failures[0]);
        assert!(!folder.path().join("packages").exists(), "nothing of it stays");
        upstream.heal();
        assert_eq!(fetch_packages(&upstream, folder.path()).await.unwrap().items, 1, "{path}");
    }
}
