//! Where and as whom to connect, and how long to wait.
use super::host_key_fault::KnownHostsPlace;
use kok_crds::Secret;
pub use kok_crds::model::HostKeyChecking;
use std::path::PathBuf;
use std::time::Duration;

/// OpenSSH's port.
pub(super) const DEFAULT_PORT: u16 = 22;

/// One SSH server as we reach it: a host of the cluster, or a bastion on the way to one.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// The host's name in the cluster, for messages. A bastion's is its address.
    pub name: String,
    /// The IP address or DNS name to connect to. Behind a bastion, the bastion resolves it.
    pub address: String,
    /// sshd's port.
    pub port: u16,
    /// The login. Anyone but root reaches root by sudo.
    pub user: String,
    /// The only private key to offer. Without it: what [`configured`](Self::configured) names, or the agent's keys and the usual files
    /// in `~/.ssh`; and if there is a password, no key.
    pub private_key_file: Option<PathBuf>,
    /// The key itself, where the user's files hold it; then it is the only one to offer, unless `private_key_file` names another.
    pub private_key: Option<Secret>,
    /// The only known_hosts file to believe. Without it: what [`configured`](Self::configured) names, or `~/.ssh/known_hosts`, and
    /// `/etc/ssh/ssh_known_hosts`.
    pub known_hosts_file: Option<PathBuf>,
    /// The host key's fingerprint as `ssh-keygen -l` prints it (`SHA256:…`). It stands above known_hosts.
    pub host_key: Option<String>,
    /// What to do with the key of a host that known_hosts does not know.
    pub host_key_checking: HostKeyChecking,
    /// The login's password, tried once if the keys do not suffice.
    pub password: Option<Secret>,
    /// What sudo asks for. It is sent only to a sudo that does ask.
    pub sudo_password: Option<Secret>,
    /// The server through which this one is reached.
    pub bastion: Option<Box<Target>>,
    /// What the user's ssh_config says and nothing else.
    pub configured: Configured,
}

/// Settings that only an ssh_config makes. The default is that it says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configured {
    /// `IdentityFile`: offered besides the agent's keys. Files that are not there are passed over.
    pub identity_files: Vec<PathBuf>,
    /// `IdentitiesOnly`: of the agent's keys, only those that `IdentityFile` names.
    pub identities_only: bool,
    /// `IdentityAgent`.
    pub agent: AgentChoice,
    /// `UserKnownHostsFile`: they need not exist.
    pub user_known_hosts_files: Option<Vec<PathBuf>>,
    /// `GlobalKnownHostsFile`: they need not exist.
    pub global_known_hosts_files: Option<Vec<PathBuf>>,
    /// `HostKeyAlias`: the name under which known_hosts is searched, without a port.
    pub host_key_alias: Option<String>,
    /// `ConnectTimeout`: the longest wait for the TCP connection.
    pub connect_timeout: Option<Duration>,
    /// `AddressFamily`.
    pub address_family: AddressFamily,
    /// The lines that have decided where the server is.
    pub origin: Origin,
}

/// Lines of an ssh_config that have decided where, and as whom, a server is reached; none where it was not they.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// `HostName`.
    pub address: Option<KnownHostsPlace>,
    /// `Port`.
    pub port: Option<KnownHostsPlace>,
    /// `User`.
    pub user: Option<KnownHostsPlace>,
}

impl Origin {
    /// In words; nothing where no line has decided anything.
    #[must_use]
    pub fn description(&self) -> Option<String> {
        let parts = [("the address", "HostName", &self.address), ("the port", "Port", &self.port), ("the user", "User", &self.user)];
        let reasons =
            parts.into_iter().filter_map(|(what, keyword, place)| Some(format!("{what} is that of {keyword} at {}", place.as_ref()?)));
        Some(reasons.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
    }
}

/// Which SSH agent is asked for keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AgentChoice {
    /// The one that `SSH_AUTH_SOCK` names.
    #[default]
    Usual,
    /// None.
    None,
    /// The one behind this socket.
    Socket(PathBuf),
}

/// Which addresses of a name are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressFamily {
    /// All of them.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Target {
    /// Address and port of sshd as OpenSSH writes them.
    #[must_use]
    pub fn endpoint(&self) -> String {
        if self.address.contains(':') { format!("[{}]:{}", self.address, self.port) } else { format!("{}:{}", self.address, self.port) }
    }

    /// The name under which known_hosts is searched: the alias, or the address with a port that is not 22.
    pub(super) fn lookup(&self) -> String {
        match (&self.configured.host_key_alias, self.port) {
            (Some(alias), _) => alias.clone(),
            (None, DEFAULT_PORT) => self.address.clone(),
            (None, port) => format!("[{}]:{port}", self.address),
        }
    }

    /// Whether commands have to go through sudo.
    pub(super) fn needs_sudo(&self) -> bool {
        self.user != "root"
    }
}

/// The longest waits while connecting. A refused or silent address is known after the first; the others bound a peer that answers and
/// then stalls. Each hop of a chain has its own.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// For the TCP connection, name resolution included.
    pub connect: Duration,
    /// From the TCP connection to a verified host key.
    pub handshake: Duration,
    /// For all authentication attempts together. sshd may look up names here.
    pub authenticate: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            // Three SYNs (at 0, 1 and 3 s) get through a lossy link; whoever has not answered then is not there.
            connect: Duration::from_secs(4),
            handshake: Duration::from_secs(5),
            authenticate: Duration::from_secs(10),
        }
    }
}
