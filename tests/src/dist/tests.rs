#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use super::*;

fn crates(folder: &Path) -> Vec<crates::Crate> {
    let one = |name: &str, own| {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("LICENSE-MIT"), "MIT of both\n").unwrap();
        crates::Crate { name: name.to_owned(), version: "1.2.3".to_owned(), licence: "MIT".to_owned(), folder, own }
    };
    vec![one("aws", false), one("clap", false), one("kokctl", true)]
}

#[test]
fn each_text_of_a_licence_stands_once() {
    let folder = TempDir::new().unwrap();
    let text = licences::text(&crates(folder.path())).unwrap();
    assert_eq!(text.matches("MIT of both").count(), 1, "{text}");
    assert!(text.contains("aws 1.2.3: MIT\n") && text.contains("\naws 1.2.3, clap 1.2.3\n") && !text.contains("kokctl 1.2.3"), "{text}");
}

#[test]
fn the_list_is_spdx_with_a_package_for_each_crate() {
    let folder = TempDir::new().unwrap();
    let text = sbom::text(&crates(folder.path()), "0.1.0", 1_795_622_399).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["creationInfo"]["created"], "2026-11-25T15:59:59Z");
    assert_eq!(document["packages"].as_array().unwrap().len(), 3);
    assert_eq!(document["packages"][1]["externalRefs"][0]["referenceLocator"], "pkg:cargo/clap@1.2.3");
    let relationships = document["relationships"].as_array().unwrap();
    assert_eq!(relationships.iter().filter(|relationship| relationship["relationshipType"] == "CONTAINS").count(), 2);
}

/// Neither the time nor the folder of its making is in an archive or a package, and files have the rights of their kind.
#[test]
fn the_same_files_make_the_same_bytes() {
    let made: Vec<(Vec<u8>, Vec<u8>)> = (0..2)
        .map(|_| {
            let folder = TempDir::new().unwrap();
            let program = folder.path().join("built");
            fs::write(&program, "program").unwrap();
            let mut tree = Tree::default();
            tree.add_program("kokctl", &program);
            tree.add_text(folder.path(), "LICENSE", "licence\n").unwrap();
            tree.add_text(folder.path(), "man/man1/kokctl.1", ".TH kokctl\n").unwrap();
            let (archive, package) = (folder.path().join("a.tar.gz"), folder.path().join("a.deb"));
            tar_gz(&tree, "kokctl-1", &archive).unwrap();
            deb::write(&tree, "1", "amd64", 1_795_622_399, &package).unwrap();
            (fs::read(archive).unwrap(), fs::read(package).unwrap())
        })
        .collect();
    assert!(made[0] == made[1], "bytes differ");
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.deb"), &made[0].1).unwrap();
    let output =
        Command::new("dpkg-deb").args(["--extract", "a.deb", "root"]).current_dir(folder.path()).stdin(Stdio::null()).status().unwrap();
    assert!(output.success());
    let mode = |path: &str| fs::metadata(folder.path().join("root").join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("usr/bin/kokctl"), mode("usr/share/doc/kokctl/copyright"), mode("usr/share/man/man1/kokctl.1.gz")),
        (0o755, 0o644, 0o644)
    );
}
