//! Opening what ansible-vault has encrypted: its cipher `AES256`, of which all formats so far make use (ansible/parsing/vault, `VaultAES256`).

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{hmac, pbkdf2};
use zeroize::Zeroizing;

/// Rounds of PBKDF2-HMAC-SHA256, in every format so far.
const ROUNDS: NonZeroU32 = match NonZeroU32::new(10_000) {
    Some(rounds) => rounds,
    None => NonZeroU32::MIN,
};
/// Bytes of each of the two keys: that of AES-256, and that of HMAC-SHA256.
const KEY: usize = 32;
/// Bytes of a block of AES, and so of the counter that encryption begins with.
const BLOCK: usize = 16;

/// What stands in a vault.
#[derive(Debug, Clone, Copy)]
pub struct VaultText<'a> {
    /// What makes its keys others than those of the next vault of the same password.
    pub salt: &'a [u8],
    /// HMAC-SHA256 of the ciphertext.
    pub mac: &'a [u8],
    /// AES-256 in counter mode of the text, filled up as PKCS#7 has it.
    pub ciphertext: &'a [u8],
}

/// Why a vault can't be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// It was encrypted with another password, or its text was changed, which nobody can tell from that.
    #[error("it was encrypted with another password")]
    Password,
    /// The password is right, and what came out is nothing that ansible-vault would have encrypted.
    #[error("what was encrypted is damaged")]
    Damaged,
}

/// What was encrypted. It takes 10,000 rounds of PBKDF2, whether the password is right or not.
///
/// # Errors
/// [`VaultError`]; the HMAC is compared in a time that says nothing of where it differs.
pub fn open_vault(vault: VaultText<'_>, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    let mut derived = Zeroizing::new([0; 2 * KEY + BLOCK]);
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, vault.salt, password, derived.as_mut());
    let (cipher_key, rest) = derived.split_at(KEY);
    let (mac_key, counter) = rest.split_at(KEY);
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, mac_key), vault.ciphertext, vault.mac).map_err(|_| VaultError::Password)?;
    let damaged = |_| VaultError::Damaged;
    let counter: [u8; BLOCK] = counter.try_into().map_err(|_| VaultError::Damaged)?;
    let key = UnboundCipherKey::new(&AES_256, cipher_key).and_then(DecryptingKey::ctr).map_err(damaged)?;
    let mut text = Zeroizing::new(vault.ciphertext.to_vec());
    key.decrypt(&mut text, DecryptionContext::Iv128(FixedLength::from(counter))).map_err(damaged)?;
    let length = unpadded(&text).ok_or(VaultError::Damaged)?;
    text.truncate(length);
    Ok(text)
}

/// How much of a text that PKCS#7 has filled up is text.
fn unpadded(text: &[u8]) -> Option<usize> {
    let last = *text.last()?;
    let filled = usize::from(last);
    let length = text.len().checked_sub(filled).filter(|_| (1..=BLOCK).contains(&filled) && text.len().is_multiple_of(BLOCK))?;
    text.iter().skip(length).all(|byte| *byte == last).then_some(length)
}
