#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kok_crds::model::Cluster;
use kok_pki::{Authorities, AuthorityKind, Policy, escrow};
use time::OffsetDateTime;

use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::randomness::SystemRandomness;

const CLUSTER: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n  certificates:\n    escrow: berlin.escrow\n";

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
}

/// The cluster, or all that is wrong as one text.
fn read(folder: &Path, more: &str) -> Result<Cluster, String> {
    write(folder, "cluster.yaml", &format!("{CLUSTER}{more}"));
    let files = ClusterFiles { files: vec![folder.join("cluster.yaml")], ..Default::default() };
    let read = files.whole(&ExtraVars::default()).map(|(_, cluster)| cluster);
    read.map_err(|failures| failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn authorities() -> Authorities {
    Authorities::generate(&Policy::default(), OffsetDateTime::now_utc(), &mut SystemRandomness).unwrap()
}

#[test]
fn what_is_kept_is_known_and_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read(folder.path(), "").unwrap().settings.certificates.escrow.unwrap().kept.is_none());
    let made = authorities();
    write(folder.path(), "berlin.escrow", escrow("berlin", &made, &[]).expose());
    let cluster = read(folder.path(), "").unwrap();
    let body = made.get(AuthorityKind::Etcd).key_pem().unwrap().expose().lines().nth(1).unwrap();
    assert!(!format!("{cluster:?}").contains(body), "a key is printed");
    let kept = cluster.settings.certificates.escrow.unwrap().kept.unwrap();
    assert!(String::from_utf8_lossy(kept.expose()).contains(body));
    write(folder.path(), "berlin.escrow", escrow("hamburg", &made, &[]).expose());
    let said = read(folder.path(), "").unwrap_err();
    assert!(said.contains("keys of the cluster `hamburg`") && said.contains("cluster.yaml:8:"), "{said}");
}

#[test]
fn authorities_of_ones_own_are_those_that_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, other) = (authorities(), authorities());
    write(folder.path(), "berlin.escrow", escrow("berlin", &kept, &[]).expose());
    for (made, is_right) in [(&kept, true), (&other, false)] {
        let etcd = made.get(AuthorityKind::Etcd);
        write(folder.path(), "a.crt", etcd.certificate_pem());
        write(folder.path(), "a.key", etcd.key_pem().unwrap().expose());
        match read(folder.path(), "    authorities: {etcd: {certificate: a.crt, key: a.key}}\n") {
            Ok(_) => assert!(is_right),
            Err(said) => {
                assert!(!is_right && said.contains("the authority `etcd` is not the one that is kept"), "{said}");
                assert!([&kept, &other].iter().all(|it| said.contains(&it.get(AuthorityKind::Etcd).facts().sha256)), "{said}");
            }
        }
    }
}
