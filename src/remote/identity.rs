//! The keys we log in with.
use super::identity_fault::IdentityFault;
use super::passphrase::Passphrases;
use super::short_scalar;
use super::target::{AgentChoice, Target};
use super::transport::Transport;
use kok_crds::Secret;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::ssh_key::Error as SshKeyError;
use russh::keys::ssh_key::encoding::Error as EncodingError;
use russh::keys::{Error as KeyError, PrivateKey, PublicKey, decode_secret_key};
use std::ffi::OsString;
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

/// What a key is called that stands in the user's files: the name that it has there.
const GIVEN_KEY: &str = "ssh-privatekey";

/// A key to offer.
pub(super) enum SshIdentity {
    File { key: Arc<PrivateKey>, path: PathBuf },
    Agent { key: PublicKey, comment: String },
}

impl SshIdentity {
    /// For messages: where the key is from and its fingerprint, never more.
    pub(super) fn describe(&self) -> String {
        let print = |key: &PublicKey| super::host_key_fault::KeyPrint::from_key(key);
        match self {
            Self::File { key, path } => format!("{} ({})", path.display(), print(key.public_key())),
            Self::Agent { key, comment } => {
                format!("agent key {} ({})", super::text::printable(comment.as_bytes()), print(key))
            }
        }
    }

    fn public_key(&self) -> &PublicKey {
        match self {
            Self::File { key, .. } => key.public_key(),
            Self::Agent { key, .. } => key,
        }
    }

    fn is(&self, key: &PublicKey) -> bool {
        self.public_key().key_data() == key.key_data()
    }

    pub(super) fn is_rsa(&self) -> bool {
        self.public_key().key_data().is_rsa()
    }
}

/// What the process has that may identify us, apart from what the target names.
///
/// The default has nothing: then only what the cluster's files themselves hold counts.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The home directory, with `.ssh` and what `~/` means.
    pub home: Option<PathBuf>,
    /// The name of whoever connects; root, if it is not known.
    pub local_user: Option<String>,
    /// The socket of the SSH agent.
    pub agent_socket: Option<PathBuf>,
    /// Where passphrases of keys come from.
    pub passphrases: Passphrases,
    /// The system's configuration of ssh(1), beside that of the home directory.
    pub system_config: Option<PathBuf>,
    /// Variables that an ssh_config names.
    pub variables: Variables,
}

/// Looks up a variable by its name.
#[derive(Clone, Default)]
pub struct Variables(Option<Arc<Find>>);

type Find = dyn Fn(&str) -> Option<OsString> + Send + Sync;

impl Variables {
    /// Those that this finds.
    pub fn new(find: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    pub(super) fn get(&self, name: &str) -> Option<OsString> {
        self.0.as_ref()?(name)
    }
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Variables")
    }
}

impl Surroundings {
    /// The user's known_hosts files that OpenSSH reads too.
    pub(super) fn user_known_hosts_files(&self) -> Vec<PathBuf> {
        self.home.iter().flat_map(|home| [".ssh/known_hosts", ".ssh/known_hosts2"].map(|name| home.join(name))).collect()
    }

    fn agent_socket(&self, target: &Target) -> Option<PathBuf> {
        match &target.configured.agent {
            AgentChoice::Usual => self.agent_socket.clone(),
            AgentChoice::None => None,
            AgentChoice::Socket(path) => Some(path.clone()),
        }
    }
}

/// The identities to offer, in order, with the agent that holds some of them.
#[derive(Default)]
pub(super) struct SshIdentities {
    pub(super) offered: Vec<SshIdentity>,
    pub(super) agent: Option<AgentClient<UnixStream>>,
    /// Keys that were found and can't be used, and why.
    pub(super) skipped: Vec<String>,
}

impl SshIdentities {
    /// The key that the target names and nothing else; or, unless it has a password, those of its ssh_config; or the agent's keys and
    /// the usual files.
    pub(super) async fn gather(target: &Target, transport: &Transport) -> Result<Self, IdentityFault> {
        let surroundings = transport.surroundings();
        let socket = surroundings.agent_socket(target);
        if let Some(path) = &target.private_key_file {
            return Self::named(path, socket.as_deref(), transport).await;
        }
        if let Some(key) = &target.private_key {
            return Ok(Self { offered: vec![given(key)?], ..Self::default() });
        }
        if target.password.is_some() {
            return Ok(Self::default());
        }
        Self::found(target, socket.as_deref(), transport).await
    }

    /// What nobody named in the cluster's file: keys of the agent, and those of the ssh_config or the usual files.
    async fn found(target: &Target, socket: Option<&Path>, transport: &Transport) -> Result<Self, IdentityFault> {
        let (configured, surroundings) = (&target.configured, transport.surroundings());
        let names = ["id_ed25519", "id_ecdsa", "id_rsa"];
        let home = surroundings.home.iter();
        let searched = match configured.identity_files.is_empty() {
            true => home.flat_map(|home| names.map(|name| home.join(".ssh").join(name))).collect(),
            false => configured.identity_files.clone(),
        };
        let mut found = Self::default();
        let held = found.ask_agent(socket).await;
        // Like OpenSSH: a key of the agent that a file names comes before those that nobody named.
        let named: Vec<_> = searched.iter().filter(|path| path.exists()).collect();
        let publics: Vec<_> = named.iter().filter_map(|path| public_half(path)).collect();
        let (first, others): (Vec<_>, Vec<_>) = held.into_iter().partition(|identity| publics.iter().any(|key| identity.is(key)));
        found.offered.extend(first);
        if !configured.identities_only {
            found.offered.extend(others);
        }
        for path in named {
            if public_half(path).is_some_and(|key| found.offered.iter().any(|identity| identity.is(&key))) {
                continue;
            }
            // Whoever has other keys to try is not asked for a passphrase.
            let passphrases = if found.offered.is_empty() { &surroundings.passphrases } else { &Passphrases::Nobody };
            match transport.unlocked().load(path, passphrases).await {
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

    /// One key. An agent that holds it saves asking for its passphrase.
    async fn named(path: &Path, socket: Option<&Path>, transport: &Transport) -> Result<Self, IdentityFault> {
        let fault = match load(path, None) {
            Ok(identity) => return Ok(Self { offered: vec![identity], ..Self::default() }),
            Err(fault @ IdentityFault::Encrypted { .. }) => fault,
            Err(fault) => return Err(fault),
        };
        let mut found = Self::default();
        if let Some(public) = public_half(path) {
            let held = found.ask_agent(socket).await;
            found.offered.extend(held.into_iter().find(|identity| identity.is(&public)));
        }
        if found.offered.is_empty() {
            found.offered.push(transport.unlocked().unlock(path, &transport.surroundings().passphrases, fault).await?);
        }
        Ok(found)
    }

    /// What the agent holds. One that is gone or does not answer is no reason to stop: there may be files.
    async fn ask_agent(&mut self, socket: Option<&Path>) -> Vec<SshIdentity> {
        let Some(socket) = socket else {
            return Vec::new();
        };
        let listing = async {
            let mut agent = AgentClient::connect_uds(socket).await?;
            let identities = agent.request_identities().await?;
            Ok::<_, KeyError>((agent, identities))
        };
        match tokio::time::timeout(AGENT_DEADLINE, listing).await {
            Ok(Ok((agent, identities))) => {
                self.agent = Some(agent);
                let usable = |identity| match identity {
                    AgentIdentity::PublicKey { key, comment } if rsa_bits(&key) >= MIN_RSA_BITS => {
                        Some(SshIdentity::Agent { key, comment })
                    }
                    AgentIdentity::PublicKey { .. } | AgentIdentity::Certificate { .. } => None,
                };
                return identities.into_iter().filter_map(usable).collect();
            }
            Ok(Err(error)) => self.skipped.push(format!("the SSH agent failed: {error}")),
            Err(_) => self.skipped.push("the SSH agent did not answer".to_owned()),
        }
        Vec::new()
    }
}

/// The public key that belongs to a private key file, encrypted or not: it stands in OpenSSH's format, and beside the others.
fn public_half(path: &Path) -> Option<PublicKey> {
    let text = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        let fits = metadata.is_file() && metadata.len() <= MAX_KEY_FILE;
        fits.then(|| std::fs::read_to_string(path).ok()).flatten().map(Zeroizing::new)
    };
    if let Some(key) = text(path).and_then(|text| PrivateKey::from_openssh(text.as_bytes()).ok()) {
        return Some(key.public_key().clone());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".pub");
    text(Path::new(&beside)).and_then(|text| PublicKey::from_openssh(text.trim()).ok())
}

/// The mode of a file with a private key, if others than its owner may do anything with it. Like ssh: a file of another user, such as one of a
/// virtual machine's tool, is that user's affair.
pub(crate) fn mode_if_open(metadata: &std::fs::Metadata) -> Option<u32> {
    let mode = metadata.mode() & 0o7777;
    (mode & 0o077 != 0 && metadata.uid() == rustix::process::getuid().as_raw()).then_some(mode)
}

/// Reads and checks one key file.
pub(super) fn load(path: &Path, passphrase: Option<&str>) -> Result<SshIdentity, IdentityFault> {
    let unreadable = |source| IdentityFault::Unreadable { path: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    let not_a_key = |reason: String| IdentityFault::NotAKey { path: path.to_owned(), reason };
    // First of all: the mode of a device or a folder is nothing that anybody should change for a key.
    if !metadata.is_file() {
        return Err(not_a_key("it is not a regular file".to_owned()));
    }
    if let Some(mode) = mode_if_open(&metadata) {
        return Err(IdentityFault::TooOpen { path: path.to_owned(), mode });
    }
    if metadata.len() > MAX_KEY_FILE {
        return Err(not_a_key(format!("it is {} bytes long", metadata.len())));
    }
    let bytes = Zeroizing::new(std::fs::read(path).map_err(unreadable)?);
    let text = std::str::from_utf8(&bytes).map_err(|_| not_a_key("it is not text".to_owned()))?;
    decode(text, path, passphrase)
}

/// What is wrong with a key file, as far as it can be known without its passphrase.
pub(crate) fn key_fault(path: &Path) -> Option<IdentityFault> {
    load(path, None).err().filter(|fault| !matches!(fault, IdentityFault::Encrypted { .. }))
}

/// What is wrong with a key that stands in the user's files.
pub(crate) fn given_key_fault(key: &Secret) -> Option<IdentityFault> {
    given(key).err()
}

/// A key that stands in the user's files. Nobody is asked for its passphrase: it is for machines.
fn given(key: &Secret) -> Result<SshIdentity, IdentityFault> {
    let path = Path::new(GIVEN_KEY);
    let text = std::str::from_utf8(key.expose());
    decode(text.map_err(|_| IdentityFault::NotAKey { path: path.to_owned(), reason: "it is not text".to_owned() })?, path, None)
}

/// Checks a key; `path` says where it is from.
fn decode(text: &str, path: &Path, passphrase: Option<&str>) -> Result<SshIdentity, IdentityFault> {
    let not_a_key = |reason: String| IdentityFault::NotAKey { path: path.to_owned(), reason };
    let decoded = decode_secret_key(text, passphrase).or_else(|error| match error {
        KeyError::SshKey(SshKeyError::Encoding(EncodingError::Length)) => short_scalar::decode(text, passphrase).ok_or(error),
        error => Err(error),
    });
    let key = match decoded {
        Ok(key) => key,
        // It could be read but for the passphrase.
        Err(_) if passphrase.is_some() => return Err(IdentityFault::WrongPassphrase { path: path.to_owned() }),
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
        _ => Ok(SshIdentity::File { key: Arc::new(key), path: path.to_owned() }),
    }
}

/// The length of an RSA key's modulus. Keys of other types are long enough by their type.
fn rsa_bits(key: &PublicKey) -> u32 {
    key.key_data().rsa().map_or(u32::MAX, |rsa| rsa.key_size())
}

#[cfg(test)]
#[path = "tests/identity.rs"]
mod tests;
