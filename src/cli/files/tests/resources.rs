//! What is declared for hosts, as far as it names files of this machine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::path::Path;

use kok_crds::model::{Cluster, Content, Wish};
use kok_pki::{Authority, AuthorityKind, Policy};
use time::{Duration, OffsetDateTime};

use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::randomness::SystemRandomness;

const FLEET: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Fleet\nmetadata: {name: office}\nspec:\n  hosts: [{name: a, address: 10.0.0.1}]\n  \
                     hostResources:\n";

/// The fleet with this entry, or all that is wrong as one text.
fn read(folder: &Path, entry: &str) -> Result<Cluster, String> {
    fs::write(folder.join("fleet.yaml"), format!("{FLEET}  - {entry}\n")).unwrap();
    let files = ClusterFiles { files: vec![folder.join("fleet.yaml")], ..Default::default() };
    let read = files.fleet(&ExtraVars::default()).map(|(_, cluster)| cluster);
    read.map_err(|failures| failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn authority(validity: Duration, ago: Duration) -> Authority {
    let policy = Policy { authority_validity: validity, ..Policy::default() };
    Authority::generate(AuthorityKind::Etcd, &policy, OffsetDateTime::now_utc() - ago, &mut SystemRandomness).unwrap()
}

#[test]
fn certificates_come_from_files_and_texts_alike() {
    let folder = tempfile::tempdir().unwrap();
    let made = authority(Duration::days(9), Duration::ZERO);
    fs::write(folder.path().join("corp.crt"), format!("Subject: CN=x\n{}", made.certificate_pem())).unwrap();
    let inline = format!("{{caCertificate: {{name: corp, content: {}}}}}", serde_json::json!(made.certificate_pem()));
    for entry in ["{caCertificate: {name: corp, source: corp.crt}}", &inline] {
        let cluster = read(folder.path(), entry).unwrap();
        let Wish::CaCertificate { certificate: Some(content), .. } = &cluster.resources.entries[0].wish else { panic!("{cluster:?}") };
        let text = match content {
            Content::Text(text) => text,
            Content::Source(file) | Content::Template(file) => file.text.as_ref().unwrap(),
        };
        assert_eq!(text.expose().trim(), made.certificate_pem().trim());
    }
}

#[test]
fn what_programs_can_not_trust_is_refused_before_a_host_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (old, good) = (authority(Duration::days(2), Duration::days(9)), authority(Duration::days(9), Duration::ZERO));
    let (pem, key) = (good.certificate_pem(), good.key_pem().unwrap().expose());
    for (text, said) in [
        (old.certificate_pem().to_owned(), "it has expired"),
        (format!("{pem}{key}"), "a private key"),
        (format!("{pem}{pem}"), "there are 2 of them"),
        (String::new(), "no complete PEM block"),
    ] {
        fs::write(folder.path().join("corp.crt"), text).unwrap();
        let found = read(folder.path(), "{caCertificate: {name: corp, source: corp.crt}}").unwrap_err();
        assert!(found.contains(said) && found.contains("fleet.yaml:7:") && found.contains("hint: "), "{said}: {found}");
        assert!(!found.contains(key.lines().nth(1).unwrap()), "a key is printed");
    }
    let found = read(folder.path(), "{caCertificate: {name: corp, source: none.crt}}").unwrap_err();
    assert!(found.contains("none.crt: No such file"), "{found}");
}

#[test]
fn binaries_are_read_where_they_are_named_and_are_those_that_were_meant() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    fs::write(folder.path().join("bin/tool"), [0, 159, 146, 150]).unwrap();
    let cluster = read(folder.path(), "{binary: {path: /usr/local/bin/tool, source: bin/tool, mode: 0700, owner: app}}").unwrap();
    let Wish::Binary { payload, rights, .. } = &cluster.resources.entries[0].wish else { panic!("{cluster:?}") };
    let held = payload.held.as_ref().unwrap();
    assert_eq!((Path::new(&held.path), held.size, rights.mode), (folder.path().join("bin/tool").as_path(), 4, 0o700));
    let sum = kok_tasks::digest::sha256(&[0, 159, 146, 150]);
    assert_eq!(held.sha256, sum);
    read(folder.path(), &format!("{{binary: {{path: /b, source: bin/tool, sha256: {sum}}}}}")).unwrap();
    for (source, said) in [
        (format!("source: bin/tool, sha256: {}", "f".repeat(64)), sum.as_str()),
        ("source: bin/none".to_owned(), "bin/none: No such file"),
        ("source: bin".to_owned(), "it is a folder"),
        (format!("url: 'http://127.0.0.1:9/tool', sha256: {sum}"), "tool can't be fetched"),
    ] {
        let found = read(folder.path(), &format!("{{binary: {{path: /b, {source}}}}}")).unwrap_err();
        assert!(found.contains(said) && found.contains("fleet.yaml:7:") && found.contains("hint: "), "{source}: {found}");
    }
}

/// A tar with what these add to it.
fn tar(path: &Path, add: impl FnOnce(&mut tar::Builder<Vec<u8>>)) {
    let mut builder = tar::Builder::new(Vec::new());
    add(&mut builder);
    fs::write(path, builder.into_inner().unwrap()).unwrap();
}

fn header(kind: tar::EntryType, mode: u32, size: usize) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size as u64);
    header
}

/// The name as it stands there, whatever it is.
fn file(builder: &mut tar::Builder<Vec<u8>>, name: &str, text: &str) {
    let mut header = header(tar::EntryType::Regular, 0o4755, text.len());
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
    builder.append(&header, text.as_bytes()).unwrap();
}

fn link(builder: &mut tar::Builder<Vec<u8>>, kind: tar::EntryType, name: &str, target: &str) {
    builder.append_link(&mut header(kind, 0o777, 0), name, target).unwrap();
}

#[test]
fn archives_are_read_with_what_is_left_out_of_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.tar");
    tar(&path, |builder| {
        builder.append_data(&mut header(tar::EntryType::Directory, 0o750, 0), "./app-1/bin/", std::io::empty()).unwrap();
        file(builder, "./app-1/bin/tool", "tool");
        link(builder, tar::EntryType::Link, "app-1/again", "app-1/bin/tool");
        link(builder, tar::EntryType::Symlink, "app-1/current", "../elsewhere");
        file(builder, "above", "x");
    });
    let entry = "{archive: {into: /opt/app, source: app.tar, strip: 1}}";
    let contents = |compression: &str| {
        let cluster = read(folder.path(), entry).unwrap();
        let Wish::Archive { contents: Some(contents), .. } = &cluster.resources.entries[0].wish else { panic!("{cluster:?}") };
        assert!(format!("{:?}", contents.compression).eq_ignore_ascii_case(compression), "{contents:?}");
        contents.clone()
    };
    let plain = contents("none");
    assert_eq!(plain.roots, ["app-1"]);
    let paths: Vec<(&str, String)> = plain.members.iter().map(|member| (member.path.as_str(), format!("{:?}", member.kind))).collect();
    let tool = format!("File {{ mode: 493, sha256: {:?} }}", kok_tasks::digest::sha256(b"tool"));
    let link = "Link { target: \"../elsewhere\" }".to_owned();
    assert_eq!(paths, [("again", tool.clone()), ("bin", "Folder { mode: 488 }".to_owned()), ("bin/tool", tool), ("current", link)]);
    for (program, compression) in [("gzip", "gzip"), ("xz", "xz")] {
        let Ok(packed) = std::process::Command::new(program).arg("-c").arg(&path).output() else { continue };
        let plain_bytes = fs::read(&path).unwrap();
        fs::write(&path, packed.stdout).unwrap();
        assert_eq!(contents(compression).members, plain.members);
        fs::write(&path, plain_bytes).unwrap();
    }
}

#[test]
fn archives_that_would_leave_their_folder_are_refused() {
    type Add = fn(&mut tar::Builder<Vec<u8>>);
    let folder = tempfile::tempdir().unwrap();
    let wrong: [(Add, &str); 9] = [
        (|builder| file(builder, "../etc/passwd", "x"), "leads out of its folder"),
        (|builder| file(builder, "a/../../b", "x"), "leads out of its folder"),
        (|builder| file(builder, "/etc/passwd", "x"), "is absolute"),
        (|builder| file(builder, "a\nb", "x"), "control characters"),
        (
            |builder| {
                link(builder, tar::EntryType::Symlink, "a", "/etc");
                file(builder, "a/passwd", "x");
            },
            "a/passwd lies behind what is no folder",
        ),
        (|builder| link(builder, tar::EntryType::Link, "a", "b"), "what does not stand before it"),
        (|builder| link(builder, tar::EntryType::Fifo, "a", "b"), "neither a file, a folder nor a link"),
        (|_| {}, "there is nothing in it"),
        (|builder| (0..2001).for_each(|number| file(builder, &format!("f{number}"), "")), "`creates`"),
    ];
    for (add, said) in wrong {
        tar(&folder.path().join("app.tar"), add);
        let found = read(folder.path(), "{archive: {into: /opt/app, source: app.tar}}").unwrap_err();
        assert!(found.contains(said) && found.contains("fleet.yaml:7:") && found.contains("hint: "), "{said}: {found}");
    }
    for (bytes, said) in [
        (b"PK\x03\x04rest".as_slice(), "it is a zip"),
        (b"no archive at all", "can't be read as a tar"),
        (&[0x1f, 0x8b, 8, 0, 1], "can't be read"),
    ] {
        fs::write(folder.path().join("app.tar"), bytes).unwrap();
        let found = read(folder.path(), "{archive: {into: /opt/app, source: app.tar}}").unwrap_err();
        assert!(found.contains(said), "{said}: {found}");
    }
    tar(&folder.path().join("app.tar"), |builder| file(builder, "a/b", "x"));
    let found = read(folder.path(), "{archive: {into: /opt/app, source: app.tar, strip: 2}}").unwrap_err();
    assert!(found.contains("no path in it has more than 2 parts"), "{found}");
}
