//! `kokctl known-hosts`

use clap::{Args, Subcommand};

use super::files::{ClusterFiles, ExtraVars};
use super::process;
use crate::failure::{Failure, Kind};
use crate::remote::{ConnectError, Deadlines, HostKeyFault, KeyPrint, Scan, Target};
use crate::run::{in_order, targets};
use crate::ui::{line, status_line};

/// Begin to know the host keys of a cluster's hosts
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the host keys that the hosts show, as lines for known_hosts
    ///
    /// Nothing is verified by that: whoever answers at a host's address can show a key of its own. Compare the fingerprints with what
    /// `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints on each host's console.
    Scan(ScanArguments),
}

#[derive(Debug, Args)]
struct ScanArguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Add the keys of hosts that are not known yet to known_hosts: trust on first use
    #[arg(long)]
    write: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Verb::Scan(arguments) = &arguments.verb;
    let cluster = arguments.cluster.read(&arguments.extra)?;
    let mut outcome = Outcome { write: arguments.write, ..Outcome::default() };
    let transport = process::transport();
    for target in in_order(targets(&cluster, |_| true, transport.surroundings())?) {
        match Scan::ask(&target, &Deadlines::default(), &transport).await {
            Ok(scan) => outcome.take(&target, &scan),
            Err(error) => outcome.failures.push(not_scanned(error)),
        }
    }
    outcome.explain();
    if outcome.failures.is_empty() { Ok(()) } else { Err(outcome.failures) }
}

/// Behind a bastion whose key is not known nothing is reached: its own keys, which were shown before, come first.
fn not_scanned(error: ConnectError) -> Failure {
    const FIRST: &str = "compare the bastion's key, which is shown above, then run this again with --write, or set the bastion's hostKey \
                         in the cluster file";
    let is_behind_unknown = error.is_behind_unknown();
    let failure = Failure::from(error);
    if is_behind_unknown { failure.hint(FIRST) } else { failure }
}

/// Whether the host is known by another key of this very type: that is not another of its keys, but another host, or a new key.
fn same_type_is_recorded(fault: &HostKeyFault, shown: &KeyPrint) -> bool {
    match fault {
        HostKeyFault::Changed { recorded, .. } => recorded.iter().any(|(known, _)| known.algorithm == shown.algorithm),
        HostKeyFault::NotPinned { .. } => false,
        _ => true,
    }
}

#[derive(Default)]
struct Outcome {
    write: bool,
    printed: bool,
    failures: Vec<Failure>,
}

impl Outcome {
    fn take(&mut self, target: &Target, scan: &Scan) {
        let server = format!("{} ({})", target.name, target.endpoint());
        if scan.keys.is_empty() {
            let failure = Failure::new(Kind::Host, format!("{server} shows no host key of a type that is safe"));
            return self.failures.push(failure.hint("make an Ed25519 host key on it: ssh-keygen -A"));
        }
        // Of a host that is known by one key, others need not be.
        let is_known = scan.keys.iter().any(|key| key.fault.is_none());
        for key in &scan.keys {
            let standing = match &key.fault {
                None => "known",
                Some(HostKeyFault::Unknown { .. }) => "new",
                Some(fault) if is_known && !same_type_is_recorded(fault, &key.print) => "known by another key",
                Some(fault) => {
                    let failure = Failure::new(Kind::Host, format!("{server}: {fault}: {}", key.print));
                    self.failures.push(failure.hint("find out why before you trust it; `ssh-keygen -R` removes an old key"));
                    continue;
                }
            };
            status_line(&format!("{server}: {standing}: {}", key.print));
            if standing == "new" {
                self.printed = true;
                line(&key.line);
            }
        }
        if self.write && scan.is_new() {
            self.add(&server, scan);
        }
    }

    fn add(&mut self, server: &str, scan: &Scan) {
        let file = scan.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        match scan.add() {
            Ok(true) => status_line(&format!("{server}: added to {file}")),
            Ok(false) => status_line(&format!("{server}: {file} has got a line for it meanwhile; nothing was added")),
            Err(error) => {
                let failure = Failure::new(Kind::Input, format!("the keys of {server} can't be added to known_hosts"));
                self.failures.push(
                    failure
                        .at(file)
                        .because(error.to_string())
                        .hint("let that file and its folder be writable for you, or leave --write out"),
                );
            }
        }
    }

    fn explain(&self) {
        if !self.printed {
            return;
        }
        let next = if self.write {
            "They are trusted from now on."
        } else {
            "Nothing was written: add the lines to known_hosts yourself, or run this again with --write."
        };
        status_line(&format!(
            "These keys are what answered, which is not yet proof of who answered: this is trust on first use. Compare each fingerprint \
             with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the host's console. {next}"
        ));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::remote::Target;
    use crate::remote::tests::harness::a_target;
    use crate::run::in_order;

    #[test]
    fn bastions_come_first_and_each_server_once() {
        let at = |name: &str, bastion: Option<Target>| Target {
            name: name.to_owned(),
            address: name.to_owned(),
            bastion: bastion.map(Box::new),
            ..a_target()
        };
        let outer = at("outer", None);
        let gate = at("gate", Some(outer.clone()));
        // The same address behind another way is another server.
        let targets = vec![at("a", Some(gate.clone())), at("b", Some(gate)), at("a", None), at("a", Some(outer))];
        let names: Vec<_> = in_order(targets).into_iter().map(|target| (target.name, target.bastion.map(|way| way.name))).collect();
        let way = |name: &str, bastion: Option<&str>| (name.to_owned(), bastion.map(str::to_owned));
        let expected = [
            way("outer", None),
            way("gate", Some("outer")),
            way("a", Some("gate")),
            way("b", Some("gate")),
            way("a", None),
            way("a", Some("outer")),
        ];
        assert_eq!(names, expected);
    }
}
