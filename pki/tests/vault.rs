//! What ansible-vault has encrypted is opened with its password, and with no other.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::io::Write as _;
use std::num::NonZeroU32;
use std::process::{Command, Stdio};

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{hmac, pbkdf2};
use kok_pki::{VaultError, VaultText, open_vault};
use proptest::prelude::*;

/// Made by `ansible-vault encrypt_string` of ansible-core 2.19.14 with the password `correct horse`: `Tr0ub4dor&3`.
const THEIRS: &str = "65663161363664366335386432326337663337626266326265363530646165303665323330653936
3537303036303763303961353135653435363233333634610a396166363937396434646532396437
64616164646662613730353832383734656131346262343139386261656166313836646236383962
6162623261386237300a616630326562336564356130383232616237383135383030633932366538
3036";

fn bytes(digits: &[u8]) -> Vec<u8> {
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Salt, HMAC and ciphertext of the digits of a vault.
fn parts(digits: &str) -> [Vec<u8>; 3] {
    let digits: String = digits.split_whitespace().collect();
    let body = bytes(digits.as_bytes());
    let parts: Vec<Vec<u8>> = body.split(|byte| *byte == b'\n').map(bytes).collect();
    parts.try_into().unwrap()
}

fn open([salt, mac, ciphertext]: &[Vec<u8>; 3], password: &str) -> Result<Vec<u8>, VaultError> {
    open_vault(VaultText { salt, mac, ciphertext }, password.as_bytes()).map(|text| text.to_vec())
}

/// Encrypts as ansible-vault does. Only tests need it.
fn seal(salt: &[u8], password: &str, padded: &[u8]) -> [Vec<u8>; 3] {
    let mut derived = [0; 80];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, NonZeroU32::new(10_000).unwrap(), salt, password.as_bytes(), &mut derived);
    let mut text = padded.to_vec();
    let key = EncryptingKey::ctr(UnboundCipherKey::new(&AES_256, &derived[..32]).unwrap()).unwrap();
    let counter: [u8; 16] = derived[64..].try_into().unwrap();
    key.less_safe_encrypt(&mut text, EncryptionContext::Iv128(FixedLength::from(counter))).unwrap();
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &derived[32..64]), &text);
    [salt.to_vec(), mac.as_ref().to_vec(), text]
}

fn padded(text: &[u8]) -> Vec<u8> {
    let fill = 16 - text.len() % 16;
    [text, &vec![u8::try_from(fill).unwrap(); fill]].concat()
}

#[test]
fn theirs_is_opened_by_its_password_only() {
    let vault = parts(THEIRS);
    assert_eq!(open(&vault, "correct horse").unwrap(), b"Tr0ub4dor&3");
    for other in ["", "correct horse ", "Correct horse", "battery staple"] {
        assert_eq!(open(&vault, other), Err(VaultError::Password), "{other}");
    }
}

#[test]
fn what_was_changed_is_not_opened() {
    let vault = parts(THEIRS);
    for (part, byte) in [(0, 0), (1, 31), (2, 15)] {
        let mut changed = vault.clone();
        changed[part][byte] ^= 1;
        assert_eq!(open(&changed, "correct horse"), Err(VaultError::Password), "{part}");
    }
    for (part, length) in [(1, 31), (1, 0), (2, 0)] {
        let mut cut = vault.clone();
        cut[part].truncate(length);
        assert_eq!(open(&cut, "correct horse"), Err(VaultError::Password), "{part}");
    }
}

/// With the right HMAC, and nothing that PKCS#7 has filled up.
#[test]
fn what_nobody_would_encrypt_is_damaged() {
    for text in [vec![], vec![1; 15], vec![0; 16], vec![17; 32], [vec![7; 14], vec![1, 2]].concat()] {
        assert_eq!(open(&seal(b"salt", "x", &text), "x"), Err(VaultError::Damaged), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_text_comes_out_again(text in proptest::collection::vec(any::<u8>(), 0..100), password in "\\PC{1,20}", salt: [u8; 32]) {
        prop_assert_eq!(open(&seal(&salt, &password, &padded(&text)), &password).unwrap(), text);
    }
}

/// The other way round: `KOK_ANSIBLE_VAULT=…/bin/ansible-vault cargo test -p kok-pki --test vault -- --ignored`.
#[test]
#[ignore = "needs ansible-vault, named by KOK_ANSIBLE_VAULT"]
fn ours_is_opened_by_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "pässword\n").unwrap();
    let text = "as long as two blocks are, and Ünïcode\n".as_bytes();
    let [salt, mac, ciphertext] = seal(&[7; 32], "pässword", &padded(text)).map(|part| hex(&part));
    let vault = format!("$ANSIBLE_VAULT;1.1;AES256\n{}\n", hex(format!("{salt}\n{mac}\n{ciphertext}").as_bytes()));
    let mut theirs = Command::new(std::env::var_os("KOK_ANSIBLE_VAULT").unwrap());
    theirs.args(["decrypt", "--output", "-", "--vault-password-file"]).arg(&password);
    let mut theirs = theirs.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    theirs.stdin.take().unwrap().write_all(vault.as_bytes()).unwrap();
    let output = theirs.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, text);
}
