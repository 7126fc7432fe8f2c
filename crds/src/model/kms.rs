//! A plugin that encrypts what etcd holds.

/// Keys of the cluster's own are named so, and a name says who has encrypted a value.
const OWN: &str = "kokctl";

/// What stands before the path of a socket (Kubernetes, `k8s.io/kms`: only these are supported).
const SCHEME: &str = "unix://";

/// A KMS plugin, which runs on each control plane and has the keys somewhere else (Kubernetes, "Using a KMS provider for data encryption", v2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KmsPlugin {
    /// Its name, which stands before all values that are encrypted by it.
    pub name: String,
    /// Path of its socket on each control plane.
    pub socket: String,
    /// How long an answer of it is waited for, in milliseconds.
    pub timeout_millis: u64,
}

impl KmsPlugin {
    /// The name of a plugin where none is written.
    pub const NAME: &'static str = "kms";
    /// How long Kubernetes waits where nothing else is written.
    pub const TIMEOUT_MILLIS: u64 = 3000;

    /// The folder of its socket, without a slash behind it.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.socket.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Its socket as an EncryptionConfiguration names it.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("{SCHEME}{}", self.socket)
    }

    /// Whether a plugin can have this name here: it stands between colons, and no key of the cluster's own has one like it.
    #[must_use]
    pub fn is_name(text: &str) -> bool {
        let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
        (1..=63).contains(&text.len()) && text.bytes().all(is_known) && !Self::is_own(text)
    }

    /// Whether keys of the cluster's own are named so.
    #[must_use]
    pub fn is_own(text: &str) -> bool {
        text.starts_with(OWN)
    }

    /// The path of the socket at this endpoint; nothing where it names none.
    #[must_use]
    pub fn socket_of(endpoint: &str) -> Option<&str> {
        let path = endpoint.strip_prefix(SCHEME)?;
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
        let is_normal = path.strip_prefix('/')?.split('/').all(|part| !["", ".", ".."].contains(&part));
        // Longer ones are no address of a socket (unix(7), `sun_path`).
        (is_normal && path.len() < 108 && path.bytes().all(is_known)).then_some(path)
    }
}
