//! The keys we log in with.
use super::target::Target;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::{Error as KeyError, PrivateKey, PublicKey, decode_secret_key};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use zeroize::Zeroizing;

/// sshd counts every key that is offered, and its usual `MaxAuthTries` is 6.
const MAX_IDENTITIES: usize = 5;
/// Shorter RSA keys can be broken or will be soon (NIST SP 800-131A).
const MIN_RSA_BITS: u32 = 2048;
/// A private key file is a few KiB. What is larger is something else, and need not be read into memory to find out.
const MAX_KEY_FILE: u64 = 64 << 10;
/// An agent that asks its user for something may take long to sign, but the list of keys is there at once.
const AGENT_DEADLINE: Duration = Duration::from_secs(2);

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

/// A key to offer.
pub(super) enum Identity {
    File { key: Arc<PrivateKey>, path: PathBuf },
    Agent { key: PublicKey, comment: String },
}

impl Identity {
    /// For messages: where the key is from and its fingerprint, never more.
    pub(super) fn describe(&self) -> String {
        let print = |key: &PublicKey| super::host_key::KeyPrint::of(key);
        match self {
            Self::File { key, path } => format!("{} ({})", path.display(), print(key.public_key())),
            Self::Agent { key, comment } => {
                format!("agent key {} ({})", super::text::printable(comment.as_bytes()), print(key))
            }
        }
    }

    pub(super) fn is_rsa(&self) -> bool {
        let key = match self {
            Self::File { key, .. } => key.public_key(),
            Self::Agent { key, .. } => key,
        };
        key.key_data().is_rsa()
    }
}

/// What the process has that may identify us, apart from what the target names.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    pub(super) home: Option<PathBuf>,
    pub(super) agent_socket: Option<PathBuf>,
}

impl Surroundings {
    pub(super) fn of_process() -> Self {
        Self {
            home: std::env::home_dir(),
            agent_socket: std::env::var_os("SSH_AUTH_SOCK").filter(|path| !path.is_empty()).map(PathBuf::from),
        }
    }

    /// The known_hosts files that OpenSSH reads too.
    pub(super) fn known_hosts_files(&self) -> Vec<PathBuf> {
        let own = self.home.iter().map(|home| home.join(".ssh/known_hosts"));
        own.chain([PathBuf::from("/etc/ssh/ssh_known_hosts")]).collect()
    }
}

/// The identities to offer, in order, with the agent that holds some of them.
pub(super) struct Identities {
    pub(super) offered: Vec<Identity>,
    pub(super) agent: Option<AgentClient<UnixStream>>,
    /// Keys that were found and can't be used, and why.
    pub(super) skipped: Vec<String>,
}

impl Identities {
    /// The key that the target names and nothing else; or the agent's keys and the usual files.
    pub(super) async fn gather(target: &Target, surroundings: &Surroundings) -> Result<Self, IdentityFault> {
        if let Some(path) = &target.private_key_file {
            let offered = vec![load(path)?];
            return Ok(Self { offered, agent: None, skipped: Vec::new() });
        }
        let mut found = Self { offered: Vec::new(), agent: None, skipped: Vec::new() };
        if let Some(socket) = &surroundings.agent_socket {
            found.ask_agent(socket).await;
        }
        let names = ["id_ed25519", "id_ecdsa", "id_rsa"];
        let home = surroundings.home.iter();
        let searched: Vec<_> = home.flat_map(|home| names.map(|name| home.join(".ssh").join(name))).collect();
        for path in searched.iter().filter(|path| path.exists()) {
            match load(path) {
                Ok(identity) => found.offered.push(identity),
                Err(fault) => found.skipped.push(fault.to_string()),
            }
        }
        if found.offered.len() > MAX_IDENTITIES {
            found.skipped.push(format!("only the first {MAX_IDENTITIES} of {} keys were offered", found.offered.len()));
            found.offered.truncate(MAX_IDENTITIES);
        }
        if found.offered.is_empty() {
            return Err(IdentityFault::None { searched, skipped: found.skipped });
        }
        Ok(found)
    }

    /// An agent that is gone or does not answer is no reason to stop: there may be files.
    async fn ask_agent(&mut self, socket: &Path) {
        let listing = async {
            let mut agent = AgentClient::connect_uds(socket).await?;
            let identities = agent.request_identities().await?;
            Ok::<_, KeyError>((agent, identities))
        };
        match tokio::time::timeout(AGENT_DEADLINE, listing).await {
            Ok(Ok((agent, identities))) => {
                self.agent = Some(agent);
                self.offered.extend(identities.into_iter().filter_map(|identity| match identity {
                    AgentIdentity::PublicKey { key, comment } if rsa_bits(&key) >= MIN_RSA_BITS => Some(Identity::Agent { key, comment }),
                    AgentIdentity::PublicKey { .. } | AgentIdentity::Certificate { .. } => None,
                }));
            }
            Ok(Err(error)) => self.skipped.push(format!("the SSH agent failed: {error}")),
            Err(_) => self.skipped.push("the SSH agent did not answer".to_owned()),
        }
    }
}

/// Reads and checks one key file.
fn load(path: &Path) -> Result<Identity, IdentityFault> {
    let unreadable = |source| IdentityFault::Unreadable { path: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    let mode = metadata.mode() & 0o7777;
    // Like ssh: a key of another user, such as one of a virtual machine's tool, is that user's affair.
    if mode & 0o077 != 0 && metadata.uid() == rustix::process::getuid().as_raw() {
        return Err(IdentityFault::TooOpen { path: path.to_owned(), mode });
    }
    let not_a_key = |reason: String| IdentityFault::NotAKey { path: path.to_owned(), reason };
    if !metadata.is_file() {
        return Err(not_a_key("it is not a regular file".to_owned()));
    }
    if metadata.len() > MAX_KEY_FILE {
        return Err(not_a_key(format!("it is {} bytes long", metadata.len())));
    }
    let bytes = Zeroizing::new(std::fs::read(path).map_err(unreadable)?);
    let text = std::str::from_utf8(&bytes).map_err(|_| not_a_key("it is not text".to_owned()))?;
    let key = match decode_secret_key(text, None) {
        Ok(key) => key,
        Err(KeyError::KeyIsEncrypted) => {
            return Err(IdentityFault::Encrypted { path: path.to_owned() });
        }
        // The older formats say it in their header, and the decoder stumbles over what follows.
        Err(_) if text.contains("ENCRYPTED") => {
            return Err(IdentityFault::Encrypted { path: path.to_owned() });
        }
        Err(error) => return Err(not_a_key(error.to_string())),
    };
    match rsa_bits(key.public_key()) {
        bits if bits < MIN_RSA_BITS => Err(IdentityFault::TooShort { path: path.to_owned(), bits }),
        _ => Ok(Identity::File { key: Arc::new(key), path: path.to_owned() }),
    }
}

/// The length of an RSA key's modulus. Keys of other types are long enough by their type.
fn rsa_bits(key: &PublicKey) -> u32 {
    key.key_data().rsa().map_or(u32::MAX, |rsa| rsa.key_size())
}

#[cfg(test)]
#[path = "tests/identity.rs"]
mod tests;
