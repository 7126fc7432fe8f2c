//! Keys of P-256 whose private number begins with a zero byte. OpenSSH leaves that byte out, as every number of the protocol begins with a byte that
//! counts (RFC 4251, section 5, `mpint`): of one key in 256. The library's decoder wants all of the 32.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use russh::keys::ssh_key::private::{EcdsaKeypair, EcdsaPrivateKey, KeypairData};
use russh::keys::ssh_key::public::{EcdsaPublicKey, KeyData};
use russh::keys::{PrivateKey, PublicKey};
use zeroize::Zeroizing;

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
/// What a file of OpenSSH begins with (PROTOCOL.key).
const MAGIC: &[u8] = b"openssh-key-v1\0";
/// The type of such a key.
const P256: &[u8] = b"ecdsa-sha2-nistp256";
/// Two equal numbers before the private part, by which a wrong passphrase is found.
const CHECK_BYTES: usize = 8;

/// The key of a file in OpenSSH's format, if it is such a key, and encrypted with this passphrase or not at all.
pub(super) fn decode(text: &str, passphrase: Option<&str>) -> Option<PrivateKey> {
    let (public, private) = passphrase.map_or_else(|| plain(text), |passphrase| decrypted(text, passphrase))?;
    let KeyData::Ecdsa(EcdsaPublicKey::NistP256(point)) = public.key_data() else { return None };
    let mut private = private.get(CHECK_BYTES..)?;
    (string(&mut private)? == P256).then_some(())?;
    let (_curve, _point) = (string(&mut private)?, string(&mut private)?);
    let scalar = string(&mut private)?;
    let mut padded = Zeroizing::new([0; 32]);
    padded.get_mut(32_usize.checked_sub(scalar.len())?..)?.copy_from_slice(scalar);
    let pair = EcdsaKeypair::NistP256 { public: *point, private: EcdsaPrivateKey::from(*padded) };
    PrivateKey::new(KeypairData::Ecdsa(pair), "").ok()
}

/// The public key and the private part, as they stand in the file.
fn plain(text: &str) -> Option<(PublicKey, Zeroizing<Vec<u8>>)> {
    let lines = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let lines = Zeroizing::new(lines.split_whitespace().collect::<String>());
    let bytes = Zeroizing::new(STANDARD.decode(lines.as_bytes()).ok()?);
    let mut rest = bytes.strip_prefix(MAGIC)?;
    // Cipher, key derivation and its options.
    for plain in [&b"none"[..], b"none", b""] {
        (string(&mut rest)? == plain).then_some(())?;
    }
    rest = rest.strip_prefix(&1_u32.to_be_bytes())?;
    let public = PublicKey::from_bytes(string(&mut rest)?).ok()?;
    Some((public, Zeroizing::new(string(&mut rest)?.to_vec())))
}

/// The same of an encrypted one, by the ciphers that ssh-keygen(1) encrypts with unless it is told another one: they need no tag.
fn decrypted(text: &str, passphrase: &str) -> Option<(PublicKey, Zeroizing<Vec<u8>>)> {
    let key = PrivateKey::from_openssh(text).ok()?;
    let mut private = Zeroizing::new(key.key_data().encrypted()?.to_vec());
    let (secret, iv) = key.kdf().derive_key_and_iv(key.cipher(), passphrase).ok()?;
    key.cipher().decrypt(&secret, &iv, &mut private, None).ok()?;
    Some((key.public_key().clone(), private))
}

/// Takes the next string: four bytes that say how long it is, and itself.
fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk::<4>()?;
    let (string, behind) = behind.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    *rest = behind;
    Some(string)
}
