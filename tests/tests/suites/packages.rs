//! Packages for closed sites: Debian's own signed lists and packages by way of a bundle, onto a host that has no source of them.

use std::fs;
use std::path::{Path, PathBuf};

use kok_tasks::bundle::Bundle;
use kok_tasks::digest::sha256;
use kok_tests::lab::Host;
use kok_tests::release::mirror::DISTRIBUTION;
use kok_tests::upstream::index_of;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{hosts, ok, site, up};

/// What a minimal installation lacks; the packages that they need go with them.
const LACKS: &str = "chrony nftables libnftables1 iptables libip6tc2";
/// What there is of a package manager's own.
const OWN: &str = "find /etc/apt /var/lib/apt/lists /var/cache/apt -type f | sort | xargs -r sha256sum";
const COMMANDS: &str = "for it in chronyc nft iptables; do command -v $it || :; done";
const TASKS: &str = "host,packages";

/// A bundle from the server that stands for upstream.
struct Site<'a> {
    kokctl: &'a Kokctl<'a>,
    folder: PathBuf,
}

impl Site<'_> {
    fn create(&self, faults: &[&str]) -> KokctlOutput {
        site::of_packages(&self.folder, faults)
    }

    fn write_index(&self, index: &Bundle) {
        site::write_index(&self.folder, index);
    }

    fn apply(&self) -> KokctlOutput {
        self.kokctl.verb("apply", &["--only", TASKS, "--bundle", self.folder.to_str().unwrap()])
    }

    fn archive(&self) -> PathBuf {
        self.folder.join(&index_of(&self.folder).unwrap().packages[0].path)
    }

    /// Puts other bytes into a file of the archive, with an index that is right about it. They are as many, so that the tar stays one.
    fn replace(&self, file: &str, (old, new): (&str, &str)) {
        let mut bytes = fs::read(self.archive()).unwrap();
        let find = |bytes: &[u8], text: &str| bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
        let begin = find(&bytes, file);
        let at = begin + find(&bytes[begin..], old);
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
        self.write(&bytes);
    }

    fn write(&self, bytes: &[u8]) {
        fs::write(self.archive(), bytes).unwrap();
        let mut index = index_of(&self.folder).unwrap();
        index.packages[0].sha256 = sha256(bytes);
        self.write_index(&index);
    }
}

#[test]
fn a_host_without_a_source_gets_its_packages_out_of_the_bundle() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    let host = &hosts(&lab)[0];
    ok(host, &format!("DEBIAN_FRONTEND=noninteractive apt-get -q -y purge {LACKS} >/dev/null 2>&1 && rm -f /var/lib/apt/extended_states"));
    assert_eq!(ok(host, COMMANDS), "", "it lacks them");
    let (own, mut clock) = (ok(host, OWN), Clock::start());
    let site = Site { kokctl: &kokctl, folder: kokctl.folder().join("site") };
    what_is_not_debians_is_not_fetched(&site);
    clock.lap("a package that is not Debian's is refused");
    let said = site.create(&[]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    clock.lap("packages are fetched");
    is_whole(&site);
    site::complete(&site.folder);
    what_was_tampered_with_is_refused(&site, host);
    clock.lap("what was tampered with is refused");
    let said = site.apply();
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("installs them from the bundle"), "{}", said.stderr);
    assert_eq!(ok(host, COMMANDS).lines().count(), 3);
    assert_eq!(ok(host, "dpkg --audit; systemctl is-enabled chrony.service"), "enabled", "each is installed as a whole");
    assert_eq!((ok(host, OWN), left(host).as_str()), (own, ""), "its own sources are as they were, and nothing is left");
    clock.lap("packages are installed");
    let said = site.apply();
    assert!(said.code == 0 && said.stdout.starts_with("nothing to do"), "{}\n{}", said.stdout, said.stderr);
}

fn left(host: &Host) -> String {
    ok(host, "find /var/lib/kokctl -maxdepth 1 -name '*packages*'")
}

fn what_is_not_debians_is_not_fetched(site: &Site<'_>) {
    let said = site.create(&["--fault", "/c/chrony/=wrong"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("error: package chrony ") && said.stderr.contains("and has to be"), "{}", said.stderr);
    assert!(index_of(&site.folder).unwrap().packages.is_empty());
}

fn is_whole(site: &Site<'_>) {
    let held = index_of(&site.folder).unwrap().packages.remove(0);
    let names: Vec<&str> = held.packages.iter().map(|package| package.name.as_str()).collect();
    assert!(["chrony", "libnftables1", "openssl"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!names.contains(&"base-files") && !names.contains(&"debconf"), "every Debian has these: {names:?}");
    let folder = site.folder.to_str().unwrap();
    let said = site.kokctl.run(&["bundle", "verify", folder]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let said = site.kokctl.run(&["bundle", "list", folder]);
    assert!(said.stdout.contains(&format!("packages     {DISTRIBUTION}")) && said.stdout.contains(" chrony "), "{}", said.stdout);
    assert!(fs::read_to_string(Path::new(folder).join("sbom.spdx.json")).unwrap().contains("pkg:deb/debian/chrony@"));
    let again = site.create(&[]);
    assert!(again.code == 0 && again.stderr.contains("holds all of it already"), "{}", again.stderr);
}

/// By the bundle's index before the host is touched; where that is of the same hand, by the host's own apt and its keyring.
fn what_was_tampered_with_is_refused(site: &Site<'_>, host: &Host) {
    let good = fs::read(site.archive()).unwrap();
    let mut other = good.clone();
    other[good.len() / 2] ^= 1;
    fs::write(site.archive(), &other).unwrap();
    let said = site.apply();
    assert!(said.code == 2 && said.stderr.contains("packages of debian-12 for") && said.stderr.contains("is corrupted"), "{}", said.stderr);
    assert_eq!(ok(host, "ls -A /var/lib/kokctl 2>/dev/null || :"), "", "nothing was changed");
    let list = ("dists/bookworm/InRelease", ("Origin: Debian\n", "Origin: Debiam\n"), "signatures were invalid: BADSIG");
    let package = ("pool/main/c/chrony/", ("debian-binary", "debian-binarY"), "Hash Sum mismatch");
    for (file, change, told) in [list, package] {
        site.write(&good);
        site.replace(file, change);
        let said = site.apply();
        assert!(said.code != 0 && said.stderr.contains(told), "{file}: {}\n{}", said.stdout, said.stderr);
        assert_eq!((ok(host, COMMANDS).as_str(), left(host).as_str()), ("", ""), "{file}: nothing of it is installed or left");
    }
    site.write(&good);
}
