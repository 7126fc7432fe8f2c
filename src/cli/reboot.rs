//! `kokctl reboot`

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use kok_crds::listed;
use kok_crds::operation::Verb;
use kok_tasks::plan::Reboots;

use super::changing::{Session, failures};
use super::drain::Nodes;
use super::drain_arguments::{DrainOptions, EmptyDirOption, SerialOption};
use super::limit::LimitArgument;
use super::process;
use crate::engine::{self, Options, Verdict};
use crate::failure::Failure;

/// Start hosts anew, control planes one after the other and then some workers at a time: each is drained before, and has to be Ready again before another one
/// goes
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    limit: LimitArgument,
    /// Only hosts that say that they have to be, by /run/reboot-required
    #[arg(long)]
    if_needed: bool,
    /// How many seconds a host may take until it is back
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(30..))]
    back_within: u64,
    #[command(flatten)]
    drain: DrainOptions,
    #[command(flatten)]
    empty_dir: EmptyDirOption,
    #[command(flatten)]
    serial: SerialOption,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (mut cluster, hosts) = arguments.nodes.read(Verb::Reboot, &arguments.limit)?;
    arguments.serial.tell(&mut cluster);
    let back_within = Duration::from_secs(arguments.back_within);
    let reboots = Reboots {
        hosts: &hosts,
        if_needed: arguments.if_needed,
        drain: arguments.drain.settings(&cluster, arguments.empty_dir.delete_emptydir),
        back_within,
        boots: &BTreeMap::new(),
    };
    let part = hosts.join(",");
    let (session, lock) = Session::open(&cluster, &arguments.nodes.changing, process::transport()).map_err(|failure| vec![failure])?;
    let context = &session.context;
    let work = async |options: Options<'_>| engine::reboot(context, lock, &cluster, (&reboots, &part), options).await;
    let outcome = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "reboot"))?;
    session.say(&match outcome {
        None if arguments.if_needed => "nothing to do: none of them says that it has to be started anew".to_owned(),
        None => "nothing to do".to_owned(),
        Some(outcome) => {
            let work = if hosts.len() == 1 { "works" } else { "work" };
            format!("{} steps are done; {} {work} as before", outcome.done, listed(hosts.iter().map(String::as_str)))
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use kok_crds::operation::Verb;

    use super::super::test_files::read_line;
    use super::{Arguments, Failure};

    const FILES: &str = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.21, roles: [worker]}\n
  - {name: w2, address: 10.0.0.22, roles: [worker]}\n";

    fn hosts(action: &str, line: &[&str]) -> Result<Vec<String>, Failure> {
        let read = |arguments: &Arguments| arguments.nodes.read(Verb::Reboot, &arguments.limit);
        read_line(FILES, ("reboot", action), line, read).map(|(_, hosts)| hosts)
    }

    #[test]
    fn hosts_are_named_by_themselves_or_by_the_limit_of_other_commands() {
        assert_eq!(hosts("", &["kube_node"]).unwrap(), ["w1", "w2"]);
        assert_eq!(hosts("", &["--limit", "kube_node,!w1"]).unwrap(), ["w2"]);
        assert_eq!(hosts("", &["-l", "w1"]).unwrap(), ["w1"]);
        assert_eq!(hosts("--limit w2", &[]).unwrap(), ["w2"], "those of the operation");
        assert_eq!(hosts("--limit w2", &["--limit", "w1"]).unwrap(), ["w1"], "the command line wins");
    }

    #[test]
    fn all_of_them_are_never_meant_by_silence_and_nobody_is_named_twice() {
        assert_eq!(hosts("", &[]).unwrap_err().what, "no host is named");
        assert_eq!(hosts("", &["w1", "--limit", "w2"]).unwrap_err().what, "hosts are named twice");
        assert_eq!(hosts("", &["--limit", "w3"]).unwrap_err().at.as_deref(), Some("--limit"));
    }
}
