//! Everything that is read of what a user names is a file with an end: a device has none, and that of a pipe may never come.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::{CLUSTER, ClusterFiles, ExtraVars, folder, read, refused, with_addons};
use crate::failure::Failure;

/// A test that waited for it would wait for ever.
fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

/// A device has no end, and a pipe none that comes; a shell's `<(…)` has.
#[test]
fn only_files_and_what_a_shell_has_opened_are_read() {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    assert!(refused("/dev/zero".as_ref(), &[]).because.unwrap().contains("a device"));
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(CLUSTER.as_bytes()).unwrap();
    drop(writer);
    assert_eq!(read(format!("/dev/fd/{}", reader.as_raw_fd()).into(), &[]).name, "bern");
}

#[test]
fn files_of_variables_have_an_end() {
    let folder = folder();
    let named = folder.path().join("extra.yml");
    pipe(&named);
    for path in [named.display().to_string(), "/dev/zero".to_owned()] {
        let failure = refused(&folder.path().join("berlin"), &[&format!("@{path}")]);
        assert!(failure.because.unwrap().contains("a device or a pipe"));
    }
}

fn failure_texts(failures: &[Failure]) -> String {
    failures.iter().map(ToString::to_string).collect()
}

#[test]
fn manifests_have_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("pipe");
    pipe(&named);
    for path in [named.to_str().unwrap(), "/dev/zero"] {
        let failures = with_addons(&format!("  addons: [{{name: a, manifest: {path}}}]"), &[]).unwrap_err();
        assert!(failure_texts(&failures).contains("a device or a pipe"), "{failures:?}");
    }
}

/// Each field that names a file, with what is written there.
#[test]
fn files_that_a_cluster_names_have_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("pipe");
    pipe(&named);
    let certificates = [
        "authorities: {kubernetes: {certificate: PIPE, key: PIPE}}",
        "authorities: {kubernetes: {certificate: /dev/zero, key: /dev/zero}}",
        "escrow: PIPE",
        "escrow: /dev/zero",
    ];
    for text in certificates {
        let text = text.replace("PIPE", named.to_str().unwrap());
        let path = folder.path().join("c.yaml");
        fs::write(&path, format!("{CLUSTER}  certificates: {{{text}}}\n")).unwrap();
        let failures = ClusterFiles { files: vec![path], ..Default::default() }.whole(&ExtraVars::default()).err().unwrap();
        let told = failure_texts(&failures);
        assert!(told.contains("a device or a pipe") || told.contains("no plain file"), "{text}: {told}");
    }
}

#[test]
fn keys_and_their_passphrases_have_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("pipe");
    pipe(&named);
    for path in [named.as_path(), "/dev/zero".as_ref()] {
        let fault = crate::remote::key_fault(path).unwrap().to_string();
        assert!(fault.contains("not a private key") || fault.contains("open to others"), "{fault}");
    }
    assert!(crate::plain_file::open(&named).is_err(), "as it is called for the file of a passphrase");
}
