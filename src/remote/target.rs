//! Where and as whom to connect, and how long to wait.
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// One host as we reach it over SSH. Names are resolved before: an address leaves no doubt which host was meant.
#[derive(Debug, Clone)]
pub struct Target {
    /// The host's name in the cluster, for messages.
    pub name: String,
    /// The address to connect to; known_hosts is searched for it.
    pub address: IpAddr,
    /// sshd's port.
    pub port: u16,
    /// The login. Anyone but root reaches root by `sudo -n`.
    pub user: String,
    /// The only private key to offer. Without it: the agent's keys, then the usual files in `~/.ssh`.
    pub private_key_file: Option<PathBuf>,
    /// The only known_hosts file to believe. Without it: `~/.ssh/known_hosts` and `/etc/ssh/ssh_known_hosts`.
    pub known_hosts_file: Option<PathBuf>,
    /// The host key's fingerprint as `ssh-keygen -l` prints it (`SHA256:…`). It stands above known_hosts.
    pub host_key: Option<String>,
}

impl Target {
    /// Address and port of sshd.
    #[must_use]
    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }

    /// Whether commands have to go through sudo.
    pub(super) fn needs_sudo(&self) -> bool {
        self.user != "root"
    }
}

/// The longest waits while connecting. A refused or silent address is known after the first; the others bound a peer that answers and then stalls.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// For the TCP connection.
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
