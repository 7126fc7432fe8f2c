//! Why there is no key to log in with.
use std::path::PathBuf;

/// Why a private key can't be used. Nothing was sent anywhere.
#[derive(Debug, thiserror::Error)]
pub enum IdentityFault {
    /// The file can't be read.
    #[error("the private key {} can't be read", .path.display())]
    Unreadable {
        /// The key file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others may read the file.
    #[error("the private key {} is open to others (mode {:04o})", .path.display(), .mode)]
    TooOpen {
        /// The key file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The key needs a passphrase.
    #[error("the private key {} is encrypted", .path.display())]
    Encrypted {
        /// The key file.
        path: PathBuf,
    },
    /// Whoever was asked for the passphrase did not give it.
    #[error("the passphrase of {} was not given", .path.display())]
    NotGiven {
        /// The key file.
        path: PathBuf,
    },
    /// The key's passphrase is another one.
    #[error("the passphrase of {} is wrong", .path.display())]
    WrongPassphrase {
        /// The key file.
        path: PathBuf,
    },
    /// The file with the passphrase can't be read.
    #[error("the passphrase in {} can't be read", .file.display())]
    NoPassphrase {
        /// The file with the passphrase.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds no private key that we understand.
    #[error("{} is not a private key", .path.display())]
    NotAKey {
        /// The key file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// An RSA key below 2048 bits.
    #[error("the RSA key {} is too short ({} bits)", .path.display(), .bits)]
    TooShort {
        /// The key file.
        path: PathBuf,
        /// Its modulus.
        bits: u32,
    },
    /// There is no key at all.
    #[error("there is no private key to log in with")]
    None {
        /// Where keys were looked for.
        searched: Vec<PathBuf>,
        /// Keys that were found and can't be used, and why.
        skipped: Vec<String>,
    },
}
