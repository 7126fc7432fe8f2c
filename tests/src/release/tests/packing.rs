//! Archives and images: the same bytes each time, and the structure that others expect.

use std::io::{Cursor, Read};

use super::*;
use crate::release::archive;
use crate::release::digest::{sha256, sha256_file};
use crate::release::elf::is_dynamic;
use crate::release::oci::{ImageSpec, Index, Manifest, NAME_ANNOTATION, blob_path, write_image};

const FILES: [(&str, &str); 3] = [("usr/local/bin/b", "two"), ("usr/local/bin/a", "one"), ("c", "three")];

#[test]
fn the_same_files_give_the_same_archive_whatever_their_age_mode_and_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut reversed = FILES;
    reversed.reverse();
    let (first, second) = (sources(folder.path(), 0, &FILES), sources(folder.path(), 90_000, &reversed));
    fs::set_permissions(&second["c"], std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let pack = |files: &BTreeMap<String, PathBuf>| {
        let (mut plain, mut zipped) = (Vec::new(), Vec::new());
        archive::write_tree(files, &[], &mut plain).unwrap();
        let contents = archive::write_tar_gz(files, &mut zipped).unwrap();
        (plain, zipped, contents)
    };
    assert_eq!(pack(&first), pack(&second));
    assert_eq!(pack(&first).2[0].sha256, sha256(b"three"));
    let mut changed = second.clone();
    changed.insert("c".to_owned(), second["usr/local/bin/a"].clone());
    assert_ne!(pack(&first).0, pack(&changed).0);
}

#[test]
fn directories_come_before_their_files_and_all_belongs_to_root() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    archive::write_tree(&sources(folder.path(), 0, &FILES), &[("tmp", 0o1777)], &mut bytes).unwrap();
    let mut seen = Vec::new();
    for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 315_532_800));
        seen.push((entry.path().unwrap().to_string_lossy().into_owned(), header.mode().unwrap()));
    }
    let expected = [
        ("tmp/", 0o1777),
        ("usr/", 0o755),
        ("usr/local/", 0o755),
        ("usr/local/bin/", 0o755),
        ("c", 0o755),
        ("usr/local/bin/a", 0o755),
        ("usr/local/bin/b", 0o755),
    ];
    assert_eq!(seen, expected.map(|(path, mode)| (path.to_owned(), mode)));
}

fn image(folder: &Path, age: u64) -> (PathBuf, String) {
    let target = folder.join(format!("image-{age}.tar"));
    let spec = ImageSpec {
        reference: "registry.example/a/b:v1",
        architecture: "arm64",
        files: sources(folder, age, &FILES),
        user: Some("65532:65532"),
        entrypoint: &["/c".to_owned(), "serve".to_owned()],
    };
    let digest = write_image(&spec, folder, &target).unwrap();
    (target, digest)
}

fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(File::open(path).unwrap());
    let read = |entry: std::io::Result<tar::Entry<'_, File>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().to_string_lossy().into_owned(), bytes)
    };
    archive.entries().unwrap().map(read).collect()
}

#[test]
fn an_image_is_the_same_bytes_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let ((first, digest), (second, again)) = (image(folder.path(), 0), image(folder.path(), 90_000));
    assert_eq!(digest, again);
    assert_eq!(sha256_file(&first).unwrap(), sha256_file(&second).unwrap());
    assert!(!folder.path().join("layer.tar").exists());
}

#[test]
fn an_image_has_the_parts_of_an_oci_archive_under_their_digests() {
    let folder = tempfile::tempdir().unwrap();
    let (path, digest) = image(folder.path(), 0);
    let contents = contents(&path);
    let layout: serde_json::Value = serde_json::from_slice(&contents["oci-layout"]).unwrap();
    assert_eq!(layout["imageLayoutVersion"], "1.0.0");
    let index: Index = serde_json::from_slice(&contents["index.json"]).unwrap();
    assert_eq!(index.manifests.len(), 1);
    assert_eq!(index.manifests[0].digest, digest);
    assert_eq!(index.manifests[0].annotations[NAME_ANNOTATION], "registry.example/a/b:v1");
    assert_eq!(index.manifests[0].platform.as_ref().unwrap().architecture, "arm64");
    let manifest: Manifest = serde_json::from_slice(&contents[&blob_path(&digest)]).unwrap();
    for descriptor in [&index.manifests[0], &manifest.config, &manifest.layers[0]] {
        let blob = &contents[&blob_path(&descriptor.digest)];
        assert_eq!(descriptor.digest, format!("sha256:{}", sha256(blob)));
        assert_eq!(descriptor.size, blob.len() as u64);
    }
    assert_eq!(contents.len(), 5);
    let config: serde_json::Value = serde_json::from_slice(&contents[&blob_path(&manifest.config.digest)]).unwrap();
    // The layer is not compressed, so its digest is the one of its content.
    assert_eq!(config["rootfs"]["diff_ids"][0], manifest.layers[0].digest);
    assert_eq!((&config["architecture"], &config["os"]), (&"arm64".into(), &"linux".into()));
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/c", "serve"]));
    assert_eq!(config["config"]["User"], "65532:65532");
    assert!(config["config"]["Env"][0].as_str().unwrap().starts_with("PATH=/usr/local/sbin:"));
}

#[test]
fn dynamic_binaries_are_told_from_static_ones() {
    // This test itself is loaded with libraries.
    assert!(is_dynamic(File::open(std::env::current_exe().unwrap()).unwrap()).unwrap());
    let mut elf = vec![0_u8; 64];
    elf[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
    assert!(!is_dynamic(Cursor::new(&elf)).unwrap());
    assert!(is_dynamic(Cursor::new(b"#!/bin/sh\n".repeat(10))).is_err());
    assert!(is_dynamic(Cursor::new(b"short")).is_err());
}
