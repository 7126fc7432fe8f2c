//! `kokctl apply`

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use clap::Args;
use kok_crds::model::Cluster;
use kok_tasks::artifact::Artifact;
use kok_tasks::plan::Plan;
use kok_tasks::resources::Act;

use super::common::{BundleArgument, MaxFail, PartArguments};
use super::converge::{Tolerance, converge};
use super::files::{ClusterFiles, ExtraVars};
use super::report;
use crate::run::{Clock, EventKind, Events, FORMAT, Means, Secrets, Sink, Taking, carry_out, forget, random_bytes};
use crate::state::{ClusterLock, Journal, who};
use crate::ui::{Failure, Json, Kind, Terminal, Trace, line, status_line};

/// Bring the hosts to what the cluster's file says
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    #[command(flatten)]
    part: PartArguments,
    /// How many hosts may fail, as a number or as a percentage of all; above that nothing new is begun. Up to so many hosts that can't
    /// be reached and are no control plane are left out
    #[arg(long, value_name = "N|N%")]
    max_fail: Option<MaxFail>,
    /// End what another run that holds the hosts has at work there, and take its place
    #[arg(long)]
    take_over: bool,
    /// Print every event as a line of JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Opens the event stream of a run, with its journal, and says that it begins.
pub(super) fn open_events(verb: &str, cluster: &Cluster, part: Option<String>, json: bool) -> Result<(Events, String), Vec<Failure>> {
    let run = format!("{}-{}", Clock::compact(), hex::encode(random_bytes::<2>().map_err(|failure| vec![failure])?));
    let journal = Journal::create(&run).map_err(|failure| vec![failure])?;
    let screen: Box<dyn Sink> =
        if json { Box::new(Json) } else { Box::new(Terminal::new(std::io::stderr().is_terminal() && !super::log::is_on_terminal())) };
    let events = Events::new(vec![screen, Box::new(journal), Box::new(Trace::default())]);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    events.send(EventKind::RunStarted {
        v: FORMAT,
        run: run.clone(),
        verb: verb.to_owned(),
        cluster: cluster.name.clone(),
        time: Clock::rfc3339(),
        version,
        who: who(),
        part,
    });
    Ok((events, run))
}

/// Says in the journal too why nothing was begun.
pub(super) fn recorded<T>(events: &Events, result: Result<T, Vec<Failure>>) -> Result<T, Vec<Failure>> {
    if let Err(failures) = &result {
        let code = Kind::worst(failures).exit_code();
        let failures = failures.iter().map(Failure::told).collect();
        events.send(EventKind::RunRefused { code, failures, took_milliseconds: events.milliseconds() });
    }
    result
}

fn artifacts(plan: &Plan) -> Vec<Artifact> {
    let acts = plan.changes().map(|(step, change)| step.act(change));
    acts.filter_map(|act| if let Act::Stream { artifact, .. } = act { Some(artifact) } else { None }).collect()
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let began = Instant::now();
    let cluster = arguments.cluster.read(&arguments.extra)?;
    let selection = arguments.part.select(&cluster)?;
    let bundle = arguments.bundle.open()?;
    let _lock = ClusterLock::take(&cluster.name).map_err(|failure| vec![failure])?;
    let (events, run) = open_events("apply", &cluster, arguments.part.text(), arguments.json)?;
    let token = crate::run::Token::generate().map_err(|failure| vec![failure])?;
    let most_failed = arguments.max_fail.map(|most| most.of(cluster.hosts.len()));
    let tolerance = Tolerance { holder: arguments.take_over, unreachable: most_failed.unwrap_or_default() };
    let planned = recorded(&events, converge(&cluster, bundle.bundle(), &selection, &token.id, tolerance, &events).await)?;
    if planned.plan.is_empty() {
        forget(&planned.links, &planned.standing).await;
        events.send(EventKind::RunFinished { done: 0, failed: 0, blocked: 0, took_milliseconds: events.milliseconds() });
        say(arguments, "nothing to do");
        report::part(&selection, &planned.plan).iter().for_each(|text| status_line(text));
        return Ok(());
    }
    let needed = artifacts(&planned.plan);
    // Both before the first host is changed: a corrupted file, or an authority that can't be read, must not leave a half-made cluster.
    let bytes = recorded(&events, tokio::task::block_in_place(|| bundle.verify(needed.iter())))?;
    if bytes > 0 {
        events.send(EventKind::BundleVerified { bytes });
    }
    let secrets = Secrets::prepare(&cluster, &planned.plan, &token, &planned.links, planned.now_seconds).await;
    let secrets = recorded(&events, secrets.map_err(|failure| vec![failure]))?;
    if secrets.made() > 0 {
        events.send(EventKind::SecretsReady { made: secrets.made() });
    }
    let taking = Taking { run, take_over: arguments.take_over };
    let (links, standing) = (&planned.links, &planned.standing);
    let means = Means {
        links,
        standing,
        taking,
        secrets,
        bundle: Some(bundle),
        whole: selection.is_whole(),
        left_out: &planned.left_out,
        most_failed,
    };
    let outcome = recorded(&events, carry_out(&planned.plan, means, &events).await)?;
    if !outcome.is_complete() {
        return Err(report::failures(&outcome, "`kokctl apply`"));
    }
    let seconds = Duration::as_secs_f64(&began.elapsed());
    if let Some(part) = report::part(&selection, &planned.plan) {
        let hosts = report::changed_hosts(&planned.plan);
        say(
            arguments,
            &format!("{} changes on {hosts} hosts of {}, {seconds:.1} s; this is not a whole cluster", outcome.done, cluster.name),
        );
        say(arguments, &part);
        return Ok(());
    }
    let hosts = cluster.hosts.len();
    say(arguments, &format!("cluster {} is ready: {hosts} hosts, {} changes, {seconds:.1} s", cluster.name, outcome.done));
    say(
        arguments,
        &format!(
            "next: kokctl kubeconfig -f {} > kubeconfig && kubectl --kubeconfig kubeconfig get nodes",
            arguments.cluster.path().display()
        ),
    );
    Ok(())
}

fn say(arguments: &Arguments, text: &str) {
    if arguments.json { status_line(text) } else { line(text) }
}
