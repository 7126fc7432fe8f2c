#![allow(clippy::unwrap_used)]

use kok_tasks::bundle::INDEX;
use kok_tasks::digest::sha256;
use tempfile::TempDir;

use super::*;
use crate::artifacts::signature::SIGNATURE;

/// A bundle of two releases, with a file that is no longer named and one that was cut, and another one of the user's beside them.
fn bundle() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "content").unwrap();
    };
    let file = |name: &str, version: &str| {
        let path = format!("files/{name}/{version}/{name}");
        put(&path);
        serde_json::json!({"name": name, "version": version, "architecture": "amd64", "path": path, "size": 7, "sha256": sha256(b"content")})
    };
    let releases = ["1.36.3", "1.37.1"].map(|version| serde_json::json!({"version": version, "images": {}}));
    let files = [file("kubelet", "1.36.3"), file("kubelet", "1.37.1"), file("runc", "1.5.2")];
    let index = serde_json::json!({"format": 1, "kubernetes": releases, "files": files, "images": []});
    fs::write(folder.path().join(INDEX), index.to_string()).unwrap();
    for path in ["files/runc/1.4.0/runc", "files/runc/1.6.0/runc.part", ".blobs/sha256-a.part", "mine/notes", SIGNATURE, SBOM] {
        put(path);
    }
    folder
}

fn paths(removed: &[Unneeded]) -> Vec<String> {
    removed.iter().map(|file| file.path.display().to_string()).collect()
}

fn is_whole(folder: &TempDir) {
    let folder = BundleFolder::open(folder.path()).unwrap();
    let all: Vec<_> = folder.bundle().artifacts().collect();
    folder.verify(all.iter()).unwrap();
}

#[test]
fn what_the_index_does_not_name_goes_and_nothing_else() {
    let folder = bundle();
    let before = fs::read(folder.path().join(INDEX)).unwrap();
    let expected = [".blobs/sha256-a.part", "files/runc/1.4.0/runc", "files/runc/1.6.0/runc.part"];
    assert_eq!(paths(&prune(folder.path(), &[], &BTreeMap::new(), true).unwrap()), expected);
    assert!(folder.path().join("files/runc/1.4.0/runc").exists(), "that was a trial");
    assert_eq!(paths(&prune(folder.path(), &[], &BTreeMap::new(), false).unwrap()), expected);
    assert!(!folder.path().join("files/runc/1.4.0").exists() && folder.path().join("mine/notes").exists());
    assert_eq!(fs::read(folder.path().join(INDEX)).unwrap(), before);
    assert!(folder.path().join(SIGNATURE).exists(), "it is of the same index");
    is_whole(&folder);
    assert!(prune(folder.path(), &[], &BTreeMap::new(), false).unwrap().is_empty());
}

#[test]
fn a_release_goes_with_its_programs() {
    let folder = bundle();
    let keep = ["1.37.1".to_owned()];
    let removed = prune(folder.path(), &keep, &BTreeMap::new(), false).unwrap();
    assert!(paths(&removed).contains(&"files/kubelet/1.36.3/kubelet".to_owned()), "{removed:?}");
    is_whole(&folder);
    let index = fs::read_to_string(folder.path().join(INDEX)).unwrap();
    assert!(!index.contains("1.36.3") && index.contains("1.37.1"));
    assert!(!folder.path().join(SIGNATURE).exists(), "nobody has signed this index");
    assert!(fs::read_to_string(folder.path().join(SBOM)).unwrap().contains("runc"));
    let failure = prune(folder.path(), &["1.36.3".to_owned()], &BTreeMap::new(), false).unwrap_err();
    assert!(failure.because.unwrap().contains("1.37.1"));
    is_whole(&folder);
}

#[test]
fn nothing_is_removed_while_another_run_fetches() {
    let folder = bundle();
    let lock = lock_now(folder.path()).unwrap();
    assert_eq!(prune(folder.path(), &[], &BTreeMap::new(), false).unwrap_err().what, "another run fetches into the bundle");
    drop(lock);
    assert_eq!(prune(folder.path(), &[], &BTreeMap::new(), false).unwrap().len(), 3);
}
