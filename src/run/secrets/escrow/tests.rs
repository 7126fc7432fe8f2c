#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::path::Path;

use kok_crds::{File, Role, read_input};
use kok_pki::{FoundAuthority, Policy};
use time::Duration;

use super::*;
use crate::run::SystemRandomness;

const CLUSTER: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n  certificates: {escrow: berlin.escrow}\n";

const NONE: Keepers<'static> = Keepers { control_plane: None, etcd: None, encryption: None };
const CP1: Keepers<'static> = Keepers { control_plane: Some("cp1"), etcd: Some("cp1"), encryption: None };
const WITHOUT_ETCD: Keepers<'static> = Keepers { control_plane: Some("cp1"), etcd: None, encryption: None };

fn cluster(folder: &Path, text: &str) -> Cluster {
    let name = folder.join("cluster.yaml").to_string_lossy().into_owned();
    let input = read_input(&[File { name, text: text.to_owned(), role: Role::Main { cluster: None } }]);
    input.cluster.unwrap_or_else(|| panic!("{:?}", input.problems))
}

fn authorities(made: OffsetDateTime) -> Authorities {
    Authorities::generate(&Policy::default(), made, &mut SystemRandomness).unwrap()
}

fn key(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_owned())
}

fn same(found: FoundAuthorities, authorities: &Authorities) -> bool {
    let pem = |found: Option<FoundAuthority>| found.map(|(certificate, _)| certificate);
    pem(found.etcd).as_deref() == Some(authorities.get(AuthorityKind::Etcd).certificate_pem())
        && found.service_account.is_some_and(|key| key.expose() == authorities.service_account().pem().expose())
}

/// As two runs see it, of which the first dies before any host knows of it.
#[tokio::test]
async fn the_next_run_takes_what_this_one_has_made() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now);
    let mut first = Escrowed::read(&cluster).unwrap();
    assert!(first.found(NONE, now).unwrap().etcd.is_none() && first.encryption_key().is_none());
    first.uses(key("a2V5"));
    assert_eq!(first.keep(&made, NONE, &Links::new()).await.unwrap(), Some(folder.path().join("berlin.escrow")));
    let mut second = Escrowed::read(&cluster).unwrap();
    assert!(same(second.found(NONE, now).unwrap(), &made));
    assert!(second.encryption_key() == Some(key("a2V5")));
    second.uses(key("a2V5"));
    assert_eq!(second.keep(&made, CP1, &Links::new()).await.unwrap(), None, "nothing is written twice");
    assert!(!second.is_owed(CP1));
    // The key to encrypt with came later than the rest.
    second.uses(key("b3RoZXI="));
    assert!(second.is_owed(CP1) && second.is_owed(WITHOUT_ETCD));
    assert!(second.keep(&made, CP1, &Links::new()).await.unwrap().is_some());
    assert!(Escrowed::read(&cluster).unwrap().encryption_key() == Some(key("b3RoZXI=")));
}

#[tokio::test]
async fn an_authority_that_is_only_made_up_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now);
    let mut escrow = Escrowed::read(&cluster).unwrap();
    assert!(escrow.is_owed(CP1) && !escrow.is_owed(NONE) && !escrow.is_owed(WITHOUT_ETCD));
    assert_eq!(escrow.keep(&made, WITHOUT_ETCD, &Links::new()).await.unwrap(), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(escrow.may_end().is_ok());
    escrow.uses(key("a2V5"));
    let refused = [escrow.may_end().err(), escrow.keep(&made, WITHOUT_ETCD, &Links::new()).await.err()];
    assert!(refused.into_iter().all(|failure| failure.unwrap().hint.unwrap().contains("--limit")), "a key is used that nobody keeps");
}

#[tokio::test]
async fn no_cluster_begins_with_an_authority_that_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now - Duration::days(4000));
    Escrowed::read(&cluster).unwrap().keep(&made, NONE, &Links::new()).await.unwrap();
    let escrow = Escrowed::read(&cluster).unwrap();
    let failure = escrow.found(NONE, now).err().unwrap();
    assert!(failure.because.unwrap().contains("was valid until") && failure.at.unwrap().ends_with("berlin.escrow"));
    assert!(same(escrow.found(CP1, now).unwrap(), &made), "of a cluster that runs it says what there is");
}

#[tokio::test]
async fn without_the_field_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = cluster(folder.path(), &CLUSTER.replace("{escrow: berlin.escrow}", "{}"));
    let mut escrow = Escrowed::read(&cluster).unwrap();
    escrow.uses(key("a2V5"));
    assert!(escrow.may_end().is_ok() && !escrow.is_owed(CP1));
    assert_eq!(escrow.keep(&authorities(OffsetDateTime::now_utc()), NONE, &Links::new()).await.unwrap(), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
