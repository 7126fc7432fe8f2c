//! `kokctl upgrade`

mod words;

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_crds::{Intent, Position};
use kok_tasks::upgrade::{CheckName, ClusterPart, Pause, Turn, Wish};
use semver::Version;

use super::changing::{ChangingArguments, Session, failures};
use super::common::{BundleArgument, MaxFail};
use super::drain_arguments::SerialOption;
use super::files::{ClusterFiles, ExtraVars};
use super::limit::LimitArgument;
use super::process;
use super::report::plan_text;
use super::reset;
use super::wanted::{problems, tasks};
use crate::engine::{self, Given, Meant, Options, UpgradeRequest, Verdict, Way};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;
use words::{end_words, way_words, word};

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
    /// Only control planes with their kubelets, only the kubelets of workers, or only what goes with no version of Kubernetes: containerd, runc, network plugins,
    /// load balancers and the network, as the bundle has them
    #[arg(long, value_name = "PART")]
    part: Option<PartName>,
    #[command(flatten)]
    limit: LimitArgument,
    #[command(flatten)]
    serial: SerialOption,
    /// How many hosts may fail in a stage, as a number or as a percentage of all; above that nothing new is begun. Up to so many workers that can't be reached are left
    /// out, and keep the version that they have
    #[arg(long, value_name = "N|N%")]
    max_fail: Option<MaxFail>,
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
    Components,
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
    let part = arguments.part.and_then(|part| match part {
        PartName::ControlPlanes => Some(ClusterPart::ControlPlanes),
        PartName::Workers => Some(ClusterPart::Workers),
        PartName::Components => None,
    });
    if turn == Turn::Components {
        arguments.have_no_version().map_err(|failure| vec![failure])?;
    }
    let pause = arguments.pause_after.map(|pause| match pause {
        PauseAfter::First => Pause::First,
        PauseAfter::ControlPlanes => Pause::ControlPlanes,
    });
    let to = arguments.to.clone().unwrap_or_else(|| cluster.kubernetes_version.clone());
    let wish = Wish { limit, part, pause, undrained: cluster.settings.drains.off, away: BTreeSet::new() };
    Ok(Wanted { cluster, to, turn, wish, agreed: asked.agreed_at })
}

impl Arguments {
    /// Components go with no version, and in one stage.
    fn have_no_version(&self) -> Result<(), Failure> {
        let given = [("--to", self.to.is_some()), ("--pause-after", self.pause_after.is_some()), ("--finish", self.finish)];
        given.into_iter().find(|(_, is_given)| *is_given).map_or(Ok(()), |(option, _)| {
            let failure = Failure::new(Kind::Input, format!("{option} has no meaning beside --part components")).at(option);
            let because = "components come in one stage, and Kubernetes stays in the version that runs";
            Err(failure.because(because).hint(format!("leave {option} out, or --part")))
        })
    }

    fn turn(&self) -> (Verb, Turn) {
        match (self.emulate, self.finish, self.take_back) {
            _ if matches!(self.part, Some(PartName::Components)) => (Verb::UpgradeComponents, Turn::Components),
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
    // Components go with what runs.
    let leads_to = Some(&to).filter(|_| turn != Turn::Components);
    let most_failed = arguments.max_fail.map(|most| most.count_of(cluster.hosts.len()));
    let meant = Meant { cluster: &cluster, limit: &wish.limit, most_away: most_failed };
    let bundle = arguments.bundle.open_or_fetch_way(meant, leads_to, &looker).await?;
    let (ignored, bundle) = (arguments.ignore.as_slice(), Arc::new(bundle));
    let request = UpgradeRequest { cluster: &cluster, to: &to, turn, wish: &wish, most_failed, ignored, bundle, given: &given };
    let way = engine::upgrade_way(&looker, &request).await?;
    way_words(&cluster, &way, (turn, wish.pause)).iter().for_each(|text| arguments.changing.say(text));
    if let Some(plan) = way.plan.as_ref().filter(|plan| !plan.is_empty()) {
        arguments.changing.say(&plan_text(plan));
    }
    let blocking = way.blocking();
    if !blocking.is_empty() {
        return Err(blocking);
    }
    if arguments.check || way.stages.is_empty() {
        return Ok(());
    }
    match agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None => ask(&cluster, (turn, &way)).map_err(|failure| vec![failure])?,
    }
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::upgrade(&session.context, (&session.store, lock), &request, options).await;
    let upgraded = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, word(turn)))?;
    end_words(&cluster, (&way, turn), &upgraded, session.seconds()).iter().for_each(|text| session.say(text));
    Ok(())
}

/// Nobody can be asked where there is no terminal.
fn ask(cluster: &Cluster, (turn, way): (Turn, &Way)) -> Result<(), Failure> {
    let words = match turn {
        _ if way.hops.is_empty() => "Kubernetes stays as it is; a snapshot of etcd is taken first.",
        Turn::Whole | Turn::Finish | Turn::Components => "There is no way back; a snapshot of etcd is taken first.",
        Turn::Emulate => "It can be taken back until `kokctl upgrade --finish`; a snapshot of etcd is taken first.",
        Turn::TakeBack => "Control planes get the version of before; a snapshot of etcd is taken first.",
    };
    if !std::io::stdin().is_terminal() {
        let failure = Failure::new(Kind::Declined, "nobody confirmed the upgrade").because("standard input is no terminal");
        return Err(failure.hint(format!("add --yes. {words}")));
    }
    reset::ask_words(cluster, "the upgrade", words)
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
        let components = read(&["--part", "components", "--limit", "w1"]).map_err(|failures| format!("{failures:?}")).unwrap();
        assert_eq!((components.turn, components.wish.limit.len()), (Turn::Components, 1));
        for beside in [&["--to", "1.37.2"][..], &["--pause-after", "first"], &["--finish"]] {
            let failure = read(&[&["--part", "components"], beside].concat()).map(drop).unwrap_err();
            assert!(failure.what.contains("has no meaning beside --part components"), "{failure:?}");
        }
        let turn = |option: &str| read(&[option]).map_err(|failures| format!("{failures:?}")).unwrap().turn;
        assert_eq!([turn("--emulate"), turn("--finish"), turn("--take-back")], [Turn::Emulate, Turn::Finish, Turn::TakeBack]);
    }
}
