#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use kok_tasks::digest::sha256;
use tempfile::TempDir;

use super::*;
use crate::artifacts::signature::{Signers, signer_of};

/// A bundle of files with these contents, by their names.
fn bundle(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<serde_json::Value> = files
        .iter()
        .map(|(name, content)| {
            let path = format!("files/example.com/{name}");
            fs::create_dir_all(folder.path().join("files/example.com")).unwrap();
            fs::write(folder.path().join(&path), content).unwrap();
            serde_json::json!({"name": name, "version": "1.0.0", "architecture": "amd64", "path": path, "size": content.len(), "sha256": sha256(content)})
        })
        .collect();
    let index = serde_json::json!({"format": 1, "kubernetes": [], "files": entries, "images": []});
    fs::write(folder.path().join(INDEX), index.to_string()).unwrap();
    folder
}

fn open(folder: &TempDir) -> BundleFolder {
    BundleFolder::open(folder.path()).unwrap()
}

fn is_whole(folder: &Path, files: usize) {
    let folder = BundleFolder::open(folder).unwrap();
    let all: Vec<Artifact> = folder.bundle().artifacts().collect();
    assert_eq!(all.len(), files);
    folder.verify(all.iter()).unwrap();
}

#[test]
fn a_bundle_is_carried_in_one_file() {
    let (from, to) = (bundle(&[("a", b"one"), ("b", b"another")]), tempfile::tempdir().unwrap());
    let archive = to.path().join("bundle.tar.zst");
    assert_eq!(export(&open(&from), None, None, &archive).unwrap(), CarriedFiles { files: 2, bytes: 10 });
    let site = to.path().join("site");
    assert_eq!(import(&archive, &site).unwrap(), CarriedFiles { files: 2, bytes: 10 });
    is_whole(&site, 2);
    // What is there stays: another bundle comes beside it.
    let other = bundle(&[("c", b"a third")]);
    export(&open(&other), None, None, &archive).unwrap();
    import(&archive, &site).unwrap();
    is_whole(&site, 3);
}

#[test]
fn a_signature_comes_with_the_index_that_was_signed_and_with_no_other() {
    let key = PrivateKey::from(russh::keys::ssh_key::private::Ed25519Keypair::from_seed(&[7; 32]));
    let signers = Signers::parse("signers", &format!("maker {}", key.public_key().to_openssh().unwrap())).unwrap();
    let (from, to) = (bundle(&[("a", b"one")]), tempfile::tempdir().unwrap());
    let (archive, site) = (to.path().join("bundle.tar.zst"), to.path().join("site"));
    export(&open(&from), None, Some(&key), &archive).unwrap();
    assert!(!from.path().join(SIGNATURE).exists(), "the archive is signed, not the folder");
    import(&archive, &site).unwrap();
    is_whole(&site, 1);
    assert_eq!(signer_of(&BundleFolder::open(&site).unwrap(), &signers).unwrap(), "maker");
    // On to the next site.
    export(&BundleFolder::open(&site).unwrap(), None, None, &archive).unwrap();
    let next = to.path().join("next");
    import(&archive, &next).unwrap();
    assert_eq!(signer_of(&BundleFolder::open(&next).unwrap(), &signers).unwrap(), "maker");
    // Beside another bundle the index is one that nobody has signed.
    let mixed = bundle(&[("b", b"another")]);
    fs::write(mixed.path().join(SIGNATURE), "of the old index").unwrap();
    import(&archive, mixed.path()).unwrap();
    is_whole(mixed.path(), 2);
    assert!(!mixed.path().join(SIGNATURE).exists());
}

#[test]
fn only_what_came_since_is_carried_where_the_rest_is_there() {
    let (old, new) = (bundle(&[("a", b"one"), ("b", b"old")]), bundle(&[("a", b"one"), ("b", b"new")]));
    let to = tempfile::tempdir().unwrap();
    let archive = to.path().join("delta.tar.zst");
    assert_eq!(export(&open(&new), Some(open(&old).bundle()), None, &archive).unwrap().files, 1);
    let failure = import(&archive, &to.path().join("empty")).unwrap_err();
    assert!(failure.because.unwrap().contains("a 1.0.0 is in neither"));
    assert!(!to.path().join("empty").join(INDEX).exists());
    import(&archive, old.path()).unwrap();
    is_whole(old.path(), 2);
    assert_eq!(fs::read(old.path().join("files/example.com/b")).unwrap(), b"new");
}

#[test]
fn a_file_that_is_not_what_the_index_says_is_carried_neither_out_nor_in() {
    let (from, to) = (bundle(&[("a", b"one")]), tempfile::tempdir().unwrap());
    let archive = to.path().join("bundle.tar.zst");
    fs::write(from.path().join("files/example.com/a"), b"two").unwrap();
    let failure = export(&open(&from), None, None, &archive).unwrap_err();
    assert!(failure.because.unwrap().contains("files/example.com/a is corrupted"));
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0, "nothing of it is left");
    for (path, told) in [("files/example.com/a", "is corrupted"), ("../outside", "does not name"), ("files/example.com/b", "does not name")]
    {
        let failure = import(&forged(&to, path), &to.path().join("site")).unwrap_err();
        assert!(failure.because.unwrap().contains(told), "{path}");
        assert!(!to.path().join("outside").exists() && !to.path().join("site").join(INDEX).exists());
    }
}

/// An archive with a good index and a wrong file.
fn forged(folder: &TempDir, path: &str) -> PathBuf {
    let index = fs::read(bundle(&[("a", b"one")]).path().join(INDEX)).unwrap();
    let archive = folder.path().join("forged.tar.zst");
    let mut builder = Builder::new(zstd::Encoder::new(File::create(&archive).unwrap(), 1).unwrap());
    append(&mut builder, INDEX, index.len() as u64, index.as_slice()).unwrap();
    let mut header = Header::new_gnu();
    header.set_size(4);
    header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_cksum();
    builder.append(&header, b"evil".as_slice()).unwrap();
    builder.into_inner().unwrap().finish().unwrap();
    archive
}

#[test]
fn what_is_no_archive_is_told() {
    let to = tempfile::tempdir().unwrap();
    for content in [b"".as_slice(), b"no archive"] {
        let path = to.path().join("x.tar.zst");
        fs::write(&path, content).unwrap();
        assert_eq!(import(&path, &to.path().join("site")).unwrap_err().what, "the archive can't be imported");
    }
}
