//! What each step of a plan has to change, in the part of the plan that is asked for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::graph::{Action, Plan, Step};
use super::id::StepId;
use super::make::Seen;
use super::missing::{Missing, refusals};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::change::{Change, ChangeKind, Verdict};
use crate::list::host::claim;
use crate::observe::Looks;
use crate::resources::{Act, Resource};

/// The outcome of a comparison.
pub(super) enum Compared {
    /// The changes of the plan are set.
    Known,
    /// Something that decides was not looked at yet, by host.
    Unseen(BTreeMap<String, Looks>),
    /// Hosts that nobody meant to ask decide: each with the step that is to be known and the one that needs it.
    Ask(BTreeMap<String, Asked>),
    /// The part that is asked for needs what is not in it.
    Incomplete(Vec<Refusal>),
}

/// Why a host outside of the selection has to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The step whose state is to be known.
    pub step: StepId,
    /// The step that needs it; the same one if it is to be done there itself.
    pub needed_by: StepId,
}

/// A host that can't be reached is not as it should be: whatever else needs its steps must not begin.
fn verdict(step: &Step, seen: &Seen) -> Verdict {
    match step.diff(seen.observations(&step.host)) {
        Verdict::Unseen if seen.is_unreachable(&step.host) => Verdict::differs(ChangeKind::NotNow, "the host can't be reached"),
        verdict => verdict,
    }
}

/// Compares every step with what was seen of its host, and sets the changes of the plan.
pub(super) fn compare(plan: &mut Plan, seen: &Seen, selection: &Selection) -> Compared {
    let verdicts: HashMap<StepId, Verdict> = plan.steps().map(|step| (step.id.clone(), verdict(step, seen))).collect();
    let mut changes: BTreeMap<StepId, Change> = BTreeMap::new();
    let mut unknown: Vec<(&Step, &Step)> = Vec::new();
    for step in plan.steps().filter(|step| selection.has(step)) {
        match verdicts.get(&step.id) {
            Some(Verdict::Differs(change)) => drop(changes.insert(step.id.clone(), change.clone())),
            Some(Verdict::Same) => drop(triggered(step, &changes).map(|change| changes.insert(step.id.clone(), change))),
            Some(Verdict::Unseen) | None => unknown.push((step, step)),
        }
    }
    changes.retain(|id, _| plan.step(id).is_none_or(|step| !is_early(plan, step, &verdicts, selection)));
    let mut missing = Vec::new();
    let mut claims = BTreeMap::new();
    for step in plan.steps().filter(|step| changes.contains_key(&step.id)) {
        let outside = |(need, reason): &(&Step, &Reason)| {
            !selection.has(need) && !selection.is_away(need.id.host()) && !matches!(reason, Reason::While(_))
        };
        for (need, reason) in plan.needs(&step.id).into_iter().filter(outside) {
            match verdicts.get(&need.id) {
                Some(Verdict::Same) => {}
                // Whose a host is, is recorded before whatever is changed on it: that is how hosts are guarded, and no task to choose.
                Some(Verdict::Differs(change)) if need.id == claim(&need.host) && selection.has_host(need.id.host()) => {
                    claims.insert(need.id.clone(), change.clone());
                }
                Some(Verdict::Differs(change)) => missing.push(Missing { step, need, reason, change }),
                Some(Verdict::Unseen) | None => unknown.push((need, step)),
            }
        }
    }
    let ask = strangers(&unknown, seen);
    if !ask.is_empty() {
        return Compared::Ask(ask);
    }
    if !unknown.is_empty() {
        let mut looks: BTreeMap<String, Looks> = BTreeMap::new();
        unknown.iter().for_each(|(step, _)| looks.entry(step.host.clone()).or_default().extend(step.looks()));
        return Compared::Unseen(looks);
    }
    if !missing.is_empty() {
        return Compared::Incomplete(refusals(plan, &verdicts, selection, &missing));
    }
    changes.extend(claims);
    let left_out =
        plan.steps().filter(|step| !changes.contains_key(&step.id) && matches!(verdicts.get(&step.id), Some(Verdict::Differs(_))));
    let left_out: BTreeSet<StepId> = left_out.map(|step| step.id.clone()).collect();
    plan.set_changes(changes, left_out);
    Compared::Known
}

/// Whether a hook would come too early: something that it comes after is still to do, and no part of what is asked for.
fn is_early(plan: &Plan, step: &Step, verdicts: &HashMap<StepId, Verdict>, selection: &Selection) -> bool {
    let Action::Resource(Resource::Hook(hook)) = &step.action else { return false };
    let is_left = |need: &Step| !selection.has(need) && !matches!(verdicts.get(&need.id), Some(Verdict::Same));
    hook.at.comes_after()
        && (hook.about.iter().any(|host| !selection.has_host(host)) || plan.needs(&step.id).iter().any(|(need, _)| is_left(need)))
}

/// Hosts without facts: nobody has asked them anything yet.
fn strangers(unknown: &[(&Step, &Step)], seen: &Seen) -> BTreeMap<String, Asked> {
    let mut ask = BTreeMap::new();
    for (step, needed_by) in unknown.iter().filter(|(step, _)| seen.facts(&step.host).is_none()) {
        ask.entry(step.host.clone()).or_insert_with(|| Asked { step: step.id.clone(), needed_by: needed_by.id.clone() });
    }
    ask
}

/// Triggers stand before the steps that they trigger, because those need them.
fn triggered(step: &Step, changes: &BTreeMap<StepId, Change>) -> Option<Change> {
    let trigger = step.triggers.iter().find(|id| changes.contains_key(*id))?;
    let assumed = changes.get(trigger).is_some_and(|change| change.assumed);
    let is_condition = matches!(step.act(&Change::new(ChangeKind::LookAgain, "")), Act::Wait);
    let kind = if is_condition { ChangeKind::LookAgain } else { ChangeKind::DoAgain };
    Some(Change { assumed, ..Change::new(kind, format!("{trigger} changes")) })
}
