#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kok_crds::model::Cluster;
use kok_pki::{Authority, AuthorityKind, KeyAlgorithm, Policy};
use time::{Duration, OffsetDateTime};

use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::randomness::SystemRandomness;

const CLUSTER: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n  certificates:\n    authorities:\n";

fn make(folder: &Path, name: &str, policy: &Policy, ago: Duration) -> Authority {
    let now = OffsetDateTime::now_utc() - ago;
    let authority = Authority::generate(AuthorityKind::Etcd, policy, now, &mut SystemRandomness).unwrap();
    write(folder, &format!("{name}.crt"), authority.certificate_pem(), 0o644);
    write(folder, &format!("{name}.key"), authority.key_pem().unwrap().expose(), 0o600);
    authority
}

fn write(folder: &Path, name: &str, text: &str, mode: u32) {
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// The cluster, or all that is wrong as one text.
fn read(folder: &Path, authorities: &str) -> Result<Cluster, String> {
    write(folder, "cluster.yaml", &format!("{CLUSTER}{authorities}"), 0o644);
    let failures = match (ClusterFiles { files: vec![folder.join("cluster.yaml")], ..Default::default() }
        .whole(&ExtraVars::default())
        .map(|(_, cluster)| cluster))
    {
        Ok(cluster) => return Ok(cluster),
        Err(failures) => failures,
    };
    Err(failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn authorities_are_taken_from_files_beside_the_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let rsa = Policy { algorithm: KeyAlgorithm::Rsa2048, ..Policy::default() };
    let made = make(folder.path(), "a", &rsa, Duration::ZERO);
    let cluster = read(folder.path(), "      etcd: {certificate: a.crt, key: a.key}\n").unwrap();
    let [own] = <[_; 1]>::try_from(cluster.settings.certificates.authorities.clone()).unwrap_or_else(|_| panic!("not one"));
    let pair = own.pair.unwrap();
    assert!(pair.certificate == made.certificate_pem() && pair.key.unwrap().expose() == made.key_pem().unwrap().expose().as_bytes());
    let body = made.key_pem().unwrap().expose().lines().nth(1).unwrap();
    assert!(!format!("{cluster:?}").contains(body), "a key is printed");
}

#[test]
fn what_could_not_sign_for_a_cluster_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let of_folder = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    make(folder, "a", &Policy::default(), Duration::ZERO);
    make(folder, "b", &Policy::default(), Duration::ZERO);
    make(folder, "old", &Policy { authority_validity: Duration::days(2), ..Policy::default() }, Duration::days(9));
    make(folder, "young", &Policy::default(), Duration::days(-9));
    write(folder, "chain.crt", &(of_folder("a.crt") + &of_folder("b.crt")), 0o644);
    write(folder, "open.key", &of_folder("a.key"), 0o640);
    write(folder, "other.key", &of_folder("a.crt"), 0o600);
    write(folder, "none.crt", "", 0o644);
    for (certificate, key, said) in [
        ("a.crt", "b.key", "don't belong together"),
        ("old.crt", "old.key", "has expired"),
        ("young.crt", "young.key", "not valid yet"),
        ("chain.crt", "a.key", "controller manager takes a file with one"),
        ("a.crt", "open.key", "0640"),
        ("a.crt", "other.key", "cannot read the private key"),
        ("none.crt", "a.key", "no complete PEM block"),
        ("a.crt", "missing.key", "missing.key: No such file"),
    ] {
        let text = read(folder, &format!("      etcd: {{certificate: {certificate}, key: {key}}}\n")).unwrap_err();
        assert!(text.contains(said) && text.contains("cluster.yaml:9:"), "{certificate}, {key}: {text}");
        assert!(!text.contains(of_folder("a.key").lines().nth(1).unwrap()), "a key is printed");
    }
}

#[test]
fn one_authority_has_one_purpose() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "a", &Policy::default(), Duration::ZERO);
    let twice = "      etcd: {certificate: a.crt, key: a.key}\n      kubernetes: {certificate: a.crt, key: a.key}\n";
    let text = read(folder.path(), twice).unwrap_err();
    assert!(text.contains("`kubernetes` and `etcd` are the same authority"), "{text}");
}

/// Text in the cluster's file itself makes that file as private as a key's.
#[test]
fn a_file_that_holds_a_key_is_not_open_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let made = make(folder.path(), "a", &Policy::default(), Duration::ZERO);
    let indented = |text: &str| text.lines().map(|line| format!("          {line}\n")).collect::<String>();
    let (certificate, key) = (indented(made.certificate_pem()), indented(made.key_pem().unwrap().expose()));
    let inline = format!("      etcd:\n        certificate: |\n{certificate}        key: |\n{key}");
    let text = read(folder.path(), &inline).unwrap_err();
    assert!(text.contains("is open to others") && text.contains("cluster.yaml is 0644"), "{text}");
}
