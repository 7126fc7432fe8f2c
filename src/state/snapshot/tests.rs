#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn snapshot() -> Vec<u8> {
    let data = vec![7; 4096];
    let end = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &data);
    [data.as_slice(), end.as_ref()].concat()
}

fn hidden_in(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count()
}

#[test]
fn a_snapshot_is_there_whole_and_for_its_owner_only_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let own = tempfile::tempdir().unwrap();
    let place = |path: &Path| SnapshotPlace::within(own.path().to_owned(), "run", Some(path)).unwrap();
    let begin = || SnapshotFile::create(&place(&path), Form::Raw).unwrap();

    let mut cut_off = begin();
    cut_off.push(snapshot().get(..900).unwrap()).unwrap();
    assert_eq!((names().len(), hidden_in(own.path())), (0, 1), "what is not whole is no file of the user's");
    assert!(cut_off.finish(Some(b"key")).unwrap_err().because.unwrap().contains("only a part of it came (900 bytes)"));
    drop(begin());
    assert_eq!(names(), Vec::<OsString>::new());

    // One that died has left something that anybody may read.
    fs::write(own.path().join(".a.db.kokctl-part"), "x").unwrap();
    let mut whole = begin();
    whole.push(&snapshot()).unwrap();
    let kept = whole.finish(None).unwrap();
    assert_eq!((kept.bytes, kept.key, names()), (4128, None, vec![OsString::from("a.db")]));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read(&path).unwrap(), snapshot());
    assert!(SnapshotFile::check(&path).unwrap_err().what.ends_with("a.db is there already"));
    assert!(SnapshotFile::check(&folder.path().join("none/b.db")).is_err());
    let mut encrypted = SnapshotFile::create(&place(&folder.path().join("b.db")), Form::Raw).unwrap();
    encrypted.push(&snapshot()).unwrap();
    let kept = encrypted.finish(Some(b"key")).unwrap();
    let key = kept.key.unwrap();
    assert_eq!(fs::read(&key).unwrap(), b"key");
    fs::remove_file(kept.path).unwrap();
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(SnapshotFile::check(&folder.path().join("b.db")).is_err(), "its key would be lost");
    fs::remove_file(key).unwrap();
    assert!(SnapshotFile::check(&folder.path().join("b.db")).is_ok());
}

/// A folder into which nothing can be renamed, as on another disk: there is a directory where the part would come.
#[test]
fn what_a_run_that_died_has_left_in_another_place_is_found_again() {
    let (folder, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let near = folder.path().join(".a.db.kokctl-part");
    let place = || SnapshotPlace::within(own.path().to_owned(), "run", Some(&folder.path().join("a.db"))).unwrap();
    fs::create_dir(&near).unwrap();
    assert!(SnapshotFile::create(&place(), Form::Raw).is_err());
    assert_eq!(hidden_in(own.path()), 0, "nothing is noted of what could not begin");
    fs::remove_dir(&near).unwrap();

    let note = own.path().join(".a.db.kokctl-note");
    fs::write(&near, "half").unwrap();
    fs::write(&note, near.as_os_str().as_encoded_bytes()).unwrap();
    place();
    assert!(!near.exists() && !note.exists());
    // A folder that is not mounted now, and what is no part.
    for named in [folder.path().join("away/.a.db.kokctl-part"), folder.path().join("a.db")] {
        fs::write(folder.path().join("a.db"), "whole").unwrap();
        fs::write(&note, named.as_os_str().as_encoded_bytes()).unwrap();
        place();
        assert!(note.exists() && folder.path().join("a.db").exists());
    }
}
