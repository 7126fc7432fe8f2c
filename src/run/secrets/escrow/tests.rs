#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::path::Path;

use kok_crds::{File, Role, read_input};
use kok_pki::{FoundAuthority, Policy};
use kok_tasks::plan::Plan;
use time::Duration;

use super::*;
use crate::randomness::SystemRandomness;
use crate::run::{Secrets, Token};

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

/// A cluster's first key.
fn key(text: &str) -> NamedKeys {
    keys(&[("kokctl", text)])
}

fn keys(pairs: &[(&str, &str)]) -> NamedKeys {
    let mut keys = NamedKeys::default();
    pairs.iter().for_each(|(name, key)| keys.add(name, key));
    keys
}

fn same(found: FoundAuthorities, authorities: &Authorities) -> bool {
    let pem = |found: Option<FoundAuthority>| found.map(|(certificate, _)| certificate);
    pem(found.etcd).as_deref() == Some(authorities.get(AuthorityKind::Etcd).certificate_pem())
        && found.service_account.is_some_and(|key| key.expose() == authorities.service_account().pem().expose())
}

/// As two runs see it, of which the first dies before any host knows of it.
#[test]
fn the_next_run_takes_what_this_one_has_made() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now);
    let first = Escrowed::read(&cluster, None).unwrap();
    assert!(first.found(NONE, now).unwrap().etcd.is_none() && first.encryption_keys().is_empty());
    assert_eq!(first.keep(&made, NONE).unwrap(), Some(folder.path().join("berlin.escrow")));
    let mut second = Escrowed::read(&cluster, None).unwrap();
    assert!(same(second.found(NONE, now).unwrap(), &made));
    assert_eq!(second.keep(&made, CP1).unwrap(), None, "nothing is written twice");
    assert!(!second.is_owed(CP1));
    // The key to encrypt with came later than the rest.
    second.uses(&key("a2V5"));
    assert!(second.is_owed(CP1) && second.is_owed(WITHOUT_ETCD));
    assert!(second.keep(&made, CP1).unwrap().is_some());
    let mut third = Escrowed::read(&cluster, None).unwrap();
    assert!(third.encryption_keys().pairs() == [("kokctl", "a2V5")]);
    third.uses(&key("a2V5"));
    assert!(!third.is_owed(CP1) && third.keep(&made, CP1).unwrap().is_none());
}

/// Keys of hosts that differ are no reason to forget those that were kept.
#[tokio::test]
async fn nothing_that_is_kept_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now);
    let mut first = Escrowed::read(&cluster, None).unwrap();
    first.uses(&key("a2V5"));
    first.keep(&made, NONE).unwrap();
    let file = folder.path().join("berlin.escrow");
    let before = fs::read(&file).unwrap();
    let refused = |result: Result<Option<PathBuf>, Failure>, what: &str| {
        let failure = result.err().unwrap();
        assert!(failure.what.starts_with(what) && failure.at.unwrap().ends_with("berlin.escrow"), "{}", failure.what);
        assert_eq!(fs::read(&file).unwrap(), before);
    };
    let others = |change: fn(&mut FoundAuthorities)| {
        let mut found = made.found();
        change(&mut found);
        Authorities::complete(found, &Policy::default(), now, &mut SystemRandomness).unwrap()
    };
    let escrow = Escrowed::read(&cluster, None).unwrap();
    refused(escrow.keep(&others(|found| found.service_account = None), CP1), "the key of service accounts");
    refused(escrow.keep(&others(|found| found.front_proxy = None), CP1), "an authority");
    let mut escrow = Escrowed::read(&cluster, None).unwrap();
    escrow.of_host = key("b3RoZXI=");
    refused(escrow.keep(&made, CP1), "the key to encrypt with");
    escrow.uses(&key("b3RoZXI="));
    refused(escrow.compare(CP1, &Links::new()).await.map(|()| None), "the key to encrypt with");
    let mut asks = Escrowed::read(&cluster, None).unwrap();
    let keepers = Keepers { encryption: Some("cp1"), ..CP1 };
    assert!(asks.compare(keepers, &Links::new()).await.err().unwrap().what.contains("no connection to cp1"), "the host is asked");
}

/// Whatever stage the rotation is in, all keys are kept before any host gets them, and the one that goes is needed by backups from before.
#[test]
fn a_new_key_is_kept_beside_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now);
    let kept = |used: &[(&str, &str)]| {
        let mut escrow = Escrowed::read(&cluster, None).unwrap();
        escrow.uses(&keys(used));
        let is_owed = escrow.is_owed(CP1);
        assert_eq!(escrow.keep(&made, CP1).unwrap().is_some(), is_owed, "{used:?}");
        is_owed
    };
    let (old, new) = (("kokctl", "a2V5"), ("kokctl-1795723865", "bmV1"));
    assert!(kept(&[old]) && kept(&[old, new]));
    assert!(!kept(&[old, new]) && !kept(&[new]));
    // Who founds the cluster with them writes with the newest, and reads what was backed up before.
    assert_eq!(Escrowed::read(&cluster, None).unwrap().encryption_keys().pairs(), [new, old]);
    let mut other = Escrowed::read(&cluster, None).unwrap();
    other.uses(&keys(&[("kokctl-1795723865", "b3RoZXI=")]));
    assert!(other.keep(&made, CP1).err().unwrap().what.starts_with("the key to encrypt with"), "two keys of one name");
    // As an escrow of another machine, which nobody has asked since.
    let mut third = Escrowed::read(&cluster, None).unwrap();
    third.uses(&keys(&[("kokctl-1795723999", "ZHJlaQ==")]));
    assert!(third.keep(&made, CP1).unwrap().is_some());
    assert_eq!(Escrowed::read(&cluster, None).unwrap().encryption_keys().names(), ["kokctl-1795723999", "kokctl-1795723865", "kokctl"]);
}

/// The hosts have the same authority as the escrow; that is not what is wrong.
#[test]
fn a_key_that_is_kept_and_said_to_be_elsewhere_is_no_other_authority() {
    let folder = tempfile::tempdir().unwrap();
    let text = CLUSTER
        .replace("{escrow: berlin.escrow}", "{escrow: berlin.escrow, issued: issued, authorities: {frontProxy: {certificate: front.crt}}}");
    let (cluster, now) = (cluster(folder.path(), &text), OffsetDateTime::now_utc());
    let made = authorities(now);
    Escrowed::read(&cluster, None).unwrap().keep(&made, NONE).unwrap();
    let mut found = made.found();
    found.front_proxy = found.front_proxy.map(|(certificate, _)| (certificate, None));
    let without = Authorities::complete(found, &Policy::default(), now, &mut SystemRandomness).unwrap();
    let failure = Escrowed::read(&cluster, None).unwrap().keep(&without, CP1).err().unwrap();
    assert!(failure.what.starts_with("the escrow has the key of `frontProxy`, and the file says"), "{}", failure.what);
    assert!(failure.what.contains("cluster.yaml:") && failure.hint.unwrap().contains("`key` beside the certificate"));
}

/// A run with nothing to do leaves keys where they are, if the escrow has all.
#[tokio::test]
async fn the_key_to_encrypt_with_is_fetched_only_where_something_is_done_or_lacking() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let keepers = Keepers { encryption: Some("cp1"), ..CP1 };
    let prepared = async || {
        let token = Token::generate().unwrap_or_else(|_| panic!("no randomness"));
        let secrets =
            Secrets::prepare(&cluster, &Plan::default(), keepers, (&token, None), &Links::new(), now.unix_timestamp(), None).await;
        secrets.map(|secrets| secrets.made()).map_err(|failure| failure.what)
    };
    Escrowed::read(&cluster, None).unwrap().keep(&authorities(now), NONE).unwrap();
    assert!(prepared().await.unwrap_err().contains("no connection to cp1"), "it is owed to the escrow");
    let escrow = folder.path().join("berlin.escrow");
    fs::remove_file(&escrow).unwrap();
    assert!(prepared().await.unwrap_err().contains("no connection to cp1"), "everything is");
    let mut whole = Escrowed::read(&cluster, None).unwrap();
    whole.uses(&key("a2V5"));
    whole.keep(&authorities(now), NONE).unwrap();
    assert_eq!(prepared().await, Ok(0));
}

#[test]
fn an_authority_that_is_only_made_up_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now);
    let mut escrow = Escrowed::read(&cluster, None).unwrap();
    assert!(escrow.is_owed(CP1) && !escrow.is_owed(NONE) && !escrow.is_owed(WITHOUT_ETCD));
    assert_eq!(escrow.keep(&made, WITHOUT_ETCD).unwrap(), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(escrow.may_end().is_ok());
    escrow.uses(&key("a2V5"));
    let refused = [escrow.may_end().err(), escrow.keep(&made, WITHOUT_ETCD).err()];
    assert!(refused.into_iter().all(|failure| failure.unwrap().hint.unwrap().contains("--limit")), "a key is used that nobody keeps");
}

#[test]
fn no_cluster_begins_with_an_authority_that_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now - Duration::days(4000));
    Escrowed::read(&cluster, None).unwrap().keep(&made, NONE).unwrap();
    let escrow = Escrowed::read(&cluster, None).unwrap();
    let failure = escrow.found(NONE, now).err().unwrap();
    assert!(failure.because.unwrap().contains("was valid until") && failure.at.unwrap().ends_with("berlin.escrow"));
    assert!(same(escrow.found(CP1, now).unwrap(), &made), "of a cluster that runs it says what there is");
}

#[test]
fn without_the_field_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = cluster(folder.path(), &CLUSTER.replace("{escrow: berlin.escrow}", "{}"));
    let mut escrow = Escrowed::read(&cluster, None).unwrap();
    escrow.uses(&key("a2V5"));
    assert!(escrow.may_end().is_ok() && !escrow.is_owed(CP1));
    assert_eq!(escrow.keep(&authorities(OffsetDateTime::now_utc()), NONE).unwrap(), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// As a restore onto new hosts begins with the keys of its backup.
#[test]
fn what_is_lent_is_taken_and_kept_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let made = authorities(now);
    let file = cluster.settings.certificates.escrow.as_mut().unwrap();
    (file.kept, file.is_lent) = (Some(kok_crds::Secret::new(escrow("berlin", &made, &[("kokctl", "a2V5")]).expose())), true);
    let lent = Escrowed::read(&cluster, None).unwrap();
    assert!(same(lent.found(NONE, now).unwrap(), &made));
    assert_eq!(lent.encryption_keys().names(), ["kokctl"]);
    assert_eq!(lent.keep(&made, NONE).unwrap(), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let ended = lent.found(NONE, now + Duration::days(36_500)).err().unwrap();
    assert!(ended.at.unwrap().contains("berlin.escrow"));
}

/// While the key of service accounts is being replaced hosts know both, and the new one is kept, whichever of them the asked host signs with.
#[test]
fn a_new_key_of_service_accounts_takes_the_place_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let (made, new) = (authorities(now), PrivateKey::generate(Policy::default().algorithm, &mut SystemRandomness).unwrap());
    let read = || Escrowed::read(&cluster, None).unwrap();
    let kept = || read().found(NONE, now).unwrap().service_account.unwrap().expose().to_owned();
    let known = PemSet::parse(&made.service_account().public_key_pem()).with_next(&new.public_key_pem());
    let host = |key: &PrivateKey, known: &PemSet| {
        let found = FoundAuthorities { service_account: Some(key.pem().clone()), token_keys: Some(known.text()), ..made.found() };
        Authorities::complete(found, &Policy::default(), now, &mut SystemRandomness).unwrap()
    };
    let before = host(made.service_account(), &known);
    let after = host(&new, &known.signing_with(&new.public_key_pem()));
    read().keep(&made, NONE).unwrap();
    assert!(
        read().keep(&before, CP1).unwrap().is_none() && kept() == made.service_account().pem().expose(),
        "none signs with the new one yet"
    );
    assert!(read().signs_with(new.pem()).unwrap().is_some());
    assert!(read().signs_with(new.pem()).unwrap().is_none() && kept() == new.pem().expose());
    for host in [&before, &after] {
        assert!(read().keep(host, CP1).unwrap().is_none() && kept() == new.pem().expose());
    }
    // Another machine's, which knows nothing of it, goes by what hosts sign with; and takes part in nothing when the old key is gone.
    fs::remove_file(folder.path().join("berlin.escrow")).unwrap();
    read().keep(&made, NONE).unwrap();
    assert!(
        read().keep(&host(&new, &known.signing_with(&new.public_key_pem()).alone()), CP1).err().unwrap().what.contains("service accounts")
    );
    assert!(read().keep(&after, CP1).unwrap().is_some() && kept() == new.pem().expose());
    // A control plane that joins meanwhile knows both.
    let files = after.files();
    let keys = files.iter().find(|file| file.path() == "pki/sa.pub").map(|file| PemSet::parse(file.content.expose()));
    assert!(keys.is_some_and(|keys| keys.has(&new.public_key_pem()) && keys.has_before(&made.service_account().public_key_pem())));
}

/// Whichever host is asked: one that has the new one signs already, one that does not knows that it is to sign next.
#[test]
fn a_new_authority_takes_the_place_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, now) = (cluster(folder.path(), CLUSTER), OffsetDateTime::now_utc());
    let (old, new) = (authorities(now), authorities(now));
    let kind = AuthorityKind::Etcd;
    Escrowed::read(&cluster, None).unwrap().keep(&old, CP1).unwrap();
    let kept = || Escrowed::read(&cluster, None).unwrap().found(CP1, now).unwrap().etcd.map(|(certificate, _)| certificate);
    let set = PemSet::parse(old.get(kind).certificate_pem());
    let (next, signs) = (set.with_next(new.get(kind).certificate_pem()), set.signing_with(new.get(kind).certificate_pem()));
    let with = |set: &PemSet, by: &Authorities| {
        let found = FoundAuthorities { token_keys: None, ..old.found() };
        let all = Authorities::complete(found, &Policy::default(), now, &mut SystemRandomness).unwrap();
        all.with(kind, set.text(), by.get(kind).key_pem().cloned()).unwrap()
    };
    // It is trusted, and does not sign: what is kept is as it was.
    assert_eq!(Escrowed::read(&cluster, None).unwrap().keep(&with(&next, &old), CP1).unwrap(), None);
    assert!(Escrowed::read(&cluster, None).unwrap().keep(&with(&signs, &new), CP1).unwrap().is_some());
    assert_eq!(kept().as_deref(), Some(new.get(kind).certificate_pem()));
    // A host that signs with the old one still.
    assert_eq!(Escrowed::read(&cluster, None).unwrap().keep(&with(&next, &old), CP1).unwrap(), None);
    assert_eq!(Escrowed::read(&cluster, None).unwrap().keep(&with(&signs.alone(), &new), CP1).unwrap(), None);
    // One that nobody has replaced is not lost for another.
    assert!(Escrowed::read(&cluster, None).unwrap().keep(&old, CP1).is_err());
}
