#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use kok_pki::{Authorities, Policy, escrow};
use time::OffsetDateTime;

use super::*;
use crate::randomness::SystemRandomness;

fn file(folder: &Path) -> EscrowFile {
    let origin = Position { file: folder.join("cluster.yaml").to_string_lossy().as_ref().into(), line: 7, column: 3 };
    EscrowFile { path: "berlin.escrow".to_owned(), origin, kept: None, is_lent: false }
}

fn keys_of(cluster: &str) -> SecretText {
    let authorities = Authorities::generate(&Policy::default(), OffsetDateTime::now_utc(), &mut SystemRandomness).unwrap();
    escrow(cluster, &authorities, &[])
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn refused<T>(result: Result<T, Problem>) -> String {
    result.err().unwrap_or_else(|| panic!("it is not refused")).to_string()
}

#[test]
fn what_is_written_is_read_again_and_is_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let keeping = Keeping::new("berlin", &file, None);
    assert!(keeping.read().unwrap().is_none());
    // What a crash has left is no hindrance.
    fs::write(keeping.temporary(), "half").unwrap();
    let (first, second) = (keys_of("berlin"), keys_of("berlin"));
    keeping.write(None, &first).unwrap();
    let kept = keeping.read().unwrap().unwrap();
    assert!(kept.text.expose() == first.expose() && kept.escrow.cluster() == "berlin");
    keeping.write(Some(&kept), &second).unwrap();
    assert!(keeping.read().unwrap().unwrap().text.expose() == second.expose());
    assert_eq!(names(folder.path()), ["berlin.escrow"]);
    assert_eq!(fs::metadata(keeping.path()).unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn what_somebody_else_has_put_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let keeping = Keeping::new("berlin", &file, None);
    let theirs = keys_of("hamburg");
    for (text, said) in
        [(theirs.expose(), "keys of the cluster `hamburg`"), ("my own notes\n", "no keys that kokctl has kept"), ("", "no keys")]
    {
        fs::write(keeping.path(), text).unwrap();
        fs::set_permissions(keeping.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let text_of = |problem: String| (problem.contains(said), problem);
        let (is_said, problem) = text_of(refused(keeping.read()));
        assert!(is_said && problem.contains("cluster.yaml:7:3"), "{problem}");
        assert!(!problem.contains("notes"), "{problem}");
        // It came after it was looked for.
        assert!(refused(keeping.write(None, &keys_of("berlin"))).contains("somebody else has made it meanwhile"));
        assert_eq!(fs::read_to_string(keeping.path()).unwrap(), text);
        assert_eq!(names(folder.path()), ["berlin.escrow"]);
    }
}

#[test]
fn only_a_private_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let keeping = Keeping::new("berlin", &file, None);
    keeping.write(None, &keys_of("berlin")).unwrap();
    for mode in [0o640, 0o604, 0o660] {
        fs::set_permissions(keeping.path(), fs::Permissions::from_mode(mode)).unwrap();
        assert!(refused(keeping.read()).contains(&format!("{mode:04o}")));
    }
    fs::rename(keeping.path(), folder.path().join("other")).unwrap();
    symlink("other", keeping.path()).unwrap();
    assert!(refused(keeping.read()).contains("no plain file"));
    fs::remove_file(keeping.path()).unwrap();
    fs::create_dir(keeping.path()).unwrap();
    assert!(refused(keeping.read()).contains("no plain file"));
}

#[test]
fn a_folder_that_is_missing_is_told_before_anything() {
    let folder = tempfile::tempdir().unwrap();
    let file = EscrowFile { path: "keys/berlin.escrow".to_owned(), ..file(folder.path()) };
    let said = refused(Keeping::new("berlin", &file, None).read());
    assert!(said.contains("keys does not exist") && said.contains("mkdir -m 700"), "{said}");
    let said = refused(Keeping::new("berlin", &file, None).write(None, &keys_of("berlin")));
    assert!(said.contains("can't be kept"), "{said}");
}

/// Both ways, of which a file system may know one.
#[test]
fn a_name_that_is_taken_is_not_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for give in [name, link] {
        fs::write(at("new"), "new").unwrap();
        fs::write(at("name"), "theirs").unwrap();
        assert_eq!(give(&at("new"), &at("name")).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read_to_string(at("name")).unwrap().as_str(), at("new").exists()), ("theirs", true));
        fs::remove_file(at("name")).unwrap();
        give(&at("new"), &at("name")).unwrap();
        assert_eq!((fs::read_to_string(at("name")).unwrap().as_str(), at("new").exists()), ("new", false));
        fs::remove_file(at("name")).unwrap();
    }
}
