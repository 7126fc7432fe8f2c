#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use kok_crds::model::Keep;
use kok_pki::{Authorities, FoundAuthorities, Policy, escrow};
use kok_tasks::backup::{BackupName, BackupVersions, CLUSTER, ENCRYPTION, KEYS};
use kok_tasks::snapshot::Form;
use time::OffsetDateTime;

use super::*;
use crate::failure::Failure;
use crate::randomness::SystemRandomness;

const CANARY: &str = "c4n4ry-of-a-secret";
const SECONDS: i64 = 1_795_723_865;

/// A database of so many pages as its first page says it, with the digest of etcd.
fn snapshot(pages: u64) -> Vec<u8> {
    let fnv =
        |bytes: &[u8]| bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let mut meta = Vec::new();
    [0xED0C_DAED_u32, 2, 4096, 0].iter().for_each(|number| meta.extend(number.to_le_bytes()));
    [3, 0, 7, pages, 42].iter().for_each(|number: &u64| meta.extend(number.to_le_bytes()));
    let sum = fnv(&meta);
    meta.extend(sum.to_le_bytes());
    let mut data = [vec![0; 16], meta].concat();
    data.extend(CANARY.as_bytes());
    data.extend((data.len()..usize::try_from(pages).unwrap() * 4096).map(|index| (index % 251) as u8));
    let end = digest(&SHA256, &data);
    data.extend(end.as_ref());
    data
}

fn keys(cluster: &str) -> String {
    let now = OffsetDateTime::from_unix_timestamp(SECONDS).unwrap();
    let made = Authorities::complete(FoundAuthorities::default(), &Policy::default(), now, &mut SystemRandomness).unwrap();
    escrow(cluster, &made, &[("kokctl", "a2V5")]).expose().to_owned()
}

fn made() -> BackupSource {
    let versions = BackupVersions { kokctl: "0.1.0".to_owned(), kubernetes: "1.37.1".to_owned(), etcd: "3.6.8".to_owned() };
    BackupSource { versions, member: "cp1".to_owned(), revision: Some(42) }
}

fn write(folder: &Path, seconds: i64, seal: &Seal, snapshot: &[u8], piece: usize) -> Result<KeptBackup, Failure> {
    let mut file = BackupFile::create(&BackupPlace::at(folder).unwrap(), "demo", seconds, seal, Form::Raw)?;
    file.add(KEYS, keys("demo").as_bytes())?;
    file.add(ENCRYPTION, b"kind: EncryptionConfiguration\n")?;
    file.add(CLUSTER, CANARY.as_bytes())?;
    snapshot.chunks(piece).try_for_each(|piece| file.push(piece))?;
    file.finish(made())?.keep()
}

/// What goes into a bucket alone has no name here: nothing of it stays, and while it is sent nobody takes it for left.
#[test]
fn one_that_is_not_kept_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = BackupPlace::at(folder.path()).unwrap();
    let begin = |seconds| {
        let mut file = BackupFile::create(&place, "demo", seconds, &Seal::Open, Form::Raw).unwrap();
        file.add(KEYS, keys("demo").as_bytes()).unwrap();
        file.add(CLUSTER, b"").unwrap();
        file.push(&snapshot(2)).unwrap();
        file
    };
    let whole = begin(SECONDS).finish(made()).unwrap();
    assert_eq!(place.list(None).unwrap(), []);
    // Another one of the same cluster sweeps what is left.
    let other = begin(SECONDS + 1);
    assert_eq!(check(whole.path(), None).unwrap_or_else(|failure| panic!("{failure:?}")).manifest, *whole.manifest());
    drop((whole, other));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Files of a folder by their names.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn refused(path: &Path, identities: Option<&Identities>) -> Failure {
    let failure = check(path, identities).err().unwrap();
    assert!(failure.hint.is_some() && failure.because.is_some(), "{failure:?}");
    failure
}

#[cfg(feature = "backup-encryption")]
fn identity(folder: &Path, name: &str) -> (Seal, Identities) {
    use age::secrecy::ExposeSecret as _;

    let key = age::x25519::Identity::generate();
    let path = folder.join(name);
    fs::write(&path, format!("# created by a test\n\n{}\n", key.to_string().expose_secret())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (Seal::to(&[key.to_public().to_string()]).unwrap(), Identities::read(&path).unwrap())
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let db = snapshot(5);
    for (seconds, piece) in [(SECONDS, 1), (SECONDS + 1, 79), (SECONDS + 2, 1 << 20)] {
        let kept = write(folder.path(), seconds, &Seal::Open, &db, piece).unwrap();
        assert_eq!(fs::metadata(&kept.path).unwrap().mode() & 0o777, 0o600);
        let mut spool = Spool::create(&folder.path().join("spool")).unwrap();
        let contents = read(&kept.path, None, Some(&mut spool)).unwrap();
        assert_eq!(contents.manifest, kept.manifest);
        assert_eq!((contents.keys.cluster(), contents.encryption.unwrap().as_str()), ("demo", "kind: EncryptionConfiguration\n"));
        assert_eq!((contents.manifest.revision, contents.manifest.snapshot_bytes()), (Some(42), db.len() as u64));
        assert_eq!(fs::read(spool.path()).unwrap(), db);
        assert_eq!(contents.snapshot_sha256, kok_tasks::digest::sha256(&db));
        assert_eq!(fs::metadata(spool.path()).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path().join("spool")).unwrap().count(), 0, "it has no name");
        assert_eq!(manifest_of(&kept.path).unwrap(), kept.manifest);
    }
    let failure = write(folder.path(), SECONDS, &Seal::Open, &db, 100).unwrap_err();
    assert!(failure.because.unwrap().contains("there already"));
}

/// What it holds can be read by other programs.
#[test]
fn it_is_a_tar() {
    let folder = tempfile::tempdir().unwrap();
    let kept = write(folder.path(), SECONDS, &Seal::Open, &snapshot(3), 100).unwrap();
    let mut archive = tar::Archive::new(fs::File::open(&kept.path).unwrap());
    let paths: Vec<String> = archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
    assert_eq!(paths, ["keys.yaml", "encryption.yaml", "cluster.yaml", "etcd.db", "manifest.json"]);
}

#[test]
fn a_bit_that_was_flipped_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let kept = write(folder.path(), SECONDS, &Seal::Open, &snapshot(3), 4096).unwrap();
    let whole = fs::read(&kept.path).unwrap();
    let path = folder.path().join("flipped");
    for index in (0..whole.len()).step_by(61) {
        let mut flipped = whole.clone();
        flipped[index] ^= 4;
        fs::write(&path, &flipped).unwrap();
        // What fills a block up is nobody's.
        match check(&path, None) {
            Ok(contents) => assert!(whole[index] == 0 && contents.manifest == kept.manifest, "{index}"),
            Err(failure) => assert!(failure.hint.is_some(), "{index}"),
        }
    }
    let place = whole.windows(CANARY.len()).rposition(|part| part == CANARY.as_bytes()).unwrap();
    let mut flipped = whole;
    flipped[place] ^= 1;
    fs::write(&path, &flipped).unwrap();
    assert!(refused(&path, None).because.unwrap().starts_with("etcd.db: its content is not what the digest at its end says"));
}

#[test]
fn one_that_is_cut_off_or_goes_on_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let kept = write(folder.path(), SECONDS, &Seal::Open, &snapshot(3), 4096).unwrap();
    let whole = fs::read(&kept.path).unwrap();
    let path = folder.path().join("cut");
    for left in [0, 100, 512, 5000, whole.len() - 1537, whole.len() - 2048] {
        fs::write(&path, &whole[..left]).unwrap();
        refused(&path, None);
    }
    fs::write(&path, [&whole[..], b"more"].concat()).unwrap();
    assert!(refused(&path, None).because.unwrap().contains("behind its end"));
    fs::write(&path, b"something else").unwrap();
    refused(&path, None);
    refused(&folder.path().join("none"), None);
    refused(folder.path(), None);
}

#[test]
fn keys_of_another_cluster_are_no_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = BackupFile::create(&BackupPlace::at(folder.path()).unwrap(), "demo", SECONDS, &Seal::Open, Form::Raw).unwrap();
    file.add(KEYS, keys("other").as_bytes()).unwrap();
    file.add(CLUSTER, b"").unwrap();
    file.push(&snapshot(2)).unwrap();
    let kept = file.finish(made()).and_then(WholeBackup::keep).unwrap();
    assert!(refused(&kept.path, None).because.unwrap().contains("another cluster"));
}

#[test]
fn nothing_is_kept_of_a_snapshot_that_does_not_come_whole() {
    let folder = tempfile::tempdir().unwrap();
    let db = snapshot(4);
    let mut changed = db.clone();
    changed[9000] ^= 1;
    let longer = [&db[..], &[0; 512]].concat();
    for wrong in [
        &db[..db.len() - 32],
        &db[..50],
        b"",
        b"no database, but long enough that its beginning would say how long all of it is; and some more",
        &changed,
        &longer,
    ] {
        let failure = write(folder.path(), SECONDS, &Seal::Open, wrong, 1000).unwrap_err();
        assert!(failure.what.contains("did not come whole") && failure.hint.is_some(), "{failure:?}");
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[test]
fn only_what_was_left_goes_before_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = BackupPlace::at(folder.path()).unwrap();
    let part = |cluster: &str| format!(".{cluster}-20260101T000000Z.kokctl-backup.age.kokctl-part");
    for name in [part("demo"), part("other"), ".x.kokctl-part".to_owned(), "demo.txt".to_owned()] {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    let under_way = BackupFile::create(&place, "demo", SECONDS, &Seal::Open, Form::Raw).unwrap();
    assert_eq!(names(folder.path()).len(), 4, "that of demo is gone, and a new one is there");
    let second = BackupFile::create(&place, "demo", SECONDS + 1, &Seal::Open, Form::Raw).unwrap();
    assert_eq!(names(folder.path()).len(), 5, "one that is being written stays");
    drop((under_way, second));
    assert_eq!(names(folder.path()), [part("other"), ".x.kokctl-part".to_owned(), "demo.txt".to_owned()]);
}

#[test]
fn only_backups_of_the_cluster_are_removed_and_never_the_newest_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = BackupPlace::at(folder.path()).unwrap();
    let kept: Vec<KeptBackup> =
        (0..3).map(|day| write(folder.path(), SECONDS + day * 86_400, &Seal::Open, &snapshot(2), 4096).unwrap()).collect();
    let called = |seconds: i64, cluster: &str| BackupName { seconds, cluster: cluster.to_owned(), is_encrypted: false }.file_name();
    let damaged = called(SECONDS + 9 * 86_400, "demo");
    fs::write(folder.path().join(&damaged), "half of it").unwrap();
    fs::copy(&kept[0].path, folder.path().join(called(SECONDS, "demo-2"))).unwrap();
    std::os::unix::fs::symlink(&kept[0].path, folder.path().join(called(SECONDS - 5, "demo"))).unwrap();
    fs::create_dir(folder.path().join(called(SECONDS - 6, "demo"))).unwrap();
    fs::write(folder.path().join("demo-backup.tar"), "x").unwrap();
    let now = SECONDS + 10 * 86_400;
    let surplus = place.surplus("demo", &Keep { last: Some(1), ..Keep::default() }, now).unwrap();
    assert_eq!(surplus.iter().map(|found| &found.path).collect::<Vec<_>>(), [&kept[0].path, &kept[1].path]);
    place.remove(&surplus).unwrap();
    assert_eq!(names(folder.path()).len(), 6);
    assert!(kept[2].path.exists() && folder.path().join(&damaged).exists());
    let listed = place.list(Some("demo")).unwrap();
    assert_eq!(listed.iter().map(|found| found.looks_whole).collect::<Vec<_>>(), [true, false]);
    assert_eq!(place.list(None).unwrap().len(), 3);
    assert_eq!(place.surplus("demo", &Keep::default(), now).unwrap(), []);
}

#[test]
fn a_folder_has_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let failure = BackupPlace::at(&folder.path().join("none")).unwrap_err();
    assert!(failure.hint.unwrap().contains("mkdir -m 700"));
    assert!(BackupPlace::own(&folder.path().join("a/b")).is_ok());
    assert_eq!(fs::metadata(folder.path().join("a/b")).unwrap().mode() & 0o777, 0o700);
}

#[cfg(feature = "backup-encryption")]
#[test]
fn only_who_has_a_key_can_read_one_that_is_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let (seal, own) = identity(folder.path(), "own.key");
    let (_, other) = identity(folder.path(), "other.key");
    let kept = write(folder.path(), SECONDS, &seal, &snapshot(40), 5000).unwrap();
    assert!(kept.path.display().to_string().ends_with("demo-20261126T201105Z.kokctl-backup.age"));
    let whole = fs::read(&kept.path).unwrap();
    let holds = |text: &str| whole.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("age-encryption.org/v1") && !holds(CANARY) && !holds("kokctl-escrow") && !holds("manifest"));
    assert_eq!(check(&kept.path, Some(&own)).unwrap().manifest, kept.manifest);
    assert!(refused(&kept.path, None).hint.unwrap().contains("--identity"));
    assert!(refused(&kept.path, Some(&other)).because.unwrap().contains("none of the private keys"));
    let path = folder.path().join("changed");
    for index in (0..whole.len()).step_by(4099).chain([whole.len() - 1]) {
        let mut flipped = whole.clone();
        flipped[index] ^= 1;
        fs::write(&path, &flipped).unwrap();
        refused(&path, Some(&own));
    }
    // 64 KiB and a tag are a piece of an age stream, behind a head.
    let head = whole.windows(4).position(|part| part == b"\n---").unwrap() + 1 + 4 + 43 + 1 + 16;
    for left in [0, 30, head, head + 65_536 + 16, whole.len() - 1, whole.len() - 17] {
        fs::write(&path, &whole[..left]).unwrap();
        refused(&path, Some(&own));
    }
    fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    refused(&path, Some(&own));
}

#[cfg(feature = "backup-encryption")]
#[test]
fn a_key_that_others_can_read_or_that_is_none_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    drop(identity(folder.path(), "key"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let failure = Identities::read(&path).err().unwrap();
    assert!(failure.because.unwrap().contains("0640") && failure.hint.unwrap().contains("chmod 600"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for wrong in ["", "# only a comment\n", CANARY, "AGE-SECRET-KEY-1QQQQ", "-----BEGIN OPENSSH PRIVATE KEY-----"] {
        fs::write(&path, wrong).unwrap();
        let failure = Identities::read(&path).err().unwrap();
        assert!(!format!("{failure:?}").contains(CANARY) && !format!("{failure:?}").contains("QQQQ"), "{failure:?}");
    }
    assert!(Identities::read(&folder.path().join("none")).is_err());
    let failure = Seal::to(&["age1nonsense".to_owned()]).err().unwrap();
    assert!(failure.what.contains("age1nonsense") && failure.hint.is_some());
}

#[cfg(feature = "backup-encryption")]
#[test]
fn only_who_knows_the_passphrase_can_read_one_that_is_encrypted_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let own = file("own", "six words that were drawn\nand what nobody reads\n", 0o600);
    let other = file("other", "six words that were not", 0o600);
    let kept = write(folder.path(), SECONDS, &Seal::with_passphrase_of(&own).unwrap(), &snapshot(40), 5000).unwrap();
    assert!(kept.path.display().to_string().ends_with(".age") && !fs::read(&kept.path).unwrap().windows(6).any(|part| part == b"kokctl"));
    assert_eq!(check(&kept.path, Some(&Identities::passphrase_of(&own).unwrap())).unwrap().manifest, kept.manifest);
    assert!(refused(&kept.path, None).hint.unwrap().contains("--passphrase-file"));
    let failure = refused(&kept.path, Some(&Identities::passphrase_of(&other).unwrap()));
    assert!(failure.because.unwrap().contains("the passphrase given does not open it"));
    let (seal, key) = identity(folder.path(), "key");
    assert!(refused(&kept.path, Some(&key)).because.unwrap().contains("or for a passphrase"));
    let for_key = write(folder.path(), SECONDS + 60, &seal, &snapshot(40), 5000).unwrap();
    assert!(refused(&for_key.path, Some(&Identities::passphrase_of(&own).unwrap())).because.unwrap().contains("is for private keys"));
    for (text, mode, because) in [
        ("c4n4ry", 0o600, "fewer than 12"),
        ("\nsix words that were drawn", 0o600, "fewer than 12"),
        ("six words that were drawn", 0o644, "0644"),
    ] {
        let failure = Seal::with_passphrase_of(&file("wrong", text, mode)).err().unwrap();
        assert!(failure.because.clone().unwrap().contains(because) && !format!("{failure:?}").contains("c4n4ry"), "{failure:?}");
    }
}

/// As age's own implementation (filippo.io/age v1) writes it.
#[cfg(feature = "backup-encryption")]
#[test]
fn what_age_itself_has_encrypted_is_opened() {
    use base64::Engine as _;
    use std::io::Read as _;

    const KEY: &str = "AGE-SECRET-KEY-1GZS0YPMX3JPQEKQQSF8NT8N0QWCTNNCRD94JZNK5CX7F4Q3AD92QYF8ZZW";
    const TEXT: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSB2Z1lmZWpWRm1VbThBTVRnQUxZeUd0TVVQaG42S0JMY29PRjczdGNMM1c0\
        CmRUdG5iMzEyUjcrTGt6d2ROZCs1ZWY1SHM2WXJNbU90TVppNWE1em5HYzgKLS0tIG9lN3VNZ2czSUpHeDUrYk5WOE5wclYvVjQ5\
        WFlKMVBKMXd5ZjZIZlNFSUkKGvpAyBWY9np22Mx4Monu+9Tcq+MS6WqY8wxly8KiRs601Q2H1e7Q6VXYlUq1htHUUHta6R2bG2IS\
        AsKq";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, KEY).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(TEXT).unwrap();
    let mut text = String::new();
    let mut opened = seal::open(bytes.as_slice(), Some(&Identities::read(&path).unwrap())).unwrap_or_else(|_| panic!("it is not opened"));
    opened.read_to_string(&mut text).unwrap();
    assert_eq!(text, "written by filippo.io/age v1");
}
