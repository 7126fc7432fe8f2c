#![allow(clippy::unwrap_used, clippy::panic)]
use super::{IdentityFault, SshIdentities, SshIdentity, Surroundings, load};
use crate::remote::Target;
use crate::remote::tests::harness::a_target;
use crate::remote::tests::harness::{transport, transport_with};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn keygen(path: &Path, passphrase: &str, options: &[&str]) -> PathBuf {
    let made = Command::new("ssh-keygen").args(["-q", "-N", passphrase]).args(options).arg("-f").arg(path).status();
    assert!(made.unwrap().success());
    path.to_owned()
}

fn fault(path: &Path) -> IdentityFault {
    match load(path, None) {
        Ok(_) => panic!("{} was accepted", path.display()),
        Err(fault) => fault,
    }
}

#[test]
fn keys_that_cannot_be_used_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    assert!(matches!(fault(&at("missing")), IdentityFault::Unreadable { .. }));
    assert!(matches!(fault(dir.path()), IdentityFault::NotAKey { .. } | IdentityFault::TooOpen { .. }));
    for (name, options) in
        [("new", &["-t", "ed25519"][..]), ("pem", &["-t", "rsa", "-b", "2048", "-m", "PEM"]), ("pkcs8", &["-t", "ecdsa", "-m", "PKCS8"])]
    {
        let path = keygen(&at(name), "secret", options);
        assert!(matches!(fault(&path), IdentityFault::Encrypted { .. }), "{name}: {:?}", fault(&path));
    }
    let short = keygen(&at("short"), "", &["-t", "rsa", "-b", "1024"]);
    assert!(matches!(fault(&short), IdentityFault::TooShort { bits: 1024, .. }));
    let good = keygen(&at("good"), "", &["-t", "ed25519"]);
    assert!(load(&good, None).is_ok());
    fs::set_permissions(&good, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(fault(&good), IdentityFault::TooOpen { mode: 0o640, .. }));
    fs::set_permissions(at("good.pub"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(fault(&at("good.pub")), IdentityFault::NotAKey { .. }));
}

/// Of one key in 256 OpenSSH writes 31 bytes, and of this one.
#[test]
fn a_number_that_begins_with_a_zero_byte_is_a_key() {
    const SHORT: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\n\
        b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAaAAAABNlY2RzYS\n\
        1zaGEyLW5pc3RwMjU2AAAACG5pc3RwMjU2AAAAQQQjhWthOil1SirHPljCHUhd3nN9FK9g\n\
        4v1SqQ5vPEDa0ZUAG2Ru/uE6pur1PkLadDaMRQzs+tRlOahdQ1aq0iwIAAAAoP0hPjD9IT\n\
        4wAAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBCOFa2E6KXVKKsc+\n\
        WMIdSF3ec30Ur2Di/VKpDm88QNrRlQAbZG7+4Tqm6vU+Qtp0NoxFDOz61GU5qF1DVqrSLA\n\
        gAAAAfQy23DWj7nexc8D/xczSLcVG1JZoPWfV8tN/Wy3Ll6QAAAAR0ZXN0AQIDBAU=\n\
        -----END OPENSSH PRIVATE KEY-----\n";
    const PUBLIC: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBCOFa2E6KXVKKsc+WMIdSF3ec30Ur2Di/VKpDm88QNrRlQAbZG7+4Tqm6vU+Qtp0NoxFDOz61GU5qF1DVqrSLAg= test";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short");
    fs::write(&path, SHORT).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let Ok(SshIdentity::File { key, .. }) = load(&path, None) else { panic!("{:?}", fault(&path)) };
    assert_eq!(key.public_key().key_data(), russh::keys::PublicKey::from_openssh(PUBLIC).unwrap().key_data());
    let said = key.sign("of-a-test", russh::keys::HashAlg::Sha256, b"a message").unwrap();
    key.public_key().verify("of-a-test", b"a message", &said).unwrap();
    let encrypts = Command::new("ssh-keygen").args(["-q", "-p", "-P", "", "-N", "secret", "-f"]).arg(&path).status();
    assert!(encrypts.unwrap().success());
    assert!(matches!(fault(&path), IdentityFault::Encrypted { .. }));
    let Ok(SshIdentity::File { key: opened, .. }) = load(&path, Some("secret")) else { panic!("it does not open") };
    assert_eq!(opened.key_data(), key.key_data());
    assert!(matches!(load(&path, Some("another")), Err(IdentityFault::WrongPassphrase { .. })));
    fs::write(&path, SHORT.replace("AAAABG5vbmUAAAAEbm9uZQ", "AAAABG5vbmUAAAAEbm9uYQ")).unwrap();
    assert!(matches!(fault(&path), IdentityFault::NotAKey { .. }));
}

#[tokio::test]
async fn usual_files_are_offered_in_order_and_bad_ones_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let ssh = home.path().join(".ssh");
    fs::create_dir(&ssh).unwrap();
    keygen(&ssh.join("id_ecdsa"), "", &["-t", "ecdsa"]);
    keygen(&ssh.join("id_ed25519"), "", &["-t", "ed25519"]);
    keygen(&ssh.join("id_rsa"), "secret", &["-t", "rsa", "-b", "2048"]);
    let target = Target { private_key_file: None, ..a_target() };
    let surroundings = Surroundings { home: Some(home.path().to_owned()), agent_socket: Some(ssh.join("gone")), ..Surroundings::default() };
    let found = SshIdentities::gather(&target, &transport_with(&surroundings)).await.unwrap_or_else(|fault| panic!("{fault}"));
    let names: Vec<_> = found.offered.iter().map(SshIdentity::describe).collect();
    assert_eq!(names.len(), 2);
    assert!(names.first().unwrap().contains("id_ed25519") && names.last().unwrap().contains("id_ecdsa"), "{names:?}");
    assert_eq!(found.skipped.len(), 2, "{:?}", found.skipped);
}

#[tokio::test]
async fn a_password_alone_means_no_key_at_all() {
    let target = Target { password: Some(kok_crds::Secret::new("x")), ..a_target() };
    let found = SshIdentities::gather(&Target { private_key_file: None, ..target }, &transport()).await;
    assert!(found.is_ok_and(|found| found.offered.is_empty()));
}

#[tokio::test]
async fn a_key_of_the_users_files_is_the_only_one() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("key");
    keygen(&path, "", &["-t", "ed25519"]);
    keygen(&home.path().join("locked"), "secret", &["-t", "ed25519"]);
    let with = |name: &str| Target {
        private_key: Some(kok_crds::Secret::new(fs::read(home.path().join(name)).unwrap())),
        password: Some(kok_crds::Secret::new("x")),
        ..a_target()
    };
    let found = SshIdentities::gather(&with("key"), &transport()).await.unwrap_or_else(|fault| panic!("{fault}"));
    let names: Vec<_> = found.offered.iter().map(SshIdentity::describe).collect();
    assert!(names.len() == 1 && names.first().unwrap().starts_with("ssh-privatekey "), "{names:?}");
    let fault = SshIdentities::gather(&with("locked"), &transport()).await.err().unwrap();
    assert!(matches!(fault, IdentityFault::Encrypted { .. }), "{fault}");
}
