//! Archives and images: the same bytes each time, and the structure that others expect.

use std::io::{Cursor, Read};

use super::*;
use crate::release::archive;
use crate::release::digest::{sha256, sha256_file};
use crate::release::elf::is_dynamic;
use crate::release::oci::{ImageSpec, Index, Manifest, NAME_ANNOTATION, blob_path, write_image};
use crate::release::operator_image;

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
        stop_signal: Some("SIGUSR1"),
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
    assert_eq!((&config["config"]["User"], &config["config"]["StopSignal"]), (&"65532:65532".into(), &"SIGUSR1".into()));
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

/// As much of a static program as the builder looks at.
fn static_program(folder: &Path, size: u64) -> PathBuf {
    let path = folder.join("program");
    let mut elf = vec![0_u8; 64];
    elf[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
    fs::write(&path, elf).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
    path
}

fn operators<'a>(program: &'a Path, authorities: &'a Path, with_libraries: bool) -> operator_image::ImageOptions<'a> {
    operator_image::ImageOptions { program, with_libraries, authorities, reference: "registry.example/operator:1", architecture: "amd64" }
}

/// Paths of the layer, without folders.
fn layer(archive: &Path) -> BTreeMap<String, u64> {
    let contents = contents(archive);
    let index: Index = serde_json::from_slice(&contents["index.json"]).unwrap();
    let manifest: Manifest = serde_json::from_slice(&contents[&blob_path(&index.manifests[0].digest)]).unwrap();
    let mut layer = tar::Archive::new(contents[&blob_path(&manifest.layers[0].digest)].as_slice());
    let entries = layer.entries().unwrap().map(Result::unwrap).filter(|entry| entry.header().entry_type().is_file());
    entries.map(|entry| (entry.path().unwrap().to_string_lossy().into_owned(), entry.size())).collect()
}

#[test]
fn the_operators_image_is_its_program_and_authorities_and_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let authorities = folder.path().join("authorities");
    fs::write(&authorities, "certificates").unwrap();
    let program = static_program(folder.path(), 5_000);
    let options = operators(&program, &authorities, false);
    let paths = ["one.tar", "other.tar"].map(|name| folder.path().join(name));
    let [one, other] = paths.each_ref().map(|path| operator_image::write(&options, path).unwrap());
    assert_eq!((&one, one.unpacked), (&other, 5_012));
    assert!(fs::read(&paths[0]).unwrap() == fs::read(&paths[1]).unwrap());
    let expected = [("etc/ssl/certs/ca-certificates.crt", 12), ("kokctl", 5_000)].map(|(path, size)| (path.to_owned(), size));
    assert_eq!(layer(&paths[0]), BTreeMap::from(expected));
    let contents = contents(&paths[0]);
    let manifest: Manifest = serde_json::from_slice(&contents[&blob_path(&one.digest)]).unwrap();
    let config: serde_json::Value = serde_json::from_slice(&contents[&blob_path(&manifest.config.digest)]).unwrap();
    assert_eq!((&config["config"]["User"], &config["config"]["Entrypoint"]), (&"65532:65532".into(), &serde_json::json!(["/kokctl"])));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "nothing else is left");
}

#[test]
fn a_release_that_is_large_or_asks_for_a_loader_makes_no_image() {
    let folder = tempfile::tempdir().unwrap();
    let authorities = folder.path().join("authorities");
    fs::write(&authorities, "certificates").unwrap();
    let to = folder.path().join("image.tar");
    let large = static_program(folder.path(), 45_000_000);
    let said = operator_image::write(&operators(&large, &authorities, false), &to).unwrap_err().to_string();
    assert!(said.contains("45000012 bytes are more than the 45000000"), "{said}");
    let dynamic = Path::new("/usr/bin/true");
    let said = operator_image::write(&operators(dynamic, &authorities, false), &to).unwrap_err().to_string();
    assert!(said.contains("/usr/bin/true: it asks for a loader") && said.contains("--with-libraries"), "{said}");
    assert!(!to.exists());
}

#[test]
fn a_developers_program_comes_with_its_loader_and_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let authorities = folder.path().join("authorities");
    fs::write(&authorities, "certificates").unwrap();
    let to = folder.path().join("image.tar");
    // This test itself, which is not stripped.
    let program = std::env::current_exe().unwrap();
    operator_image::write(&operators(&program, &authorities, true), &to).unwrap();
    let layer = layer(&to);
    assert!(layer["kokctl"] < fs::metadata(&program).unwrap().len() / 2, "{layer:?}");
    let loader = crate::release::elf::interpreter(File::open(&program).unwrap()).unwrap().unwrap();
    assert!(layer.contains_key(loader.trim_start_matches('/')), "{layer:?}");
    assert!(layer.keys().any(|path| path.ends_with("/libc.so.6")), "{layer:?}");
}
