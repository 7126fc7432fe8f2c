//! `kokctl upgrade`

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_crds::{Intent, Position, count, listed};
use kok_tasks::upgrade::{CheckName, Found, Hop, Part, Pause, Stage, StageName, Turn, Wish, left};
use semver::Version;

use super::changing::{ChangingArguments, Session, failures};
use super::common::BundleArgument;
use super::drain_arguments::SerialOption;
use super::files::{ClusterFiles, ExtraVars};
use super::limit::LimitArgument;
use super::process;
use super::reset;
use super::wanted::{problems, tasks};
use crate::engine::{self, Given, Options, UpgradeRequest, Upgraded, Verdict, Way};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// Bring a cluster to another version of Kubernetes: etcd and control planes in turn, then kubelets, whose nodes are drained; the same again goes on where it
/// was cut off
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    /// The version that it is to have; by default what the file says
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// Only say which way it would go, and what is in it
    #[arg(long)]
    check: bool,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Stop after the first control plane, or when all of them and what the cluster says of itself are done; the same without it goes on
    #[arg(long, value_name = "WHERE")]
    pause_after: Option<PauseAfter>,
    /// Give the version to control planes alone, which go on to work as the one before: until --finish it can be taken back
    #[arg(long, conflicts_with_all = ["finish", "take_back", "part"])]
    emulate: bool,
    /// Go on to the end with what --emulate has begun: control planes work as what they are, and all else follows
    #[arg(long, conflicts_with_all = ["take_back"])]
    finish: bool,
    /// Give control planes the version back that they have had before --emulate
    #[arg(long, conflicts_with_all = ["to", "part"])]
    take_back: bool,
    /// Only control planes with their kubelets, or only the kubelets of workers
    #[arg(long, value_name = "PART")]
    part: Option<PartName>,
    #[command(flatten)]
    limit: LimitArgument,
    #[command(flatten)]
    serial: SerialOption,
    /// Go on although this check finds something; may be given several times
    #[arg(long, value_name = "CHECK")]
    ignore: Vec<CheckName>,
    #[command(flatten)]
    changing: ChangingArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PauseAfter {
    First,
    ControlPlanes,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PartName {
    ControlPlanes,
    Workers,
}

/// What is to be upgraded.
struct Wanted {
    cluster: Cluster,
    to: Version,
    turn: Turn,
    wish: Wish,
    /// Where an operation stands that asks for it.
    agreed: Option<Position>,
}

fn wanted(arguments: &Arguments) -> Result<Wanted, Vec<Failure>> {
    let (input, mut cluster) = arguments.cluster.whole(&arguments.extra)?;
    let (verb, turn) = arguments.turn();
    let asked = input.asked(Intent { verb, dry: arguments.check }, &tasks()).map_err(problems)?;
    let limit = if arguments.limit.is_given() { arguments.limit.hosts(&input)? } else { asked.hosts };
    arguments.serial.tell(&mut cluster);
    arguments.bundle.tell_hosts(&mut cluster);
    let part = arguments.part.map(|part| match part {
        PartName::ControlPlanes => Part::ControlPlanes,
        PartName::Workers => Part::Workers,
    });
    let to = arguments.to.clone().unwrap_or_else(|| cluster.kubernetes_version.clone());
    let wish = Wish { limit, part, first: false, undrained: cluster.settings.drains.off };
    Ok(Wanted { cluster, to, turn, wish, agreed: asked.agreed_at })
}

impl Arguments {
    fn turn(&self) -> (Verb, Turn) {
        match (self.emulate, self.finish, self.take_back) {
            (true, ..) => (Verb::EmulateUpgrade, Turn::Emulate),
            (_, true, _) => (Verb::FinishUpgrade, Turn::Finish),
            (.., true) => (Verb::TakeBackUpgrade, Turn::TakeBack),
            _ => (Verb::Upgrade, Turn::Whole),
        }
    }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Wanted { cluster, to, turn, wish, agreed } = wanted(arguments)?;
    let (transport, given) = (process::transport(), Given::new(false)?);
    let looker = process::context_by(process::controller().map_err(|failure| vec![failure])?, transport.clone());
    let bundle = arguments.bundle.open_or_fetch_way(&cluster, &to, &looker).await?;
    let pause = arguments.pause_after.map(|pause| match pause {
        PauseAfter::First => Pause::First,
        PauseAfter::ControlPlanes => Pause::ControlPlanes,
    });
    let ignored = &arguments.ignore;
    let request = UpgradeRequest { cluster: &cluster, to: &to, turn, wish: &wish, pause, ignored, bundle: Arc::new(bundle), given: &given };
    let way = engine::upgrade_way(&looker, &request).await?;
    way_words(&cluster, &way, turn).iter().for_each(|text| arguments.changing.say(text));
    let blocking: Vec<Failure> = way.found.iter().filter(|found| found.blocks).map(engine::blocking).collect();
    if !blocking.is_empty() {
        return Err(blocking);
    }
    if arguments.check || way.stages.is_empty() {
        return Ok(());
    }
    match agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None => ask(&cluster, turn).map_err(|failure| vec![failure])?,
    }
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::upgrade(&session.context, (&session.store, lock), &request, options).await;
    let upgraded = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, word(turn)))?;
    end_words(&cluster, (&way, turn), &upgraded, session.seconds()).iter().for_each(|text| session.say(text));
    Ok(())
}

/// Nobody can be asked where there is no terminal.
fn ask(cluster: &Cluster, turn: Turn) -> Result<(), Failure> {
    let words = match turn {
        Turn::Whole | Turn::Finish => "There is no way back; a snapshot of etcd is taken first.",
        Turn::Emulate => "It can be taken back until `kokctl upgrade --finish`; a snapshot of etcd is taken first.",
        Turn::TakeBack => "Control planes get the version of before; a snapshot of etcd is taken first.",
    };
    if !std::io::stdin().is_terminal() {
        let failure = Failure::new(Kind::Declined, "nobody confirmed the upgrade").because("standard input is no terminal");
        return Err(failure.hint(format!("add --yes. {words}")));
    }
    reset::ask_words(cluster, "the upgrade", words)
}

/// Which way it goes: versions, stages with what each disturbs, and what was found.
fn way_words(cluster: &Cluster, way: &Way, turn: Turn) -> Vec<String> {
    let to = &way.to;
    let mut words: Vec<String> = way.found.iter().map(found_words).collect();
    if way.stages.is_empty() {
        let left = left(&way.running, to);
        words.push(match way.pause {
            Some(_) if !left.is_empty() => {
                format!("nothing to do before the pause; {}", left_words(&left, "`kokctl upgrade` without --pause-after"))
            }
            _ if turn == Turn::Emulate => format!("nothing to do: {}", emulated_words(cluster, way)),
            _ if turn == Turn::TakeBack => {
                format!("nothing to do: no control plane of {} works as another version than its own", cluster.name)
            }
            _ => format!("nothing to do: what is meant of {} has Kubernetes {to}", cluster.name),
        });
        return words;
    }
    words.push(match turn {
        Turn::TakeBack => format!("{}: control planes back to Kubernetes {to}, as which they work", cluster.name),
        _ => format!("{}: {}", cluster.name, way.hops.iter().map(hop_words).collect::<Vec<_>>().join(", then ")),
    });
    let numbered = way.stages.iter().enumerate();
    words.extend(
        numbered.map(|(index, stage)| format!("stage {} {:<15} {}", index + 1, stage.name.to_string(), stage_words(cluster, stage))),
    );
    words
}

fn found_words(found: &Found) -> String {
    let failure = Failure::refusal(Kind::Host, found.refusal.clone());
    format!("{} ({}): {}", if found.blocks { "in the way" } else { "to know" }, found.name, failure.one_line())
}

fn hop_words(hop: &Hop) -> String {
    match hop {
        Hop::Etcd(version) => format!("etcd {version}"),
        Hop::Kubernetes { to, emulates: Some((major, minor)), .. } => {
            format!("control planes {to} that work as {major}.{minor}, which can be taken back; etcd and kubelets stay")
        }
        Hop::Kubernetes { to, etcd: Some(etcd), .. } => format!("Kubernetes {to} with etcd {etcd}"),
        Hop::Kubernetes { to, .. } => format!("Kubernetes {to}"),
    }
}

fn stage_words(cluster: &Cluster, stage: &Stage) -> String {
    let hosts = listed(stage.hosts.iter().map(String::as_str));
    let several = cluster.is_highly_available();
    match stage.name {
        StageName::Etcd if several => format!("{hosts} in turn: one member of etcd is away for some seconds, and the API server beside it"),
        StageName::Etcd => format!("{hosts}: etcd, and the API with it, is away for some seconds"),
        StageName::First | StageName::ControlPlanes if several => {
            format!("{hosts} in turn: one API server is away for some 20 s, and others answer")
        }
        StageName::First | StageName::ControlPlanes => format!("{hosts}: the API is away for a minute or two"),
        StageName::Configuration => "kube-proxy and CoreDNS by rollout".to_owned(),
        StageName::Kubelets => kubelet_words(cluster, stage, &hosts),
    }
}

fn kubelet_words(cluster: &Cluster, stage: &Stage, hosts: &str) -> String {
    let drained = stage.cluster.underway.as_ref().map_or(0, |underway| underway.drained.len());
    let workers = cluster.nodes().filter(|host| !host.roles.control_plane && stage.hosts.contains(&host.name)).count();
    let at_once = match workers {
        0 | 1 => String::new(),
        workers => format!(", {} at a time of the workers", stage.cluster.settings.serial.of(workers)),
    };
    let minutes = cluster.settings.drains.timeout.unwrap_or(kok_tasks::drain::DrainSettings::TIMEOUT).as_secs().div_ceil(60);
    let wave = stage.cluster.wave();
    let pool = wave.and_then(|wave| wave.pool.as_ref()).map(|pool| format!("pool {pool}: ")).unwrap_or_default();
    let soak = wave.map(|wave| wave.soak.as_secs()).filter(|seconds| *seconds > 0);
    let soak = soak.map(|seconds| format!(", and looked at for {seconds} s before the next")).unwrap_or_default();
    match drained {
        0 => format!("{pool}{hosts}{at_once}: started anew, and pods stay{soak}"),
        _ => format!("{pool}{hosts}{at_once}: drained, which may wait {minutes} min a node{soak}"),
    }
}

/// What is left to do, and the word that goes on with it.
fn left_words(left: &BTreeMap<&'static str, BTreeSet<String>>, word: &str) -> String {
    let left: Vec<String> = left.iter().map(|(what, hosts)| format!("{what} of {}", listed(hosts.iter().map(String::as_str)))).collect();
    format!("left: {}; {word} goes on", left.join(", "))
}

/// What goes on with it.
const fn word(turn: Turn) -> &'static str {
    match turn {
        Turn::Whole => "upgrade",
        Turn::Emulate => "upgrade --emulate",
        Turn::Finish => "upgrade --finish",
        Turn::TakeBack => "upgrade --take-back",
    }
}

/// What there is now, and the two words of which one is to follow.
fn emulated_words(cluster: &Cluster, way: &Way) -> String {
    let works_as = way.running.shared.as_ref().map(|shared| format!("{}.{}", shared.major, shared.minor)).unwrap_or_default();
    let name = &cluster.name;
    format!(
        "control planes of {name} have Kubernetes {} and work as {works_as}; try it, then `kokctl upgrade --finish`, or `kokctl upgrade --take-back`",
        way.to
    )
}

fn end_words(cluster: &Cluster, (way, turn): (&Way, Turn), upgraded: &Upgraded, seconds: f64) -> Vec<String> {
    let done = upgraded.outcome.as_ref().map_or(0, |outcome| outcome.done);
    let (name, to) = (&cluster.name, &way.to);
    let mut words = Vec::new();
    let is_part = |left: &BTreeMap<&'static str, BTreeSet<String>>| left.contains_key("control planes");
    if turn == Turn::Emulate && !is_part(&upgraded.left) {
        words.push(format!("{}: {}, {seconds:.1} s", emulated_words(cluster, way), count(done, "change")));
    } else if turn == Turn::TakeBack && !is_part(&upgraded.left) {
        words.push(format!("control planes of {name} have Kubernetes {to} again: {}, {seconds:.1} s", count(done, "change")));
    } else if upgraded.left.is_empty() {
        words.push(format!("{name} has Kubernetes {to}: {}, {seconds:.1} s", count(done, "change")));
    } else {
        words.push(format!(
            "{name}: a part of the way to Kubernetes {to} is done, {}, {seconds:.1} s; the cluster works as it is",
            count(done, "change")
        ));
        words.push(left_words(&upgraded.left, &format!("`kokctl {}`", word(turn))));
    }
    if *to != cluster.kubernetes_version {
        words.push(format!("write kubernetesVersion: {to} into the file, which says {}", cluster.kubernetes_version));
    }
    words.extend(upgraded.kept.iter().flat_map(reset::snapshot_words));
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::test_files::read_line;
    use super::{Arguments, Turn, Wanted, wanted};

    const FILE: &str = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.12, roles: [worker]}\n";

    #[test]
    fn the_command_line_chooses_version_hosts_and_part() {
        let read = |options: &[&str]| read_line(FILE, ("upgrade", ""), options, |arguments: &Arguments| wanted(arguments));
        let plain = read(&[]).map_err(|failures| format!("{failures:?}")).unwrap();
        assert_eq!((plain.to.to_string().as_str(), plain.wish.limit.len(), plain.agreed), ("1.37.1", 0, None));
        let chosen = read(&["--to", "1.37.2", "--limit", "w1", "--part", "workers"]).map_err(|failures| format!("{failures:?}")).unwrap();
        assert_eq!((chosen.to.to_string().as_str(), chosen.wish.limit.as_slice()), ("1.37.2", &["w1".to_owned()][..]));
        assert!(chosen.wish.part.is_some());
        let with_pool = format!("{FILE}  upgrade: {{pools: [{{name: a, match: [w1], serial: 7}}]}}\n");
        let of_pool = |options: &[&str]| {
            let wanted = read_line(&with_pool, ("upgrade", ""), options, |arguments: &Arguments| wanted(arguments));
            let Wanted { cluster, .. } = wanted.map_err(|failures| format!("{failures:?}")).unwrap();
            cluster.pools.first().unwrap().serial.unwrap_or(cluster.settings.serial).to_string()
        };
        assert_eq!((of_pool(&[]).as_str(), of_pool(&["--serial", "3"]).as_str()), ("7", "3"), "the command line wins");
        let turn = |option: &str| read(&[option]).map_err(|failures| format!("{failures:?}")).unwrap().turn;
        assert_eq!([turn("--emulate"), turn("--finish"), turn("--take-back")], [Turn::Emulate, Turn::Finish, Turn::TakeBack]);
    }
}
