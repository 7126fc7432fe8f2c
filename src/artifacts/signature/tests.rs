#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::*;

const EMPTY: &str = r#"{"format": 1, "kubernetes": [], "files": [], "images": []}"#;

/// A bundle's folder, and a key of OpenSSH's own with its line of an allowed-signers file.
fn folder() -> (TempDir, PrivateKey, String) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(INDEX), EMPTY).unwrap();
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(folder.path().join("key")).status();
    assert!(made.unwrap().success());
    let key = read_key(&folder.path().join("key"), || panic!("it has no passphrase")).unwrap();
    let line = format!("releases@example.org {}", fs::read_to_string(folder.path().join("key.pub")).unwrap());
    (folder, key, line)
}

fn check(folder: &TempDir, signers: &str) -> Result<String, Failure> {
    signer_of(&BundleFolder::open(folder.path()).unwrap(), &Signers::parse("signers", signers).unwrap())
}

#[test]
fn who_has_signed_is_known_and_openssh_agrees() {
    let (folder, key, line) = folder();
    assert!(check(&folder, &line).unwrap_err().to_string().contains("is not signed"));
    sign_folder(folder.path(), &key).unwrap();
    assert_eq!(check(&folder, &line).unwrap(), "releases@example.org");
    fs::write(folder.path().join("signers"), &line).unwrap();
    let index = fs::File::open(folder.path().join(INDEX)).unwrap();
    let mut verify = Command::new("ssh-keygen");
    verify.args(["-Y", "verify", "-f", "signers", "-I", "releases@example.org", "-n", NAMESPACE, "-s", SIGNATURE]);
    assert!(verify.current_dir(folder.path()).stdin(Stdio::from(index)).stdout(Stdio::null()).status().unwrap().success());
    // And the other way round.
    fs::remove_file(folder.path().join(SIGNATURE)).unwrap();
    let mut sign = Command::new("ssh-keygen");
    sign.args(["-q", "-Y", "sign", "-f", "key", "-n", NAMESPACE, INDEX]).current_dir(folder.path()).stderr(Stdio::null());
    assert!(sign.status().unwrap().success());
    assert_eq!(check(&folder, &line).unwrap(), "releases@example.org");
}

#[test]
fn what_was_changed_and_what_others_have_signed_is_refused() {
    let (folder, key, line) = folder();
    let (_other, other_key, other_line) = self::folder();
    sign_folder(folder.path(), &key).unwrap();
    assert!(check(&folder, &other_line).unwrap_err().to_string().contains("signed by somebody else"));
    fs::write(folder.path().join(INDEX), format!("{EMPTY}\n")).unwrap();
    assert!(check(&folder, &line).unwrap_err().to_string().contains("not the one that was signed"));
    fs::write(folder.path().join(INDEX), EMPTY).unwrap();
    // A signature of the same bytes for something else is none of a bundle.
    let signature = key.sign("git", HashAlg::Sha512, EMPTY.as_bytes()).unwrap().to_pem(LineEnding::LF).unwrap();
    fs::write(folder.path().join(SIGNATURE), signature).unwrap();
    assert!(check(&folder, &line).unwrap_err().to_string().contains("not the one that was signed"));
    fs::write(folder.path().join(SIGNATURE), "no signature").unwrap();
    assert!(check(&folder, &line).unwrap_err().to_string().contains("can't be read"));
    sign_folder(folder.path(), &other_key).unwrap();
    assert!(check(&folder, &line).is_err());
}

#[test]
fn a_line_counts_whole_or_not_at_all() {
    let (folder, key, line) = folder();
    sign_folder(folder.path(), &key).unwrap();
    let with = |options: &str| line.replacen("ssh-ed25519", &format!("{options} ssh-ed25519"), 1);
    assert!(check(&folder, &with("namespaces=\"file,kokctl-bundle\"")).is_ok());
    assert!(check(&folder, &with("namespaces=\"git\"")).is_err(), "it is for something else");
    for condition in ["cert-authority", "valid-before=\"20200101\""] {
        let failure = Signers::parse("signers", &with(condition)).unwrap_err();
        assert_eq!(failure.at.as_deref(), Some("signers:1"));
        assert!(failure.to_string().contains("does not read the condition"), "{failure}");
    }
    for wrong in ["alone", "name no-key", "name ssh-ed25519 AAAA"] {
        assert!(Signers::parse("signers", &format!("# a remark\n\n{wrong}\n")).unwrap_err().at.unwrap().ends_with(":3"), "{wrong}");
    }
}

#[test]
fn a_key_with_a_passphrase_is_opened_with_it() {
    let (folder, ..) = folder();
    let path = folder.path().join("key");
    let made = Command::new("ssh-keygen").args(["-q", "-p", "-P", "", "-N", "word", "-f"]).arg(&path).stdout(Stdio::null()).status();
    assert!(made.unwrap().success());
    assert!(read_key(&path, || Ok("word".to_owned().into())).is_ok());
    assert!(read_key(&path, || Ok("other".to_owned().into())).unwrap_err().to_string().contains("can't be decrypted"));
    assert!(read_key(&path, || Err("nobody can be asked".to_owned())).unwrap_err().to_string().contains("ssh-keygen -Y sign"));
}
