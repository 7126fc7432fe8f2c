#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    Own::open(path)?.replace(&SecretText::new(text.to_owned()))
}

#[test]
fn the_file_is_that_of_kubectl() {
    let home = || Some(PathBuf::from("/home/a"));
    let chosen = |kubeconfig: Option<&str>| usual(kubeconfig.map(OsString::from).as_ref(), home());
    assert_eq!(chosen(Some("/a:/b")), Some("/a".into()));
    assert_eq!(chosen(Some("::/b")), Some("/b".into()));
    for unset in [None, Some(""), Some(":")] {
        assert_eq!(chosen(unset), Some("/home/a/.kube/config".into()));
    }
    assert_eq!((usual(None, None), usual(None, Some("".into()))), (None, None));
}

#[test]
fn a_missing_file_and_its_folder_are_made_for_the_owner_only() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a/.kube/config");
    let own = Own::open(&file).unwrap();
    assert_eq!((own.text.expose(), own.open_mode()), ("", None));
    own.replace(&SecretText::new("new".into())).unwrap();
    drop(own);
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o600));
    assert_eq!((mode(&folder.path().join("a")), mode(&folder.path().join("a/.kube"))), (0o700, 0o700));
    assert_eq!(names(file.parent().unwrap()), ["config"]);
}

#[test]
fn an_open_file_is_closed_and_links_stay_links() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("real")).unwrap();
    fs::write(at("real/config"), "old").unwrap();
    fs::set_permissions(at("real/config"), Permissions::from_mode(0o644)).unwrap();
    symlink("real/config", at("link")).unwrap();
    symlink(at("link"), at("outer")).unwrap();
    assert_eq!(Own::open(&at("outer")).unwrap().open_mode(), Some(0o644));
    replace(&at("outer"), "new").unwrap();
    assert_eq!((fs::read_to_string(at("real/config")).unwrap().as_str(), mode(&at("real/config"))), ("new", 0o600));
    assert!(fs::symlink_metadata(at("outer")).unwrap().is_symlink() && fs::symlink_metadata(at("link")).unwrap().is_symlink());
    // A link to what is not there yet makes it there.
    symlink("later/config", at("dangling")).unwrap();
    replace(&at("dangling"), "new").unwrap();
    assert_eq!(fs::read_to_string(at("later/config")).unwrap(), "new");
    symlink("loop", at("loop")).unwrap();
    assert!(Own::open(&at("loop")).is_err());
}

#[test]
fn the_owner_stays() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("config");
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::chown(&file, Some(1234), Some(4321)).unwrap();
    replace(&file, "new").unwrap();
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), mode(&file)), (1234, 4321, 0o600));
}

#[test]
fn what_kubectl_changes_is_left_alone_and_so_is_what_is_no_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("config");
    fs::write(&file, "old").unwrap();
    let first = Own::open(&file).unwrap();
    let failure = replace(&file, "new").err().unwrap();
    assert!(failure.because.unwrap().contains("config.lock"));
    drop(first);
    replace(&file, "new").unwrap();
    assert!(Own::open(folder.path()).err().unwrap().what.contains("no file"));
    fs::write(&file, b"a: b\nc: \xc3\xa4\xff\n").unwrap();
    assert_eq!(replace(&file, "new").err().unwrap().at, Some(format!("{}:2:5", file.display())));
    assert_eq!(names(folder.path()), ["config"], "no lock and no temporary file is left");
}
