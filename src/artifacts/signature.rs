//! Who has made a bundle: a signature of its index, by an SSH key, in OpenSSH's own form (PROTOCOL.sshsig). The index names all else by digest.
//!
//! `ssh-keygen -Y sign` and `-Y verify` make and check the same.

use std::path::Path;

use kok_tasks::bundle::INDEX;
use russh::keys::ssh_key::authorized_keys::ConfigOpts;
use russh::keys::ssh_key::{HashAlg, LineEnding, PrivateKey, PublicKey, SshSig};

use super::BundleFolder;
use crate::failure::{Failure, Kind};
use crate::plain_file;

/// Lies beside the index.
pub const SIGNATURE: &str = "bundle.json.sig";

/// What is signed, so that a signature of something else is none of a bundle.
pub const NAMESPACE: &str = "kokctl-bundle";

/// A signature has some hundred bytes, of a large RSA key two thousand.
pub(super) const MOST_SIGNATURE_BYTES: u64 = 64 << 10;

/// Those whose bundles are taken, by an allowed-signers file (ssh-keygen(1)).
#[derive(Debug, Clone)]
pub struct Signers(Vec<Signer>);

#[derive(Debug, Clone)]
struct Signer {
    principals: String,
    key: PublicKey,
}

impl Signers {
    /// Reads an allowed-signers file; `file` is what messages call it.
    ///
    /// # Errors
    /// [`Failure`] for a line that is none, and for one with a condition that is not read here: nobody may be let in by half of what it says.
    pub fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        let is_line = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| is_line(line));
        let signers = lines.map(|(number, line)| {
            Signer::parse(line).map_err(|because| {
                let failure = Failure::new(Kind::Input, "a line of the allowed signers can't be used").at(format!("{file}:{}", number + 1));
                failure.because(because).hint("write `NAME ssh-ed25519 AAAA…`, as in an allowed-signers file of ssh-keygen(1)")
            })
        });
        signers.collect::<Result<Vec<Signer>, Failure>>().map(|signers| Self(signers.into_iter().filter(Signer::is_of_bundles).collect()))
    }
}

impl Signer {
    /// One for other things than bundles has no principals.
    fn is_of_bundles(&self) -> bool {
        !self.principals.is_empty()
    }

    fn parse(line: &str) -> Result<Self, String> {
        let (principals, rest) = line.split_once(char::is_whitespace).ok_or("it has a name alone")?;
        let (conditions, key) =
            Self::conditions_and_key(rest.trim_start()).map_err(|error| format!("behind the name there is no public key: {error}"))?;
        let mut is_ours = true;
        for option in conditions.iter() {
            match option.split_once('=') {
                Some((name, value)) if name.eq_ignore_ascii_case("namespaces") => {
                    is_ours = value.trim_matches('"').split(',').any(|namespace| namespace == NAMESPACE || namespace == "*");
                }
                _ => return Err(format!("this version does not read the condition `{option}`")),
            }
        }
        let principals = if is_ours { principals.trim_matches('"').to_owned() } else { String::new() };
        Ok(Self { principals, key })
    }

    /// `authorized_keys::Entry` would take conditions before a key without a comment for the key.
    fn conditions_and_key(text: &str) -> Result<(ConfigOpts, PublicKey), russh::keys::ssh_key::Error> {
        text.parse().map(|key| (ConfigOpts::default(), key)).or_else(|error| {
            let (conditions, key) = text.split_once(' ').ok_or(error)?;
            Ok((ConfigOpts::new(conditions)?, key.trim_start().parse()?))
        })
    }
}

/// Signs an index as it stands in its file.
///
/// # Errors
/// [`Failure`] if the key can't sign.
pub fn sign(index: &[u8], key: &PrivateKey) -> Result<String, Failure> {
    let signed = key.sign(NAMESPACE, HashAlg::Sha512, index).and_then(|signature| signature.to_pem(LineEnding::LF));
    signed.map_err(|error| Failure::new(Kind::Input, "the bundle can't be signed with this key").because(error.to_string()))
}

/// Signs the bundle of a folder.
///
/// # Errors
/// [`Failure`] if the key can't sign, or the folder can't be read or written.
pub fn sign_folder(folder: &Path, key: &PrivateKey) -> Result<(), Failure> {
    let bundle = BundleFolder::open(folder)?;
    let path = folder.join(SIGNATURE);
    let failed = |error: std::io::Error| {
        Failure::new(Kind::Input, "the signature can't be written").at(path.display().to_string()).because(error.to_string())
    };
    std::fs::write(&path, sign(bundle.index().unwrap_or_default(), key)?).map_err(failed)
}

/// Reads a private key in OpenSSH's form; `passphrase` is asked for one that is encrypted.
///
/// # Errors
/// [`Failure`] if there is none in the file, or the passphrase is wrong.
pub fn read_key(path: &Path, passphrase: impl FnOnce() -> Result<zeroize::Zeroizing<String>, String>) -> Result<PrivateKey, Failure> {
    let failure = |because: String| {
        let by_hand = format!(
            "`ssh-keygen -Y sign -n {NAMESPACE} -f KEY {INDEX}` in the bundle's folder makes the same signature, with keys of an agent too"
        );
        Failure::new(Kind::Input, "the key can't be used").at(path.display().to_string()).because(because).hint(by_hand)
    };
    let text = plain_file::read(path, MOST_SIGNATURE_BYTES).map_err(failure)?;
    let key = PrivateKey::from_openssh(&text).map_err(|error| failure(format!("it is no private key of OpenSSH's: {error}")))?;
    if !key.is_encrypted() {
        return Ok(key);
    }
    let passphrase = passphrase().map_err(failure)?;
    key.decrypt(passphrase.as_bytes()).map_err(|error| failure(format!("it can't be decrypted: {error}")))
}

/// Who of the signers has signed a bundle.
///
/// # Errors
/// [`Failure`] if nobody has, or somebody else, or the index is not what was signed.
pub fn signer_of(folder: &BundleFolder, signers: &Signers) -> Result<String, Failure> {
    let path = folder.path().join(SIGNATURE);
    let refused = |what: &str, because: String| {
        let failure = Failure::new(Kind::Input, what).at(path.display().to_string()).because(because);
        failure.hint("take a bundle from somebody whom --bundle-signers names; nothing was changed on any host")
    };
    let pem = plain_file::read(&path, MOST_SIGNATURE_BYTES).map_err(|because| refused("the bundle is not signed", because))?;
    let signature = SshSig::from_pem(&pem).map_err(|error| refused("the bundle's signature can't be read", error.to_string()))?;
    let fingerprint = PublicKey::from(signature.public_key().clone()).fingerprint(HashAlg::Sha256);
    let signer = signers.0.iter().find(|signer| signer.key.key_data() == signature.public_key());
    let signer = signer.ok_or_else(|| {
        refused("the bundle is signed by somebody else", format!("its key is {fingerprint}, which is not among the signers"))
    })?;
    let is_right = signer.key.verify(NAMESPACE, folder.index().unwrap_or_default(), &signature);
    is_right.map_err(|error| {
        refused("the bundle is not the one that was signed", format!("its index does not go with the signature: {error}"))
    })?;
    Ok(signer.principals.clone())
}

#[cfg(test)]
mod tests;
