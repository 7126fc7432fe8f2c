//! Hosts as the transport reaches them: what the cluster's file says, then the user's ssh_config, then defaults.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kok_crds::model::{Bastion, Cluster, Host, Ssh, Via};
use kok_crds::{Position, Problem};

use crate::failure::{Failure, Kind};
use crate::remote::{HostKeyChecking, Jump, Overruled, SshConfig, SshConfigFault, SshSettings, Surroundings, Target};

/// OpenSSH's port.
const DEFAULT_PORT: u16 = 22;
/// Who installs machines is root or may become root; a host that nobody named a login for is taken for one that is fresh.
const DEFAULT_USER: &str = "root";
/// More hops than any network has.
const MAX_HOPS: usize = 6;

/// The targets of these hosts, in the order of the file.
///
/// # Errors
/// One [`Failure`] for each thing in an `ssh_config` that is wrong or not supported, with its line.
pub fn targets(cluster: &Cluster, wanted: impl Fn(&str) -> bool, surroundings: &Surroundings) -> Result<Vec<Target>, Vec<Failure>> {
    let (local_user, home) = (surroundings.local_user.as_deref().unwrap_or(DEFAULT_USER), surroundings.home.as_deref());
    let config = SshConfig::load(home, surroundings.system_config.as_deref(), local_user).map_err(|fault| vec![failure(&fault, None)])?;
    let config = config.with_variables(surroundings.variables.clone());
    let mut failures = misspelled(&config, cluster);
    if !failures.is_empty() {
        return Err(failures);
    }
    let resolver = Resolver { config: &config, home };
    let mut targets = Vec::new();
    for host in cluster.hosts.iter().filter(|host| wanted(&host.name)) {
        match resolver.host(&host.name, &ssh_address(host), &host.ssh) {
            Ok(target) => targets.push(target),
            // A line for all hosts is one mistake.
            Err(failure) if failures.iter().any(|known| known.at == failure.at && known.because == failure.because) => {}
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() { Ok(targets) } else { Err(failures) }
}

/// Bastions before what is behind them, each server once.
#[must_use]
pub fn in_order(targets: Vec<Target>) -> Vec<Target> {
    let mut ordered: Vec<Target> = Vec::new();
    for target in targets {
        let mut way: Vec<Target> = std::iter::successors(Some(&target), |target| target.bastion.as_deref()).cloned().collect();
        way.reverse();
        for server in way {
            if !ordered.iter().any(|known| known.endpoint() == server.endpoint() && known.bastion == server.bastion) {
                ordered.push(server);
            }
        }
    }
    ordered
}

/// What [`targets`] finds wrong, for those who only look at what a user wrote.
pub(crate) fn judged_ways(cluster: &Cluster, surroundings: &Surroundings) -> Vec<Problem> {
    targets(cluster, |_| true, surroundings).err().into_iter().flatten().map(problem).collect()
}

/// A failure with its place, where that is a line of a file.
fn problem(failure: Failure) -> Problem {
    let of_line = |at: &str| {
        let (file, line) = at.rsplit_once(':')?;
        Some(Position { file: file.into(), line: line.parse().ok()?, column: 1 })
    };
    let of_file = |at: &str| at.starts_with('/').then(|| Position { file: at.into(), line: 1, column: 1 });
    let position = failure.at.as_deref().and_then(|at| of_line(at).or_else(|| of_file(at)));
    Problem { position, because: failure.because, hint: failure.hint, ..Problem::new(failure.what) }
}

/// Every line that sets what ssh does not know, once, whoever would meet it.
fn misspelled(config: &SshConfig, cluster: &Cluster) -> Vec<Failure> {
    let mut failures = Vec::<Failure>::new();
    for host in &cluster.hosts {
        let unknown = config.unknown(&ssh_address(host), host.ssh.user.as_deref());
        for failure in unknown.iter().map(|fault| failure(fault, None)) {
            if !failures.contains(&failure) {
                failures.push(failure);
            }
        }
    }
    failures
}

/// Where SSH reaches a host. Its key is known by this address, and `Host` of an `ssh_config` is compared with it.
fn ssh_address(host: &Host) -> String {
    host.ssh.address.clone().unwrap_or_else(|| host.address.to_string())
}

fn failure(fault: &SshConfigFault, host: Option<&str>) -> Failure {
    let what = match host {
        Some(host) => format!("the way to {host} is not clear: {fault}"),
        None => format!("the ssh_config can't be used: {fault}"),
    };
    Failure::new(Kind::Input, what).at(fault.at()).because(fault.because()).hint(fault.hint())
}

struct Resolver<'a> {
    config: &'a SshConfig,
    home: Option<&'a Path>,
}

/// What a login is called and where the way to it has been.
struct Hop<'a> {
    /// In messages.
    name: &'a str,
    /// As the user wrote it; `Host` of an `ssh_config` is compared with it and nothing else.
    address: &'a str,
    default_user: &'a str,
    passed: BTreeSet<(String, u16)>,
}

/// What the cluster's file decides itself.
fn overruled(ssh: &Ssh, jumps: &[Jump]) -> Overruled {
    Overruled {
        way: ssh.via.is_some() || !jumps.is_empty(),
        login: ssh.private_key_file.is_some() || ssh.private_key.is_some() || ssh.password.is_some(),
        host_key: ssh.known_hosts_file.is_some() || ssh.host_key.is_some(),
        checking: ssh.host_key_checking.is_some(),
    }
}

fn leads_nowhere(host: &str, address: &str, port: u16) -> Failure {
    Failure::new(Kind::Input, format!("the way to {host} leads nowhere"))
        .at(format!("host {host}"))
        .because(format!("it comes by {address} port {port} twice, or by more than {MAX_HOPS} servers"))
        .hint("in ssh_config, keep the bastion out of the block with its ProxyJump: Host * !BASTION")
}

impl Resolver<'_> {
    fn host(&self, name: &str, address: &str, ssh: &Ssh) -> Result<Target, Failure> {
        self.hop(name, ssh, &[], Hop { name, address, default_user: DEFAULT_USER, passed: BTreeSet::new() })
    }

    /// `jumps` are the bastions that come before this one by the `ProxyJump` that named it.
    fn hop(&self, host: &str, ssh: &Ssh, jumps: &[Jump], mut hop: Hop<'_>) -> Result<Target, Failure> {
        let found = self.config.lookup(hop.address, ssh.user.as_deref(), overruled(ssh, jumps));
        let found = found.map_err(|fault| failure(&fault, Some(host)))?;
        let SshSettings { host_name, port, user, checking, jumps: configured_jumps, mut configured } = found;
        // What the cluster's file says itself is not from there.
        configured.origin.port = configured.origin.port.filter(|_| ssh.port.is_none());
        configured.origin.user = configured.origin.user.filter(|_| ssh.user.is_none());
        let address = host_name.unwrap_or_else(|| hop.address.to_owned());
        let port = ssh.port.or(port).unwrap_or(DEFAULT_PORT);
        if hop.passed.len() == MAX_HOPS || !hop.passed.insert((address.to_ascii_lowercase(), port)) {
            return Err(leads_nowhere(host, &address, port));
        }
        let jumps = match (&ssh.via, jumps) {
            (Some(_), _) => Vec::new(),
            (None, []) => configured_jumps.unwrap_or_default(),
            (None, jumps) => jumps.to_vec(),
        };
        let bastion = match &ssh.via {
            Some(Via::Bastion(bastion)) => Some(self.bastion(host, bastion, hop.passed)?),
            Some(Via::Direct) => None,
            None => self.jump(host, &jumps, hop.passed)?,
        };
        Ok(Target {
            name: hop.name.to_owned(),
            address,
            port,
            user: ssh.user.clone().or(user).unwrap_or_else(|| hop.default_user.to_owned()),
            private_key_file: ssh.private_key_file.as_deref().map(|path| expand(path, self.home)),
            private_key: ssh.private_key.clone(),
            known_hosts_file: ssh.known_hosts_file.as_deref().map(|path| expand(path, self.home)),
            host_key: ssh.host_key.clone(),
            host_key_checking: ssh.host_key_checking.or(checking).unwrap_or(HostKeyChecking::Strict),
            password: ssh.password.clone(),
            sudo_password: ssh.sudo_password.clone(),
            bastion: bastion.map(Box::new),
            configured,
        })
    }

    fn bastion(&self, host: &str, bastion: &Bastion, passed: BTreeSet<(String, u16)>) -> Result<Target, Failure> {
        let (name, default_user) = (bastion.address.as_str(), self.config.local_user());
        self.hop(host, &bastion.ssh, &[], Hop { name, address: name, default_user, passed })
    }

    /// The last of several jumps is the nearest to the host; those before it lead to it, whatever it is configured to go through.
    fn jump(&self, host: &str, jumps: &[Jump], passed: BTreeSet<(String, u16)>) -> Result<Option<Target>, Failure> {
        let Some((nearest, before)) = jumps.split_last() else { return Ok(None) };
        let ssh = Ssh { user: nearest.user.clone(), port: nearest.port, ..Ssh::default() };
        let (name, default_user) = (nearest.host.as_str(), self.config.local_user());
        self.hop(host, &ssh, before, Hop { name, address: name, default_user, passed }).map(Some)
    }
}

/// A leading `~/` is the home directory of whoever runs kokctl.
pub(super) fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
