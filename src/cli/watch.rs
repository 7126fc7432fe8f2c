//! `kokctl watch`

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::event::Events;
use crate::failure::{Failure, printable};
use crate::operator::{FollowedEvent, Group, Watched, watch};
use crate::ui::{Terminal, status_line};

/// Watch an operation of the operator, as a run on this machine
///
/// It shows what the status of the operation says, until it is over, and ends with the exit code that the operation has earned. Nothing is changed: to end
/// the watch with Ctrl-C ends nothing else.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// An operation, or a Cluster, of which the one under way is meant, or else the next; by default the only one that is under way
    name: Option<String>,
    /// The kubeconfig of the meta-cluster
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Its context, in place of the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The API group of the operation
    #[arg(long, value_name = "GROUP", default_value = "kubeonkube.clay.io")]
    group: GroupName,
}

/// A group that the operator serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GroupName {
    #[value(name = "kubeonkube.clay.io")]
    KubeOnKube,
    #[value(name = "kubean.io")]
    Kubean,
}

impl GroupName {
    pub(super) const fn group(self) -> Group {
        match self {
            Self::KubeOnKube => Group::KubeOnKube,
            Self::Kubean => Group::Kubean,
        }
    }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let is_live = std::io::stderr().is_terminal() && !super::log::is_on_terminal();
    let events = Events::new(vec![Box::new(Terminal::new(is_live))]);
    let Arguments { name, kubeconfig, context, group } = arguments;
    let watched = Watched { kubeconfig: kubeconfig.clone(), context: context.clone(), group: group.group(), name: name.clone() };
    let tell = |seen| match seen {
        FollowedEvent::Event(kind) => events.send(kind),
        FollowedEvent::Line(text) => status_line(&printable(&text)),
    };
    watch(&watched, tell).await.map_err(|failure| vec![failure])
}
