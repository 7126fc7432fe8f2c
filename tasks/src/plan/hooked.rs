//! Where the scripts of a user come in the order of a plan.
//!
//! A hook is a step as any. What it comes before and after is known by what steps are, and not by who planned them, so that it is the same whether a
//! node is drained for an upgrade, to be started anew or to leave.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::{Cluster, HookPlace};

use super::graph::{Action, Plan, Step};
use super::id::StepId;
use super::make::Seen;
use super::reason::Reason;
use crate::list::hooks::NAME;
use crate::list::{self, TASKS};
use crate::operations::Operation;
use crate::resources::Resource;

const BEFORE: Reason = Reason::While("a hook of yours comes before it");
const AFTER: Reason = Reason::While("a hook of yours comes after it");
const IN_TURN: Reason = Reason::While("hooks of yours come one after the other");

/// A hook of a plan.
struct Hooked {
    step: StepId,
    at: HookPlace,
    about: Vec<String>,
    /// Its place among those of the file.
    number: Option<usize>,
}

/// Says in which order hooks come. What must be in another order because of real needs stays in that one. Nobody waits for a host that can't be reached.
pub(super) fn order(plan: &mut Plan, cluster: &Cluster, seen: &Seen) {
    let hooks = hooks(plan, cluster);
    if hooks.is_empty() {
        return;
    }
    let mut of_hosts: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
    let is_claim = |step: &Step| matches!(step.action, Action::Operation(Operation::Claim(_)));
    for step in plan.steps().filter(|step| step.task != NAME && !is_claim(step)) {
        of_hosts.entry(step.id.host()).or_default().push(step);
    }
    let mut edges: Vec<(StepId, StepId, Reason)> = Vec::new();
    for hook in &hooks {
        let steps: Vec<&Step> = hook.about.iter().filter_map(|host| of_hosts.get(host.as_str())).flatten().copied().collect();
        let (earlier, later) = (earlier(&steps, hook), later(plan, &steps, hook));
        edges.extend(earlier.into_iter().map(|step| (hook.step.clone(), step, AFTER)));
        edges.extend(later.into_iter().map(|step| (step, hook.step.clone(), BEFORE)));
    }
    edges.extend(in_turn(&hooks));
    // What is done elsewhere for such a host waits for it all the same.
    let is_there =
        |id: &StepId| plan.step(id).is_some_and(|step| ![step.id.host(), &step.host].iter().any(|host| seen.is_unreachable(host)));
    edges.retain(|(later, earlier, _)| is_there(later) && is_there(earlier));
    for (later, earlier, reason) in edges {
        // A circle is a need that is real.
        let _ = plan.order(&later, &earlier, reason);
    }
}

/// Whether it is a hook that comes before anything else of its host.
pub(super) fn is_first(step: &Step) -> bool {
    matches!(&step.action, Action::Resource(Resource::Hook(hook)) if hook.at == HookPlace::BeforePreparation)
}

/// Hooks by their turn, and what says that one is owed, which is written before what makes it be owed.
fn hooks(plan: &Plan, cluster: &Cluster) -> Vec<Hooked> {
    let number = |name: &str| cluster.hooks.iter().position(|hook| hook.name == name);
    let hook_of = |step: &Step| {
        let (at, about, name) = match &step.action {
            Action::Resource(Resource::Hook(hook)) => (hook.at, &hook.about, &hook.name),
            Action::Resource(Resource::Debt(debt)) => (beginning(debt.at), &debt.about, &debt.hook),
            _ => return None,
        };
        Some(Hooked { step: step.id.clone(), at, about: about.clone(), number: number(name) })
    };
    let mut hooks: Vec<Hooked> = plan.steps().filter_map(hook_of).collect();
    hooks.sort_by_key(|hook| (turn(hook.at), hook.number));
    hooks
}

/// Where that begins after which a hook is owed.
const fn beginning(at: HookPlace) -> HookPlace {
    if matches!(at, HookPlace::AfterRemoval) { HookPlace::BeforeRemoval } else { HookPlace::BeforeUpgrade }
}

/// Which hooks of a host come before which.
const fn turn(at: HookPlace) -> u8 {
    match at {
        HookPlace::BeforePreparation => 0,
        HookPlace::BeforeUpgrade => 1,
        HookPlace::BeforeRemoval => 2,
        HookPlace::AfterPreparation => 3,
        HookPlace::BeforeDrain => 4,
        HookPlace::AfterDrain => 5,
        HookPlace::BeforeJoin => 6,
        HookPlace::AfterJoin => 7,
        HookPlace::AfterUpgrade => 8,
        HookPlace::AfterRemoval => 9,
    }
}

fn in_turn(hooks: &[Hooked]) -> Vec<(StepId, StepId, Reason)> {
    let mut edges = Vec::new();
    let mut before: BTreeMap<&str, Vec<&Hooked>> = BTreeMap::new();
    for later in hooks {
        // One about several hosts comes when the last of them is drained, and its turn comes when the one before it is back.
        let is_in_the_way = |earlier: &&Hooked| earlier.at == HookPlace::AfterDrain && earlier.about.len() > later.about.len();
        let mut known: BTreeSet<&StepId> = BTreeSet::new();
        for host in &later.about {
            let earlier = before.entry(host).or_default();
            let others = earlier.iter().filter(|earlier| !is_in_the_way(earlier)).filter(|earlier| known.insert(&earlier.step));
            edges.extend(others.map(|earlier| (later.step.clone(), earlier.step.clone(), IN_TURN)));
            earlier.push(later);
        }
    }
    edges
}

fn ids(steps: &[&Step], wanted: impl Fn(&Step) -> bool) -> Vec<StepId> {
    steps.iter().filter(|step| wanted(step)).map(|step| step.id.clone()).collect()
}

const fn operation(step: &Step) -> Option<&Operation> {
    if let Action::Operation(operation) = &step.action { Some(operation) } else { None }
}

fn is_cordon(step: &Step) -> bool {
    matches!(operation(step), Some(Operation::CordonNode(_)))
}

fn is_drain(step: &Step) -> bool {
    matches!(operation(step), Some(Operation::DrainNode(_)))
}

fn starts_kubelet(step: &Step) -> bool {
    matches!(operation(step), Some(Operation::Join(_) | Operation::KubeletStart(_)))
}

/// Whether it takes something away for a while that works.
fn disturbs(step: &Step) -> bool {
    let is_unit = matches!(&step.action, Action::Resource(Resource::Unit(_)));
    is_unit || step.gate.is_some() || starts_kubelet(step) || is_drain(step) || matches!(operation(step), Some(Operation::StaticPods(_)))
}

/// Whether it brings a program, which whatever starts next may run.
const fn installs(step: &Step) -> bool {
    matches!(step.action, Action::Resource(Resource::Binary(_) | Resource::Archive(_)))
}

/// Whether it is of a task that prepares a host, and of nothing of Kubernetes.
fn prepares(step: &Step) -> bool {
    let place_of = |task: &str| TASKS.iter().position(|other| other.name == task);
    place_of(step.task).zip(place_of(list::images::NAME)).is_none_or(|(task, last)| task <= last)
}

/// What a hook waits for, of the steps of the hosts that it is about. A node is cordoned when its turn has come, so hooks of one host wait for that; those of
/// several come before the first of them, for the turn of the next comes when the one before has had its own.
fn earlier(steps: &[&Step], hook: &Hooked) -> Vec<StepId> {
    let is_alone = hook.about.len() == 1;
    match hook.at {
        HookPlace::BeforePreparation | HookPlace::BeforeJoin => Vec::new(),
        HookPlace::AfterPreparation => ids(steps, prepares),
        HookPlace::AfterJoin => ids(steps, joins),
        HookPlace::BeforeDrain | HookPlace::BeforeUpgrade | HookPlace::BeforeRemoval => ids(steps, |step| is_alone && is_cordon(step)),
        HookPlace::AfterDrain => ids(steps, is_drain),
        HookPlace::AfterUpgrade | HookPlace::AfterRemoval => ids(steps, |_| true),
    }
}

/// Whether it is of what makes a host a node.
fn joins(step: &Step) -> bool {
    [list::kubelet_join::NAME, list::control_plane::NAME, list::kubelet::NAME].contains(&step.task)
}

/// What waits for a hook.
fn later(plan: &Plan, steps: &[&Step], hook: &Hooked) -> Vec<StepId> {
    let is_alone = hook.about.len() == 1;
    match hook.at {
        HookPlace::BeforePreparation => ids(steps, |_| true),
        HookPlace::AfterPreparation => ids(steps, |step| !prepares(step)),
        HookPlace::BeforeJoin => ids(steps, starts_kubelet),
        HookPlace::BeforeDrain => ids(steps, |step| is_drain(step) || (!is_alone && is_cordon(step))),
        HookPlace::BeforeUpgrade => ids(steps, |step| (disturbs(step) || installs(step)) && !(is_alone && is_cordon(step))),
        HookPlace::BeforeRemoval => ids(steps, |step| !(is_alone && is_cordon(step))),
        HookPlace::AfterDrain if is_alone => {
            let needing = ids(steps, is_drain);
            needing.iter().flat_map(|drain| plan.needed_by(drain)).map(|(step, _)| step.id.clone()).collect()
        }
        HookPlace::AfterDrain | HookPlace::AfterJoin | HookPlace::AfterUpgrade | HookPlace::AfterRemoval => Vec::new(),
    }
}
