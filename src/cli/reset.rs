//! `kokctl reset`

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::{counted, listed};
use kok_tasks::drain::DrainSettings;

use super::changing::{ChangingArguments, Session, failures};
use super::files::{ClusterFiles, ExtraVars};
use super::limit::LimitArgument;
use super::process;
use super::remove::LEAVE;
use super::wanted::WantedReset;
use crate::engine::{self, Follows, Options, Removal, ResetDone, ResetRequest, Silent, SnapshotWish, Verdict};
use crate::failure::{Failure, Kind};
use crate::state::{Keeping, KeptSnapshot, SnapshotFile};
use crate::ui::status_line;

/// Take the cluster down, or workers out of it: remove Kubernetes, its data, containerd and kokctl's own files from every host, or from these
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Where the snapshot of etcd is kept that is taken before the whole cluster goes; by default in kokctl's folder of the cluster
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Take no snapshot of etcd: all that the cluster has stored may be lost
    #[arg(long, conflicts_with = "snapshot")]
    no_snapshot: bool,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (cluster, WantedReset { part, agreed }) = wanted(arguments)?;
    match agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None => ask(&cluster, part.as_ref().map(|(hosts, _)| hosts.as_slice())).map_err(|failure| vec![failure])?,
    }
    let snapshot = match &arguments.snapshot {
        _ if arguments.no_snapshot => SnapshotWish::None("--no-snapshot leaves it out"),
        Some(path) => SnapshotWish::In(path),
        None => SnapshotWish::InStore,
    };
    match &part {
        None => take_down(arguments, &cluster, ResetRequest::Whole { snapshot }).await,
        Some((hosts, written)) => {
            let part = format!("--limit {written}");
            // Whoever has typed the cluster's name has given up what is on these hosts.
            let drain =
                DrainSettings { delete_empty_dir: true, delete_unmanaged: true, ..DrainSettings::from_drains(&cluster.settings.drains) };
            let removal = Removal { hosts, drain, silent: Silent::Refused, follows: Follows::Nothing, members: None, even: false };
            take_down(arguments, &cluster, ResetRequest::Hosts { removal: &removal, part: &part }).await
        }
    }
}

/// What is to be taken down, before anybody is asked.
fn wanted(arguments: &Arguments) -> Result<(Cluster, WantedReset), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let wanted = arguments.limit.reset(&input, &cluster)?;
    let given = [("--snapshot", arguments.snapshot.is_some()), ("--no-snapshot", arguments.no_snapshot)];
    let given = given.into_iter().find(|(_, is_given)| *is_given);
    if let (Some((option, _)), Some((_, written))) = (given, &wanted.part) {
        let failure = Failure::new(Kind::Input, format!("{option} is of no use where the cluster goes on")).at(option);
        let failure = failure.because(format!("only {written} is meant, and no snapshot of etcd is taken then"));
        return Err(vec![failure.hint(format!("leave {option} out; or, if the whole cluster is to go, the limit"))]);
    }
    if let Some(path) = &arguments.snapshot {
        SnapshotFile::check(path).map_err(|failure| vec![failure])?;
    }
    Ok((cluster, wanted))
}

/// Takes down what was agreed on, and says what has gone.
async fn take_down(arguments: &Arguments, cluster: &Cluster, request: ResetRequest<'_>) -> Result<(), Vec<Failure>> {
    let (session, lock) = Session::open(cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let (context, store) = (&session.context, &session.store);
    let work = async |options: Options<'_>| engine::reset(context, (store, lock), cluster, request, options).await;
    let done = session.with_options(|_| Verdict::Go, work).await;
    let ResetDone { plan, outcome, kept, dead } = done.map_err(|error| failures(error, "reset"))?;
    match (request, outcome) {
        (_, None) => session.say("nothing to do"),
        (ResetRequest::Whole { .. }, Some(_)) => {
            let hosts = counted(plan.changes().count(), "host is", "hosts are");
            session.say(&format!("{hosts} no longer part of the cluster {}", cluster.name));
            kept.iter().flat_map(snapshot_words).for_each(|text| session.say(&text));
        }
        (ResetRequest::Hosts { removal: Removal { hosts, .. }, .. }, Some(_)) => {
            let (names, is) = (listed(hosts.iter().map(String::as_str)), if hosts.len() == 1 { "is" } else { "are" });
            session.say(&format!("{names} {is} no longer part of the cluster {}", cluster.name));
            session.say("the next `kokctl apply` makes nodes of them again, unless you take them out of the file");
        }
    }
    if matches!(request, ResetRequest::Whole { .. }) {
        if !dead.is_empty() {
            status_line(&format!("note: {}", uncleaned_words(&dead)));
        }
        say_kept(cluster);
    }
    Ok(())
}

/// What is left of hosts that were to be gone and did not answer.
fn uncleaned_words(dead: &BTreeSet<String>) -> String {
    let (names, they) = (listed(dead.iter().map(String::as_str)), if dead.len() == 1 { "it" } else { "they" });
    format!(
        "{names} did not answer, and nothing was done there; when {they} can be reached again, `kokctl reset` with this file cleans {names}"
    )
}

/// Where a snapshot of etcd is, and what it is good for.
pub(super) fn snapshot_words(kept: &KeptSnapshot) -> Vec<String> {
    let path = kept.path.display();
    let key = kept.key.as_ref().map(|key| {
        let key = key.display();
        format!("what it holds is encrypted, and the key is in {key}: whoever has both can read it, so keep them apart")
    });
    let restore = format!("to restore it: `etcdutl snapshot restore {path} …` on a host of etcd, as docs/apply.md says");
    let first = format!("the snapshot of etcd is in {path} ({:.1} MB), with every Secret of the cluster", kept.bytes as f64 / 1e6);
    [first].into_iter().chain(key).chain([restore]).collect()
}

/// What is kept on this machine is the user's to remove: with it, the next cluster of that name has the authorities of this one.
fn say_kept(cluster: &Cluster) {
    let Some(file) = &cluster.settings.certificates.escrow else { return };
    let keeping = Keeping::new(&cluster.name, file, process::home().as_deref());
    if keeping.path().exists() {
        let path = keeping.path().display();
        status_line(&format!("note: {path} stays; the next apply takes the keys that it keeps. Remove it if there are to be new ones"));
    }
}

/// The name of the cluster is asked for, because a `y` is typed too easily.
pub(super) fn ask(cluster: &Cluster, part: Option<&[String]>) -> Result<(), Failure> {
    // With the whole go those that the file wants gone anyway.
    let leaving = cluster.leaving.iter().filter(|_| part.is_none());
    let meant = cluster.hosts.iter().filter(|host| part.is_none_or(|part| part.contains(&host.name))).chain(leaving);
    let hosts = meant.map(|host| format!("{} ({})", host.name, host.address)).collect::<Vec<_>>().join(", ");
    let data = if part.is_some() { "volumes on the hosts included" } else { "etcd and volumes on the hosts included" };
    ask_words(
        cluster,
        if part.is_some() { LEAVE } else { "the reset" },
        &format!("This removes Kubernetes and ALL ITS DATA, {data}, from {hosts}."),
    )
}

/// Says what is going to happen, and has the cluster's name typed.
pub(super) fn ask_words(cluster: &Cluster, what: &str, words: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Kind::Declined, format!("nobody confirmed {what}"))
            .because("standard input is no terminal")
            .hint("add --yes if that is meant"));
    }
    status_line(words);
    status_line(&format!("Type the name of the cluster ({}) to go on:", cluster.name));
    agreed(&cluster.name, &mut io::stdin().lock())
}

/// Whether the next line is that name, and nothing else.
fn agreed(name: &str, answers: &mut impl BufRead) -> Result<(), Failure> {
    let mut answer = String::new();
    let is_read = answers.read_line(&mut answer).is_ok();
    if is_read && answer.trim() == name {
        Ok(())
    } else {
        Err(Failure::new(Kind::Declined, "the reset was not confirmed").hint("nothing was changed"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::fs;

    use clap::Parser;

    use super::{Arguments, Failure, agreed, wanted};

    #[test]
    fn only_the_clusters_name_is_a_yes() {
        let agrees = |answer: &str| agreed("demo", &mut answer.as_bytes()).is_ok();
        assert!(agrees("demo\n") && agrees("demo") && agrees(" demo \r\n"));
        for other in ["", "\n", "y\n", "yes\n", "Demo\n", "demo2\n", "dem\n", "\ndemo\n"] {
            assert!(!agrees(other), "{other:?}");
        }
    }

    const FILE: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1
  hosts:\n  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.12, roles: [worker]}\n";

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn what_is_said_of_a_snapshot_counts_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.yaml");
        let operation = "---\napiVersion: kubean.io/v1alpha1\nkind: ClusterOperation\nmetadata: {name: o}\n\
            spec: {cluster: c, actionType: playbook, action: reset.yml, extraArgs: --limit=w1}\n";
        let refused = |operation: &str, line: &[&str]| -> Option<Failure> {
            fs::write(&path, format!("{FILE}{operation}")).unwrap();
            let line = ["reset", "-f", path.to_str().unwrap()].into_iter().chain(line.iter().copied());
            wanted(&Line::try_parse_from(line).unwrap().arguments).err().map(|mut failures| failures.remove(0))
        };
        let snapshot = folder.path().join("a.db").to_str().unwrap().to_owned();
        for (option, line) in [("--snapshot", vec!["--snapshot", &snapshot]), ("--no-snapshot", vec!["--no-snapshot"])] {
            assert!(refused("", &line).is_none());
            assert_eq!(refused("", &[&line[..], &["-l", "w1"]].concat()).unwrap().at.as_deref(), Some(option));
            assert_eq!(refused(operation, &line).unwrap().at.as_deref(), Some(option), "the limit may be that of the files");
        }
        assert!(refused("", &["--snapshot", "/none/a.db"]).unwrap().what.contains("/none/a.db"));
    }
}
