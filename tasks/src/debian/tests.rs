#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

const SUM: &str = "9a654c21a035edc55b422292960320bcdc3b9351a35d48fccd42359f2cf130a8";

fn in_release() -> String {
    format!(
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: Debian\nSuite: oldstable-security\nCodename: bookworm-security\n\
         Valid-Until: Sat, 18 Jul 2026 10:16:37 UTC\nAcquire-By-Hash: yes\nMD5Sum:\n 0ed6d4c8891eb86358b94bb35d9e4da4 12 main/binary-amd64/Packages.xz\n\
         SHA256:\n {SUM}  2531138 main/binary-amd64/Packages.xz\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n"
    )
}

/// Friday, 17 July 2026.
const BEFORE: i64 = 1_784_246_400;

#[test]
fn a_signed_release_names_its_lists() {
    let release = Release::parse(&in_release(), "bookworm-security", BEFORE).unwrap();
    let (path, address, sha256, size) = release.list("main", "amd64").unwrap();
    assert_eq!((path.as_str(), sha256, size), ("main/binary-amd64/Packages.xz", SUM, 2_531_138), "of sha256, and not of MD5");
    assert_eq!(address, format!("main/binary-amd64/by-hash/SHA256/{SUM}"), "where it stays when newer ones come");
    assert_eq!(release.list("main", "arm64"), Err(ArchiveError::NoList { list: "main/binary-arm64/Packages.xz".to_owned() }));
    let plain = in_release().replace("Acquire-By-Hash: yes\n", "");
    let plain = Release::parse(&plain, "oldstable-security", BEFORE).unwrap();
    assert_eq!(plain.list("main", "amd64").unwrap().1, path);
}

#[test]
fn a_release_that_is_unsigned_old_or_of_another_suite_is_refused() {
    let told = |from: &str, to: &str, suite: &str, now: i64| {
        assert!(in_release().contains(from), "{from}");
        Release::parse(&in_release().replace(from, to), suite, now).unwrap_err().to_string()
    };
    let suite = "bookworm-security";
    assert!(told("-----BEGIN PGP SIGNED MESSAGE-----\n", "", suite, BEFORE).contains("not signed"));
    assert!(told("-----BEGIN PGP SIGNATURE-----\n", "", suite, BEFORE).contains("not signed"));
    assert!(told("-----END PGP SIGNATURE-----\n", "", suite, BEFORE).contains("not signed"), "it was cut");
    assert!(told("", "", "bookworm", BEFORE).contains("bookworm-security (oldstable-security), and not of bookworm"));
    assert!(told("", "", suite, BEFORE + 3 * 86_400).contains("18 Jul 2026"));
    assert!(told("10:16:37 UTC", "some day", suite, BEFORE).contains("some day"), "what can't be read does not hold for ever");
    // What stands behind the signature nobody has signed.
    let added = in_release() + &format!("SHA256:\n {} 1 evil/binary-amd64/Packages.xz\n", SUM.replace('9', "8"));
    assert!(Release::parse(&added, suite, BEFORE).unwrap().list("evil", "amd64").is_err());
}

fn deb(name: &str, others: &str) -> String {
    format!("Package: {name}\nVersion: 1-1\n{others}Filename: pool/{name}_1-1_amd64.deb\nSize: 12\nSHA256: {}\n", sum(name))
}

fn sum(name: &str) -> String {
    crate::digest::sha256(name.as_bytes())
}

fn names(debs: &[String], wanted: &[&str]) -> Result<Vec<String>, ArchiveError> {
    let debs: Vec<Deb> = debs.iter().map(|text| Deb::parse(text).unwrap()).collect();
    let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    closure(&debs, &wanted).map(|taken| taken.iter().map(|deb| format!("{} {}", deb.name, deb.version)).collect())
}

#[test]
fn what_is_needed_comes_along_and_what_every_host_has_does_not() {
    let debs = [
        deb(
            "chrony",
            "Pre-Depends: init-system-helpers (>= 1.54~)\nDepends: libc6 (>= 2.34), debconf (>= 0.5) | debconf-2.0, mawk | awk:any, tz | zones\n",
        ),
        deb("init-system-helpers", "Essential: yes\nDepends: never\n"),
        deb("libc6", "Depends: libgcc-s1\n"),
        deb("libgcc-s1", "Depends: libc6\n"),
        deb("debconf-kde", "Provides: debconf-2.0\n"),
        deb("debconf", "Priority: required\n"),
        deb("gawk", "Provides: awk (= 1)\n"),
        deb("tzdata", "Provides: zones\n"),
        deb("never", ""),
    ];
    assert_eq!(names(&debs, &["chrony"]).unwrap(), ["chrony 1-1", "gawk 1-1", "libc6 1-1", "libgcc-s1 1-1", "tzdata 1-1"]);
    assert_eq!(names(&debs, &["debconf"]).unwrap(), Vec::<String>::new());
    assert_eq!(names(&debs, &["ntp"]), Err(ArchiveError::NoPackage { name: "ntp".to_owned() }));
}

/// As perl-base is, of which perl needs its own version, which a host that was installed earlier may not have.
#[test]
fn what_every_host_has_comes_along_where_one_version_of_it_is_needed() {
    let base = deb("perl-base", "Essential: yes\nPre-Depends: libc6 (>= 2.35)\n");
    let debs = [deb("perl", "Depends: perl-base (= 1-1), dpkg (>= 1.20.6)\n"), base, deb("dpkg", "Essential: yes\n"), deb("libc6", "")];
    assert_eq!(names(&debs, &["perl"]).unwrap(), ["libc6 1-1", "perl 1-1", "perl-base 1-1"]);
}

#[test]
fn every_version_of_the_lists_comes_along_with_what_it_needs() {
    let newer = deb("openssl", "Depends: libssl3\n").replace("1-1", "1-1+deb12u2").replace(&sum("openssl"), &sum("newer"));
    let debs = [deb("openssl", "Depends: libssl2\n"), newer.clone(), newer, deb("libssl2", ""), deb("libssl3", "")];
    let expected = ["libssl2 1-1", "libssl3 1-1", "openssl 1-1", "openssl 1-1+deb12u2"];
    assert_eq!(names(&debs, &["openssl"]).unwrap(), expected, "apt decides which of them is newer");
}

#[test]
fn a_package_that_leads_elsewhere_is_none() {
    assert!(Deb::parse(&deb("a", "")).is_some());
    for (from, to) in [
        ("pool/", "pool/../../"),
        ("pool/", "/pool/"),
        ("pool/", "pool/$(id)/"),
        ("Package: a", "Package: a b"),
        ("Version: 1-1", "Version: 1;1"),
        ("SHA256: ", "SHA256: 0"),
        ("Size: 12", "Size: twelve"),
    ] {
        assert!(deb("a", "").contains(from), "{from}");
        assert_eq!(Deb::parse(&deb("a", "").replace(from, to)), None, "{to}");
    }
}
