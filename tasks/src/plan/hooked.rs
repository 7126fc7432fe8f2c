//! Where the scripts of a user come in the order of a plan.
//!
//! A hook is a step as any. What it comes before and after is known by what steps are, and not by who planned them, so that it is the same whether a
//! node is drained for an upgrade, to be started anew or to leave.

use kok_crds::model::{Cluster, HookPlace};

use super::graph::{Action, Plan, Step};
use super::id::StepId;
use super::make::Seen;
use super::reason::Reason;
use crate::list::hooks::{NAME, OWED};
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
    let mut edges: Vec<(StepId, StepId, Reason)> = Vec::new();
    for hook in &hooks {
        let (earlier, later) = (earlier(plan, hook), later(plan, hook));
        edges.extend(earlier.into_iter().map(|step| (hook.step.clone(), step, AFTER)));
        edges.extend(later.into_iter().map(|step| (step, hook.step.clone(), BEFORE)));
    }
    edges.extend(in_turn(&hooks));
    let is_there = |id: &StepId| plan.step(id).is_some_and(|step| !seen.is_unreachable(&step.host));
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
    let mut hooks: Vec<Hooked> = Vec::new();
    for step in plan.steps().filter(|step| step.task == NAME) {
        if let Action::Resource(Resource::Hook(hook)) = &step.action {
            hooks.push(Hooked { step: step.id.clone(), at: hook.at, about: hook.about.clone(), number: number(&hook.name) });
        } else if let Some(of) = step.id.name().strip_suffix(OWED) {
            let is_removal = number(of).and_then(|place| cluster.hooks.get(place)).is_some_and(|hook| hook.at == HookPlace::AfterRemoval);
            let at = if is_removal { HookPlace::BeforeRemoval } else { HookPlace::BeforeUpgrade };
            let of_step = plan.step(&StepId::new(step.id.host(), NAME, of)).and_then(about);
            let about = of_step.unwrap_or_else(|| vec![step.id.host().to_owned()]);
            hooks.push(Hooked { step: step.id.clone(), at, about, number: number(of) });
        }
    }
    hooks.sort_by_key(|hook| (turn(hook.at), hook.number));
    hooks
}

fn about(step: &Step) -> Option<Vec<String>> {
    if let Action::Resource(Resource::Hook(hook)) = &step.action { Some(hook.about.clone()) } else { None }
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
    for (place, later) in hooks.iter().enumerate() {
        // One about several hosts comes when the last of them is drained, and its turn comes when the one before it is back.
        let is_in_the_way = |earlier: &&Hooked| earlier.at == HookPlace::AfterDrain && earlier.about.len() > later.about.len();
        let before = hooks.iter().take(place).filter(|earlier| earlier.about.iter().any(|host| later.about.contains(host)));
        let before = before.filter(|earlier| !is_in_the_way(earlier));
        edges.extend(before.map(|earlier| (later.step.clone(), earlier.step.clone(), IN_TURN)));
    }
    edges
}

/// Steps of the hosts that a hook is about, but for hooks and for the records of whose these hosts are.
fn of_hosts<'p>(plan: &'p Plan, hook: &'p Hooked) -> impl Iterator<Item = &'p Step> {
    let is_claim = |step: &Step| matches!(step.action, Action::Operation(Operation::Claim(_)));
    plan.steps().filter(move |step| step.task != NAME && !is_claim(step) && hook.about.iter().any(|host| host == step.id.host()))
}

fn ids<'p>(steps: impl Iterator<Item = &'p Step>) -> Vec<StepId> {
    steps.map(|step| step.id.clone()).collect()
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
    let of = |task: &str| TASKS.iter().position(|other| other.name == task);
    of(step.task).zip(of(list::images::NAME)).is_none_or(|(task, last)| task <= last)
}

/// What a hook waits for. A node is cordoned when its turn has come, so hooks of one host wait for that; those of several come before the first of them, for
/// the turn of the next comes when the one before has had its own.
fn earlier(plan: &Plan, hook: &Hooked) -> Vec<StepId> {
    let is_alone = hook.about.len() == 1;
    match hook.at {
        HookPlace::BeforePreparation | HookPlace::BeforeJoin => Vec::new(),
        HookPlace::AfterPreparation => ids(of_hosts(plan, hook).filter(|step| prepares(step))),
        HookPlace::AfterJoin => ids(of_hosts(plan, hook).filter(|step| joins(step))),
        HookPlace::BeforeDrain | HookPlace::BeforeUpgrade | HookPlace::BeforeRemoval => {
            ids(of_hosts(plan, hook).filter(|step| is_alone && is_cordon(step)))
        }
        HookPlace::AfterDrain => ids(of_hosts(plan, hook).filter(|step| is_drain(step))),
        HookPlace::AfterUpgrade | HookPlace::AfterRemoval => ids(of_hosts(plan, hook)),
    }
}

/// Whether it is of what makes a host a node.
fn joins(step: &Step) -> bool {
    [list::kubelet_join::NAME, list::control_plane::NAME, list::kubelet::NAME].contains(&step.task)
}

/// What waits for a hook.
fn later(plan: &Plan, hook: &Hooked) -> Vec<StepId> {
    let is_alone = hook.about.len() == 1;
    let of = |wanted: &dyn Fn(&Step) -> bool| ids(of_hosts(plan, hook).filter(|step| wanted(step)));
    match hook.at {
        HookPlace::BeforePreparation => of(&|_| true),
        HookPlace::AfterPreparation => of(&|step| !prepares(step)),
        HookPlace::BeforeJoin => of(&starts_kubelet),
        HookPlace::BeforeDrain => of(&|step| is_drain(step) || (!is_alone && is_cordon(step))),
        HookPlace::BeforeUpgrade => of(&|step| (disturbs(step) || installs(step)) && !(is_alone && is_cordon(step))),
        HookPlace::BeforeRemoval => of(&|step| !(is_alone && is_cordon(step))),
        HookPlace::AfterDrain if is_alone => {
            let drains: Vec<StepId> = of(&is_drain);
            drains.iter().flat_map(|drain| ids(plan.needed_by(drain).into_iter().map(|(step, _)| step))).collect()
        }
        HookPlace::AfterDrain | HookPlace::AfterJoin | HookPlace::AfterUpgrade | HookPlace::AfterRemoval => Vec::new(),
    }
}
