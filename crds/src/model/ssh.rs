//! How hosts are logged in to.

use std::fmt;

use crate::Secret;

/// How to log in to a host or a bastion, as far as the file says it. What it leaves open, the user's ssh_config or a default may fill.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Ssh {
    /// Where SSH reaches the host, an IP address or a DNS name, if that is not the host's own address. A bastion never has it.
    pub address: Option<String>,
    /// Login name; anyone but `root` needs sudo.
    pub user: Option<String>,
    /// TCP port of the SSH server.
    pub port: Option<u16>,
    /// Path of the private key as the user wrote it; a leading `~/` is left for the caller to expand.
    pub private_key_file: Option<String>,
    /// The private key itself, where the user's files hold it. `private_key_file` wins over it.
    pub private_key: Option<Secret>,
    /// Path of the known_hosts file as the user wrote it; a leading `~/` is left for the caller to expand.
    pub known_hosts_file: Option<String>,
    /// The only host key to accept, as OpenSSH prints its fingerprint: `SHA256:` and 43 characters of unpadded base64.
    pub host_key: Option<String>,
    /// What to do with the key of a host that known_hosts does not know.
    pub host_key_checking: Option<HostKeyChecking>,
    /// Password of the login, at most 511 bytes without control characters.
    pub password: Option<Secret>,
    /// What sudo asks the login for, of the same form.
    pub sudo_password: Option<Secret>,
    /// The way to the host.
    pub via: Option<Via>,
}

impl fmt::Debug for Ssh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |secret: &Option<Secret>| secret.as_ref().map(|_| "(hidden)");
        f.debug_struct("Ssh")
            .field("address", &self.address)
            .field("user", &self.user)
            .field("port", &self.port)
            .field("private_key_file", &self.private_key_file)
            .field("private_key", &hidden(&self.private_key))
            .field("known_hosts_file", &self.known_hosts_file)
            .field("host_key", &self.host_key)
            .field("host_key_checking", &self.host_key_checking)
            .field("password", &hidden(&self.password))
            .field("sudo_password", &hidden(&self.sudo_password))
            .field("via", &self.via)
            .finish()
    }
}

/// What to do with the key of a host of which known_hosts has none. A key that differs from a known one is refused in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKeyChecking {
    /// Refuse the host.
    Strict,
    /// Trust the key at the first connection and add it to known_hosts.
    AcceptNew,
}

/// The way to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// Directly, whatever ssh_config says.
    Direct,
    /// Through another SSH server.
    Bastion(Box<Bastion>),
}

/// An SSH server through which a host is reached. Its own `via` leads to it in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bastion {
    /// An IP address or a DNS name, or what `Host` of an ssh_config calls it.
    pub address: String,
    /// How to log in to it; it never has a `sudo_password`.
    pub ssh: Ssh,
}
