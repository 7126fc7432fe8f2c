//! Hosts over SSH: connections, scripts, data behind them.
//!
//! A [`Connection`] is opened to a [`Target`] whose host key is verified always and before any credential is used. Over it a
//! [`Script`] runs as root, by sudo if the login is another one; bulk data is streamed behind a script. What comes back is bounded
//! and exact: an [`Output`], or an error that says whether the host may have changed. No exit status is never taken for success.
mod attend;
mod budget;
mod channel;
mod connection;
mod dial;
mod error;
mod explain;
mod failure;
mod fetch;
mod frame;
mod gate;
mod host_key;
mod host_key_fault;
mod identity;
mod identity_fault;
mod known_hosts;
mod known_hosts_files;
mod log;
mod nonce;
mod passphrase;
mod pattern;
mod scan;
mod script;
mod session;
mod short_scalar;
mod socket;
mod ssh_config;
mod sudo;
mod target;
mod text;
mod transport;
mod tunnel;
mod unlock;

pub use attend::RunAs;
pub use channel::{ExitStatus, Output};
pub use connection::{Connection, Streamed};
pub use error::{ConnectError, ConnectFault, ConnectPhase, Prospect, RunError};
pub use host_key::Accepted;
pub use host_key_fault::{HostKeyFault, KeyPrint, KnownHostsPlace};
pub use identity::{Surroundings, Variables};
pub(crate) use identity::{given_key_fault, key_fault, mode_if_open};
pub use identity_fault::IdentityFault;
pub use kok_tasks::shell::quote;
pub(crate) use nonce::jittered;
pub(crate) use passphrase::PASSPHRASE_FILE;
pub use passphrase::{Ask, Passphrases};
pub use scan::{Scan, ShownKey};
pub use script::Script;
pub use ssh_config::SshConfigFault;
pub(crate) use ssh_config::{Jump, Overruled, SshConfig, SshSettings};
pub use target::{AddressFamily, AgentChoice, Configured, Deadlines, HostKeyChecking, Origin, Target};
pub use transport::{Limits, Transport};

#[cfg(test)]
pub(crate) mod tests;
