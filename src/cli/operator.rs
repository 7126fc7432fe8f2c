//! `kokctl operator`

mod manifests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use tokio::sync::watch;

use super::process;
use super::signals::listen;
use super::watch::GroupName;
use crate::artifacts::BUNDLE_VARIABLE;
use crate::failure::{Failure, Kind};
use crate::operator::{Group, OperatorSettings, run as serve};
use crate::run::Stop;
use crate::state::StateFolder;

/// Serve Cluster and ClusterOperation objects of a meta-cluster
///
/// Each operation is carried out as on the command line, by what its Cluster names: an inventory, variables and a private key in the objects of
/// kube-on-kube or kubean. Several replicas may run; one that is ended is gone on with by another one.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The kubeconfig of the meta-cluster; in a pod of it none is needed
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Its context, in place of the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespaces with the ConfigMaps and Secrets of clusters; by default the operator's own
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    namespaces: Vec<String>,
    /// The operator's own namespace, for its Leases and what it remembers; by default the first of --namespaces. Nobody else is to write there
    #[arg(long, value_name = "NAMESPACE")]
    own_namespace: Option<String>,
    /// API groups to serve. kubean's own operator must not run beside it where its group is served
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "kubeonkube.clay.io")]
    groups: Vec<GroupName>,
    /// The folder of the bundle to install from; by default what KOKCTL_BUNDLE names. Without either nothing can be installed
    #[arg(long, value_name = "FOLDER")]
    bundle: Option<PathBuf>,
    /// The folder for journals, snapshots of etcd and known host keys; by default kokctl's own folder of state
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// How many operations may be under way at the same time
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// How many seconds an operation may take that has no `activeDeadlineSeconds`; anew once its plan is approved, and not while that is waited for
    #[arg(long, value_name = "SECONDS", default_value_t = 7200, value_parser = clap::value_parser!(u64).range(60..))]
    run_deadline: u64,
    /// How many operations of a cluster are kept that have ended
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=200))]
    history: u16,
    /// Where /metrics is served
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Where /livez and /readyz are served
    #[arg(long, value_name = "ADDRESS:PORT")]
    health: Option<SocketAddr>,
    /// Where a page shows clusters, hosts and runs, to look at. It asks nobody who they are, so only an address of loopback is taken: `kubectl port-forward`
    /// reaches it
    #[arg(long, value_name = "ADDRESS:PORT")]
    web: Option<SocketAddr>,
    /// What this replica is called in Leases and on hosts; by default the name of the machine
    #[arg(long, value_name = "NAME")]
    identity: Option<String>,
    /// Trust host keys that are not known yet. Whoever answers first at an address is trusted from then on
    #[arg(long)]
    accept_new_host_keys: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Manifests(manifests::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    if let Some(Verb::Manifests(arguments)) = &arguments.verb {
        return manifests::run(arguments);
    }
    let settings = settings(arguments).map_err(|failure| vec![failure])?;
    serve(settings).await.map_err(|failure| vec![failure])
}

fn settings(arguments: &Arguments) -> Result<OperatorSettings, Failure> {
    let bundle = arguments.bundle.clone().or_else(|| process::path_of(BUNDLE_VARIABLE));
    let bundle = bundle.as_deref().map(|path| super::common::open_signed(path, None)).transpose()?.map(Arc::new);
    let state = arguments.state.clone().map(StateFolder::at).map_or_else(process::state, Ok)?;
    let mut groups: Vec<Group> = arguments.groups.iter().map(|name| name.group()).collect();
    groups.sort_unstable();
    groups.dedup();
    Ok(OperatorSettings {
        kubeconfig: arguments.kubeconfig.clone(),
        context: arguments.context.clone(),
        namespaces: arguments.namespaces.clone(),
        own_namespace: arguments.own_namespace.clone(),
        groups,
        bundle,
        state,
        runs: usize::from(arguments.runs),
        run_deadline: Duration::from_secs(arguments.run_deadline),
        history: usize::from(arguments.history),
        metrics: arguments.metrics,
        health: arguments.health,
        web: arguments.web,
        identity: arguments.identity.clone().map_or_else(machine, Ok)?,
        accept_new_host_keys: arguments.accept_new_host_keys,
        stop: ended()?,
    })
}

/// The name of this machine, which is that of the pod in one.
fn machine() -> Result<String, Failure> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() {
        return Err(Failure::new(Kind::Input, "this machine has no name").hint("give one with --identity"));
    }
    Ok(name)
}

/// Says `true` when a signal asks for the end.
fn ended() -> Result<watch::Receiver<bool>, Failure> {
    let (wish, mut wished) = watch::channel(Stop::No);
    listen(wish)?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        let is_wished = wished.wait_for(|stop| *stop != Stop::No).await.is_ok();
        sender.send_replace(is_wished);
        sender.closed().await;
    });
    Ok(receiver)
}
