//! The `because` and `hint` of this module's errors.
use super::error::{ConnectError, ConnectFault, ConnectPhase, RunError};
use super::host_key_fault::HostKeyFault;
use super::identity_fault::IdentityFault;
use super::passphrase::PASSPHRASE_FILE;
use std::fmt::Display;

impl ConnectError {
    /// Why, as far as it is known.
    #[must_use]
    pub fn because(&self) -> Option<String> {
        match &*self.fault {
            ConnectFault::Refused => Some(format!("nothing listens on {}", self.address)),
            ConnectFault::Unreachable { source } | ConnectFault::Unresolved { source, .. } => Some(source.to_string()),
            ConnectFault::TimedOut { .. } => None,
            ConnectFault::NoTunnel { reason } => Some(reason.clone()),
            ConnectFault::Penalty { output } => Some(format!("it said: {output}")),
            ConnectFault::Dropped { output, .. } => output.as_ref().map(|output| format!("it said: {output}")),
            ConnectFault::Protocol { reason } | ConnectFault::Broken { reason, .. } => Some(reason.clone()),
            ConnectFault::NoCommonAlgorithm { offered, .. } => Some(format!("it offers {}", list(offered))),
            ConnectFault::HostKey(fault) => fault.because(),
            ConnectFault::Identity(fault) => fault.because(),
            ConnectFault::LoginRefused { tried, skipped, reason, .. } => Some(login_because(tried, skipped, reason.as_deref())),
        }
    }

    /// The lines of an ssh_config that name the server, where another address, port or user may be the remedy. They are no part of the cause:
    /// each host may have lines of its own, and many hosts one cause.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        let may_explain = match &*self.fault {
            ConnectFault::Refused
            | ConnectFault::Unreachable { .. }
            | ConnectFault::Unresolved { .. }
            | ConnectFault::NoTunnel { .. }
            | ConnectFault::HostKey(_)
            | ConnectFault::LoginRefused { .. } => true,
            // Packets to an address that nobody has, or that a firewall drops, are not answered.
            ConnectFault::TimedOut { phase, .. } => *phase == ConnectPhase::Connecting,
            ConnectFault::Penalty { .. }
            | ConnectFault::Dropped { .. }
            | ConnectFault::Broken { .. }
            | ConnectFault::Protocol { .. }
            | ConnectFault::NoCommonAlgorithm { .. }
            | ConnectFault::Identity(_) => false,
        };
        self.origin.as_deref().filter(|_| may_explain)
    }

    /// What the user can do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let address = &self.address;
        Some(match &*self.fault {
            ConnectFault::Refused => "check address and port in the cluster file, and that sshd runs on the host".to_owned(),
            ConnectFault::Unreachable { .. } | ConnectFault::TimedOut { phase: ConnectPhase::Connecting, .. } => {
                "check the address in the cluster file, that the host is on, and routes and firewalls on the way".to_owned()
            }
            ConnectFault::Unresolved { .. } => "check the name, and the DNS of this machine".to_owned(),
            ConnectFault::NoTunnel { .. } => {
                format!("check {address} from the bastion, and AllowTcpForwarding and PermitOpen of the bastion's sshd")
            }
            ConnectFault::Penalty { .. } => {
                "wait some minutes; sshd does that after failed logins: see PerSourcePenalties, and PerSourcePenaltyExemptList to exempt \
                 this machine, in its sshd_config"
                    .to_owned()
            }
            ConnectFault::TimedOut { .. } => {
                format!("check that {address} is the host's sshd and that the host is not overloaded")
            }
            ConnectFault::Dropped { .. } => {
                "sshd drops logins when there are too many at once or after failed ones: look for MaxStartups and \
                 PerSourcePenalties in its log, then try again"
                    .to_owned()
            }
            ConnectFault::Broken { .. } => "try again; if it stays so, look at the way to the host and into its sshd's log".to_owned(),
            ConnectFault::Protocol { .. } => format!("check that an SSH server listens on {address}"),
            ConnectFault::NoCommonAlgorithm { .. } => "update OpenSSH on the host, or enable its default algorithms".to_owned(),
            ConnectFault::HostKey(fault) => fault.hint(),
            ConnectFault::Identity(fault) => fault.hint(),
            ConnectFault::LoginRefused { tried_password: true, .. } => {
                "check user and password in the cluster file; nothing is tried twice, so the account is not locked by this".to_owned()
            }
            ConnectFault::LoginRefused { user, .. } => {
                format!("add the public key to ~{user}/.ssh/authorized_keys on the host, or name another user or privateKeyFile")
            }
        })
    }
}

fn login_because(tried: &[String], skipped: &[String], reason: Option<&str>) -> String {
    let mut text = format!("the host did not accept {}", list(tried));
    if !skipped.is_empty() {
        text.push_str(&format!("; not offered: {}", list(skipped)));
    }
    if let Some(reason) = reason {
        text.push_str(&format!("; {reason}"));
    }
    text
}

impl HostKeyFault {
    fn because(&self) -> Option<String> {
        match self {
            Self::Unknown { shown, lookup, files } => {
                let files: Vec<_> = files.iter().map(|file| file.display()).collect();
                let know = match files.as_slice() {
                    [file] => format!("{file} does not know {lookup}"),
                    files => format!("none of {} knows {lookup}", list(files)),
                };
                Some(format!("the host showed {shown}; {know}"))
            }
            Self::Changed { shown, lookup, recorded } => {
                let recorded: Vec<_> = recorded.iter().map(|(key, place)| format!("{key} at {place}")).collect();
                Some(format!("the host showed {shown}; recorded for {lookup} is {}", list(&recorded)))
            }
            Self::Revoked { shown, place } => Some(format!("{shown} is marked @revoked at {place}")),
            Self::NotPinned { shown, pinned } => Some(format!("the host showed {shown}; hostKey pins {pinned}")),
            Self::OnlyAuthority { shown, place } => Some(format!("the host showed {shown}; {place} names a @cert-authority")),
            Self::BadPin { pinned } => Some(format!("hostKey is {:?}", super::text::printable(pinned.as_bytes()))),
            Self::Unreadable { file, source } | Self::NotRecorded { file, source } => Some(format!("{}: {source}", file.display())),
            Self::BrokenRevocation { place } => Some(format!("the @revoked line at {place} holds no key that can be read")),
        }
    }

    fn hint(&self) -> String {
        const SCAN: &str = "kokctl known-hosts scan";
        match self {
            Self::Unknown { shown, .. } => format!(
                "compare the fingerprint with `ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` on the host's console; if it is the \
                 same, add it to known_hosts with `{SCAN}`, or set hostKey: {} for the host in the cluster file",
                shown.fingerprint
            ),
            Self::Changed { lookup, recorded, .. } => format!(
                "if the host was reinstalled, compare the fingerprint on its console, then remove the old key with \
                 `ssh-keygen -R '{lookup}'{}` and add the new one with `{SCAN}`; if it was not, somebody may be between you and the host",
                // Without -f it would look into the user's own file only.
                recorded.first().map(|(_, place)| format!(" -f '{}'", place.file.display())).unwrap_or_default()
            ),
            Self::Revoked { .. } => "give the host a new host key; a revoked one must not be used again".to_owned(),
            Self::NotPinned { .. } => {
                "compare with `ssh-keygen -lf` on the host's console and correct hostKey; of several host keys, pin the Ed25519 \
                 one, which is preferred"
                    .to_owned()
            }
            Self::OnlyAuthority { .. } => format!("add the host's own key to known_hosts with `{SCAN}`, or set hostKey"),
            Self::BadPin { .. } => "write it as `ssh-keygen -l` prints it: SHA256: and 43 characters".to_owned(),
            Self::Unreadable { .. } => {
                format!("check knownHostsFile in the cluster file, and the file's permissions; `{SCAN} --write` makes one")
            }
            Self::NotRecorded { .. } => "check the file's permissions, or add the key yourself".to_owned(),
            Self::BrokenRevocation { .. } => "correct or remove the line".to_owned(),
        }
    }
}

impl IdentityFault {
    /// Why, as far as it is known.
    #[must_use]
    pub fn because(&self) -> Option<String> {
        match self {
            Self::Unreadable { source, .. } => Some(source.to_string()),
            Self::TooOpen { .. } => Some("a private key that others can read is not private".to_owned()),
            Self::Encrypted { .. } => Some("no agent holds it, and there is no terminal to ask for its passphrase".to_owned()),
            Self::NotGiven { .. } | Self::WrongPassphrase { .. } => None,
            Self::NoPassphrase { source, .. } => Some(source.to_string()),
            Self::NotAKey { reason, .. } => Some(reason.clone()),
            Self::TooShort { .. } => Some("RSA keys below 2048 bits are not safe".to_owned()),
            Self::None { searched, skipped } => {
                let searched: Vec<_> = searched.iter().map(|path| path.display()).collect();
                let mut text = format!("no agent has one, and there is no usable {}", list(&searched));
                if !skipped.is_empty() {
                    text.push_str(&format!("; {}", list(skipped)));
                }
                Some(text)
            }
        }
    }

    /// What the user can do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => "check privateKeyFile in the cluster file".to_owned(),
            Self::TooOpen { path, .. } => format!("chmod 600 {}", path.display()),
            Self::Encrypted { path } | Self::NotGiven { path } => format!(
                "load it into an SSH agent with `ssh-add {}`, or name a file with its passphrase in {PASSPHRASE_FILE}",
                path.display()
            ),
            Self::WrongPassphrase { path } => format!("check it with `ssh-keygen -yf {}`", path.display()),
            Self::NoPassphrase { file, .. } => format!("check {PASSPHRASE_FILE}; chmod 600 {}", file.display()),
            Self::NotAKey { .. } => "name the private key, not the .pub file; OpenSSH, PKCS#8 and PEM formats are read".to_owned(),
            Self::TooShort { .. } => "make a new key: ssh-keygen -t ed25519".to_owned(),
            Self::None { .. } => {
                "set privateKeyFile or password in the cluster file, start an SSH agent, or make a key: ssh-keygen -t ed25519".to_owned()
            }
        }
    }
}

impl RunError {
    /// The host it happened on.
    #[must_use]
    pub fn host(&self) -> &str {
        match self {
            Self::NotStarted { host, .. }
            | Self::SudoRefused { host, .. }
            | Self::NoShell { host, .. }
            | Self::Unknown { host, .. }
            | Self::Deadline { host, .. }
            | Self::TooMuch { host, .. }
            | Self::Source { host, .. } => host,
        }
    }

    /// Why, as far as it is known.
    #[must_use]
    pub fn because(&self) -> Option<String> {
        match self {
            Self::NotStarted { reason, .. } | Self::Unknown { reason, .. } => Some(reason.clone()),
            Self::SudoRefused { output, .. } | Self::NoShell { output, .. } => output.clone(),
            Self::Deadline { .. } => Some("the script may still be running on the host".to_owned()),
            Self::TooMuch { limit, kept, .. } if kept < limit => {
                Some(format!("it had said {kept} bytes, and the answers of all hosts together take more memory than kokctl has for them"))
            }
            Self::TooMuch { limit, .. } => {
                Some(format!("an answer to that has {limit} bytes at the most; it was not listened to any further"))
            }
            Self::Source { source, .. } => Some(source.to_string()),
        }
    }

    /// What the user can do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotStarted { .. } => "try again; nothing was changed".to_owned(),
            Self::SudoRefused { with_password: true, .. } => {
                "check sudoPassword in the cluster file and the rules in /etc/sudoers on the host; it was tried once, and is not tried \
                 again"
                    .to_owned()
            }
            Self::SudoRefused { user, .. } => format!(
                "set sudoPassword in the cluster file; or install sudo and add this line to /etc/sudoers.d/kokctl on the host: \
                 {user} ALL=(ALL) NOPASSWD: ALL"
            ),
            Self::NoShell { user, .. } => {
                format!("give {user} a login shell, and no ForceCommand or command= in authorized_keys")
            }
            Self::Unknown { .. } | Self::Deadline { .. } => {
                "run the same command again: it looks at the host first and does only what is missing".to_owned()
            }
            Self::TooMuch { .. } => {
                "see what the host is and who has it: it does not do what it is told, or has far more of something (addresses, images, files) than a host of a cluster"
                    .to_owned()
            }
            Self::Source { .. } => "check the file and its permissions".to_owned(),
        })
    }
}

fn list<T: Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn lines_of_an_ssh_config_are_told_where_they_may_explain_what_is_wrong() {
        let origin = |fault: ConnectFault| {
            let (host, address, user) = ("w1".to_owned(), "10.0.0.1:22".to_owned(), "root".to_owned());
            let error = ConnectError { host, bastion: None, address, user, origin: Some("a line".to_owned()), fault: Arc::new(fault) };
            error.origin().is_some()
        };
        let late = |phase| ConnectFault::TimedOut { phase, after: Duration::from_secs(4) };
        let login =
            ConnectFault::LoginRefused { user: "root".to_owned(), tried: vec![], skipped: vec![], tried_password: false, reason: None };
        let unreachable = ConnectFault::Unreachable { source: io::Error::other("no route") };
        let unresolved = ConnectFault::Unresolved { name: "w1".to_owned(), source: io::Error::other("no such name") };
        let key = ConnectFault::HostKey(HostKeyFault::BadPin { pinned: "x".to_owned() });
        for fault in [ConnectFault::Refused, unreachable, unresolved, login, key, late(ConnectPhase::Connecting)] {
            let said = fault.to_string();
            assert!(origin(fault), "{said}");
        }
        let passphrase = ConnectFault::Identity(IdentityFault::WrongPassphrase { path: "key".into() });
        let dropped = ConnectFault::Dropped { attempts: 5, output: None };
        let broken = ConnectFault::Broken { attempts: 5, reason: "reset".to_owned() };
        for fault in [passphrase, dropped, broken, late(ConnectPhase::Login), ConnectFault::Protocol { reason: "noise".to_owned() }] {
            let said = fault.to_string();
            assert!(!origin(fault), "{said}");
        }
    }
}
