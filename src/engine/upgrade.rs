//! Bringing a cluster to another version of Kubernetes, stage by stage.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use kok_crds::model::Cluster;
use kok_tasks::plan::{Choice, Plan, Selection};
use kok_tasks::upgrade::{
    CheckName, Found, Hop, Part, Pause, Running, Stage, StageName, Turn, Wish, check, components, hops, is_not_begun, leads_to, left,
    stages,
};
use semver::Version;

use super::apply::{Apply, ApplyRequest};
use super::context::{Context, Options};
use super::converge::{Base, Tolerance, base, converge};
use super::driver::Run;
use super::error::Error;
use super::given::Given;
use super::keep::keep;
use super::replace::{self, Stages};
use super::store::{Lock, Store};
use crate::artifacts::BundleFolder;
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::run::Outcome;
use crate::state::KeptSnapshot;

/// What is to be upgraded.
#[derive(Clone)]
pub struct UpgradeRequest<'a> {
    /// The cluster as its file says, in whatever version.
    pub cluster: &'a Cluster,
    /// The version that it is to have.
    pub to: &'a Version,
    /// Whether it goes there at once, or in a way that may be taken back; or is taken back.
    pub turn: Turn,
    /// Which part of it, and how.
    pub wish: &'a Wish,
    /// Where it stops on the way.
    pub pause: Option<Pause>,
    /// Checks whose findings do not matter.
    pub ignored: &'a [CheckName],
    /// Where artifacts come from.
    pub bundle: Arc<BundleFolder>,
    /// What is random, and what the user said.
    pub given: &'a Given,
}

/// The way that an upgrade would go.
pub struct Way {
    /// What runs.
    pub running: Running,
    /// The version that it leads to: back to what the cluster says of itself, or to the one that was asked for.
    pub to: Version,
    /// The steps from version to version.
    pub hops: Vec<Hop>,
    /// The stages, as far as they are wished for.
    pub stages: Vec<Stage>,
    /// Where it stops on the way.
    pub pause: Option<Pause>,
    /// What is in its way, or may be; without what does not matter.
    pub found: Vec<Found>,
    /// What its one stage would change, where components alone are meant: no stage is left of it if that is nothing.
    pub plan: Option<Plan>,
}

/// What was upgraded.
pub struct Upgraded {
    /// How it ended, with what all stages have done; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
    /// The snapshot of etcd that was taken before.
    pub kept: Option<KeptSnapshot>,
    /// The stages that are done.
    pub stages: Vec<StageName>,
    /// What is left to do, by what it is, with the hosts.
    pub left: BTreeMap<&'static str, BTreeSet<String>>,
}

impl UpgradeRequest<'_> {
    fn place(&self) -> String {
        self.cluster.position_of("spec.kubernetesVersion").map_or_else(|| "spec.kubernetesVersion".to_owned(), ToString::to_string)
    }

    fn way(&self, base: &Base) -> Result<Way, Vec<Failure>> {
        let running = running_of(self.cluster, base)?;
        if self.wish.part == Some(Part::Components) {
            is_not_begun(&running).map_err(|refused| vec![Failure::refusal(Kind::Input, refused.refusal(&self.place()))])?;
            let stages = vec![components(self.cluster, &running, self.wish)];
            let to = running.planes.values().min().unwrap_or(self.to).clone();
            let found = self.found(base, &to);
            return Ok(Way { running, to, hops: Vec::new(), stages, pause: None, found, plan: None });
        }
        let hops = hops(self.turn, self.cluster, &running, self.to, self.bundle.bundle());
        let hops = hops.map_err(|refused| vec![Failure::refusal(Kind::Input, refused.refusal(&self.place()))])?;
        let is_first = self.pause == Some(Pause::First);
        if is_first && self.cluster.has_etcd_units() {
            return Err(vec![first_of_units()]);
        }
        let wish = Wish { first: is_first, ..self.wish.clone() };
        let stages = stages(self.cluster, &running, &hops, &wish).map_err(|refusal| vec![Failure::refusal(Kind::Input, refusal)])?;
        let stages = match self.pause {
            Some(pause) => pause.before(&running, stages),
            None => stages,
        };
        let to = leads_to(self.turn, &running, self.to);
        let found = self.found(base, self.to);
        Ok(Way { running, to, hops, stages, pause: self.pause, found, plan: None })
    }

    /// What is in the way to a version.
    fn found(&self, base: &Base, to: &Version) -> Vec<Found> {
        let found = check(self.cluster, &base.seen, to, Clock::seconds());
        // No node is drained for components.
        let stays = |name: CheckName| name == CheckName::Budgets && self.wish.part == Some(Part::Components);
        let found = found.into_iter().filter(|found| !self.ignored.contains(&found.name) && !stays(found.name));
        // What is wrong may be why somebody goes back.
        found.map(|found| Found { blocks: found.blocks && self.turn != Turn::TakeBack, ..found }).collect()
    }

    /// The hosts of which everything is looked at in each stage.
    fn selection(&self) -> Result<Selection, Vec<Failure>> {
        let limit = match self.wish.part {
            Some(Part::Components) => self.wish.limit.as_slice(),
            _ => &[],
        };
        let refused = |refusals: Vec<_>| refusals.into_iter().map(|it| Failure::refusal(Kind::Input, it)).collect();
        Selection::new(Choice { only: &[], skip: &[], limit }, self.cluster).map_err(refused)
    }
}

/// Members and control planes are on hosts of their own there, and change in one stage.
fn first_of_units() -> Failure {
    Failure::new(Kind::Input, "there is no pause after the first control plane")
        .at("--pause-after")
        .because("this cluster's etcd runs as units, whose members come in one stage with the control planes")
        .hint("write --pause-after control-planes")
}

/// Which versions run. Nothing is changed.
///
/// # Errors
/// [`Failure`]s if that is not known of a host.
pub async fn running(context: &Context, cluster: &Cluster) -> Result<Running, Vec<Failure>> {
    let tolerance = Tolerance { holder: true, ..Tolerance::default() };
    running_of(cluster, &base(cluster, tolerance, context).await?)
}

fn running_of(cluster: &Cluster, base: &Base) -> Result<Running, Vec<Failure>> {
    let refused = |refusals: Vec<_>| refusals.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)).collect::<Vec<_>>();
    Running::of(cluster, &base.seen).map_err(refused)
}

/// The way that an upgrade would go, and what is in it. Nothing is changed.
///
/// # Errors
/// [`Failure`]s if there is none.
pub async fn upgrade_way(context: &Context, request: &UpgradeRequest<'_>) -> Result<Way, Vec<Failure>> {
    let tolerance = Tolerance { holder: true, ..Tolerance::default() };
    let mut way = request.way(&base(request.cluster, tolerance, context).await?)?;
    if request.wish.part != Some(Part::Components) {
        return Ok(way);
    }
    if let [stage] = way.stages.as_slice() {
        let (bundle, selection) = (request.bundle.bundle(), request.selection()?);
        let plan = converge(&stage.cluster, bundle, &selection, request.given, tolerance, context).await?.plan;
        if plan.is_empty() {
            way.stages.clear();
        }
        way.plan = Some(plan);
    }
    Ok(way)
}

/// Brings a cluster to another version, or goes on with that. Whoever calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn upgrade(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    request: &UpgradeRequest<'_>,
    options: Options<'_>,
) -> Result<Upgraded, Error> {
    let UpgradeRequest { cluster, bundle, given, .. } = request;
    let part = match request.turn {
        _ if request.wish.part == Some(Part::Components) => "--part components".to_owned(),
        Turn::Whole => format!("--to {}", request.to),
        Turn::Emulate => format!("--emulate --to {}", request.to),
        Turn::Finish => "--finish".to_owned(),
        Turn::TakeBack => "--take-back".to_owned(),
    };
    let run = Run::begin("upgrade", cluster, Some(part), (context, lock), options);
    let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
    let base = run.unless_stopped(base(cluster, tolerance, context)).await?;
    let way = run.recorded(request.way(&base))?;
    let blocking: Vec<Failure> = way.found.iter().filter(|found| found.blocks).map(blocking).collect();
    if !blocking.is_empty() {
        return run.recorded(Err(blocking));
    }
    let mut kept = None;
    if !way.stages.is_empty() {
        run.begins()?;
        kept = run.unless_stopped(keep(cluster, &base.links, base.snapshot, (store, run.options.run, None), &context.events)).await?;
    }
    // What the look held of connections is given back before each stage connects anew.
    drop(base.links);
    let selection = run.recorded(request.selection())?;
    let stages = way.stages.iter();
    let requests: Vec<ApplyRequest<'_>> =
        stages.map(|stage| ApplyRequest::of_stage(&stage.cluster, &selection, (bundle, *given))).collect();
    let mut becomes = requests.iter().map(|request| replace::Stage::Become(Apply { request }));
    let Some(first) = becomes.next() else {
        let outcome = Outcome::default();
        context.events.send(outcome.told(context.events.milliseconds()));
        return Ok(Upgraded { outcome: None, kept, stages: Vec::new(), left: left(&way.running, &way.to) });
    };
    let driven = run.drive(&mut Stages::new(first, becomes)).await?;
    let names = way.stages.iter().map(|stage| stage.name).collect();
    Ok(Upgraded { outcome: driven.outcome, kept, stages: names, left: left_after(&way) })
}

/// What is left when these stages are done.
fn left_after(way: &Way) -> BTreeMap<&'static str, BTreeSet<String>> {
    let Some(cluster) = way.stages.last().map(|stage| &stage.cluster) else { return left(&way.running, &way.to) };
    let planes = cluster.control_planes().map(|host| (host.name.clone(), cluster.plane_version(host).clone())).collect();
    let kubelets = cluster.nodes().map(|host| (host.name.clone(), cluster.kubelet_version(host).clone())).collect();
    left(&Running { planes, kubelets, ..way.running.clone() }, &way.to)
}

/// A finding as what stops an upgrade.
#[must_use]
pub fn blocking(found: &Found) -> Failure {
    let failure = Failure::refusal(Kind::Host, found.refusal.clone());
    let hint = failure.hint.clone().unwrap_or_default();
    failure.hint(format!("{hint}; or, if it does not matter: --ignore {}", found.name))
}
