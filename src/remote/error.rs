//! Why a host could not be reached, or a script's outcome is not what was hoped for.
//!
//! Each error says what is wrong by `Display`; `because` and `hint` give the rest of the message's four parts, and the host and
//! address are fields.
use super::dial::HopFault;
use super::host_key_fault::HostKeyFault;
use super::identity_fault::IdentityFault;
use super::target::Target;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// There is no connection. No script was sent, so nothing on the host has changed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot connect to {host}{}: {fault}", .bastion.as_ref().map(|name| format!(" by its bastion {name}")).unwrap_or_default())]
pub struct ConnectError {
    /// The host's name in the cluster.
    pub host: String,
    /// The bastion that failed, if it was not the host itself.
    pub bastion: Option<String>,
    /// Address and port of the server that failed.
    pub address: String,
    /// The login that was tried there.
    pub user: String,
    /// The lines of an ssh_config that name them, in words.
    pub(crate) origin: Option<String>,
    /// What went wrong.
    pub fault: Arc<ConnectFault>,
}

/// What went wrong while connecting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFault {
    /// Nobody listens on the port.
    #[error("connection refused")]
    Refused,
    /// Its name has no address.
    #[error("there is no address for {name}")]
    Unresolved {
        /// The name.
        name: String,
        /// The resolver's reason.
        source: io::Error,
    },
    /// The bastion before it does not lead to it.
    #[error("there is no way to it through the bastion")]
    NoTunnel {
        /// What the bastion said.
        reason: String,
    },
    /// The server keeps us out for a while because of earlier connections.
    #[error("it refuses connections from here for a while")]
    Penalty {
        /// What it said.
        output: String,
    },
    /// There is no way to the host.
    #[error("it is unreachable")]
    Unreachable {
        /// The system's reason.
        source: io::Error,
    },
    /// A deadline passed.
    #[error("no answer within {} s while {phase}", .after.as_secs_f64())]
    TimedOut {
        /// What we waited for.
        phase: ConnectPhase,
        /// The deadline.
        after: Duration,
    },
    /// The server closed the connection before it showed its host key, each time we tried.
    #[error("it closed the connection before the login, {attempts} times")]
    Dropped {
        /// How often we tried.
        attempts: u32,
        /// What it sent before, if anything.
        output: Option<String>,
    },
    /// The connection ended after the server's greeting and before its host key was there, each time we tried: the link broke, or the
    /// server went down.
    #[error("the connection broke during the key exchange, {attempts} times")]
    Broken {
        /// How often we tried.
        attempts: u32,
        /// How it ended.
        reason: String,
    },
    /// The server does not speak SSH 2, or broke its rules.
    #[error("what answers there does not speak SSH as it should")]
    Protocol {
        /// What was wrong.
        reason: String,
    },
    /// Client and server have no algorithm of one kind in common.
    #[error("it offers no {kind} that is still safe")]
    NoCommonAlgorithm {
        /// Which kind of algorithm.
        kind: String,
        /// What the server offers.
        offered: Vec<String>,
    },
    /// The host is not the one we mean, or nobody can tell.
    #[error(transparent)]
    HostKey(#[from] HostKeyFault),
    /// We have nothing to log in with.
    #[error(transparent)]
    Identity(#[from] IdentityFault),
    /// The host did not accept our keys or our password.
    #[error("login as {user} refused")]
    LoginRefused {
        /// The login.
        user: String,
        /// The keys that were offered, and the password by that word.
        tried: Vec<String>,
        /// Keys that were not offered, and why.
        skipped: Vec<String>,
        /// Whether the password was among what was tried.
        tried_password: bool,
        /// What the server said about it.
        reason: Option<String>,
    },
}

/// What is being waited for while connecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectPhase {
    /// The TCP connection.
    Connecting,
    /// SSH's greeting and key exchange.
    Handshake,
    /// The login.
    Login,
}

impl std::fmt::Display for ConnectPhase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connecting => "connecting",
            Self::Handshake => "waiting for the SSH greeting and key exchange",
            Self::Login => "logging in",
        })
    }
}

impl ConnectError {
    pub(super) fn here(target: &Target, fault: impl Into<ConnectFault>) -> Self {
        Self::from_hop_fault(target, HopFault { hop: Box::new(target.clone()), fault: Arc::new(fault.into()) })
    }

    pub(super) fn from_hop_fault(target: &Target, HopFault { hop, fault }: HopFault) -> Self {
        let bastion = (*hop != *target).then(|| hop.name.clone());
        Self {
            host: target.name.clone(),
            bastion,
            address: hop.endpoint(),
            user: hop.user.clone(),
            origin: hop.configured.origin.description(),
            fault,
        }
    }

    /// Whether the host key was the reason.
    #[must_use]
    pub fn is_host_key(&self) -> bool {
        matches!(*self.fault, ConnectFault::HostKey(_))
    }

    /// Whether nothing is recorded of a bastion on the way.
    #[must_use]
    pub fn is_behind_unknown(&self) -> bool {
        self.bastion.is_some() && matches!(*self.fault, ConnectFault::HostKey(HostKeyFault::Unknown { .. }))
    }

    /// What is to be expected of a host that had let us in earlier.
    #[must_use]
    pub fn prospect(&self) -> Prospect {
        match *self.fault {
            ConnectFault::Refused
            | ConnectFault::Unresolved { .. }
            | ConnectFault::Unreachable { .. }
            | ConnectFault::TimedOut { .. }
            | ConnectFault::Dropped { .. }
            | ConnectFault::Broken { .. }
            | ConnectFault::Penalty { .. }
            | ConnectFault::NoTunnel { .. } => Prospect::Away,
            ConnectFault::LoginRefused { tried_password, .. } => Prospect::Closed { tried_password },
            _ => Prospect::Final,
        }
    }
}

/// What is to be expected of a host that had let us in, and does not now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prospect {
    /// It can't be reached, or keeps everybody out, which may pass by itself.
    Away,
    /// It refused the login that it had accepted. While a host goes down or comes up it lets nobody in but root (pam_nologin).
    Closed {
        /// Whether it was given a password. One that is refused too often may lock the account.
        tried_password: bool,
    },
    /// It would refuse us again.
    Final,
}

/// A script or stream without a usable result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The script was not started: nothing on the host has changed, and it may be sent again.
    #[error("{host}: the script could not be started")]
    NotStarted {
        /// The host's name.
        host: String,
        /// Why.
        reason: String,
    },
    /// The script was not started because sudo refused.
    #[error("{host}: {}", if *.with_password { format!("sudo refused {user} and the password") } else { format!("{user} may not use sudo without a password") })]
    SudoRefused {
        /// The host's name.
        host: String,
        /// The login.
        user: String,
        /// Whether it was given a password, of which one try was made.
        with_password: bool,
        /// What sudo said.
        output: Option<String>,
    },
    /// The script was not started because no POSIX shell answered.
    #[error("{host}: the login of {user} does not start a shell")]
    NoShell {
        /// The host's name.
        host: String,
        /// The login.
        user: String,
        /// What came instead.
        output: Option<String>,
    },
    /// Nobody knows whether the script ran, or how far. Only looking at the host can tell.
    #[error("{host}: the outcome of the script is unknown")]
    Unknown {
        /// The host's name.
        host: String,
        /// Why.
        reason: String,
    },
    /// The deadline passed. The script may still be running.
    #[error("{host}: no result within {} s", .after.as_secs_f64())]
    Deadline {
        /// The host's name.
        host: String,
        /// The deadline.
        after: Duration,
    },
    /// It said more than it may. The connection was ended, and the script may still be running.
    #[error("{host}: it says more than it was asked for")]
    TooMuch {
        /// The host's name.
        host: String,
        /// How many bytes its answer could honestly have.
        limit: usize,
        /// How many were kept: fewer, if the memory for the answers of all hosts was used up.
        kept: usize,
    },
    /// What was to be sent could not be read. What was sent of it was thrown away or must be looked at.
    #[error("{host}: the data to send can't be read")]
    Source {
        /// The host's name.
        host: String,
        /// Why.
        source: io::Error,
    },
}

impl RunError {
    /// The same trouble, met by something that changes nothing.
    pub(super) fn nothing_ran(self) -> Self {
        match self {
            Self::Unknown { host, reason } => Self::NotStarted { host, reason },
            Self::Deadline { host, after } => {
                Self::NotStarted { host, reason: format!("sudo did not answer within {} s", after.as_secs_f64()) }
            }
            other => other,
        }
    }

    /// Whether the script may have changed anything: then only a probe can tell what to do next.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Deadline { .. } | Self::TooMuch { .. } | Self::Source { .. })
    }
}
