//! Why a step is in a plan: what it changes, what it needs and what needs it.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::nearest;

use super::graph::{Plan, Step};
use super::id::StepId;
use super::reason::Reason;
use super::refusal::Refusal;

/// Everything that a plan says of one step.
#[derive(Debug)]
pub struct Why<'a> {
    /// The step.
    pub step: &'a Step,
    /// What it needs, with the reasons; what is still to do comes first.
    pub needs: Vec<(&'a Step, &'a Reason)>,
    /// What needs it, with the reasons; what is still to do comes first.
    pub needed_by: Vec<(&'a Step, &'a Reason)>,
    /// How many steps it needs, directly or not.
    pub all_needs: usize,
    /// How many steps need it, directly or not.
    pub all_needed_by: usize,
    /// The longest way from a step that needs nothing to this one; changes count before steps that change nothing. Each with the reason
    /// for which it comes after the one before it.
    pub chain: Vec<(&'a Step, Option<&'a Reason>)>,
}

/// What a list of suggestions holds at the most: more is not read.
const MOST_SUGGESTIONS: usize = 8;

impl Plan {
    /// Finds a step by its name, or by a part of it that no other step's name has.
    ///
    /// # Errors
    /// A [`Refusal`] with the names that are meant perhaps.
    pub fn find(&self, wanted: &str) -> Result<&Step, Refusal> {
        let steps: Vec<&Step> = self.steps().collect();
        if let Some(step) = steps.iter().find(|step| step.id.as_str() == wanted) {
            return Ok(step);
        }
        let alike: Vec<&Step> = steps.iter().copied().filter(|step| step.id.as_str().contains(wanted)).collect();
        let quoted = wanted.escape_debug();
        match alike.as_slice() {
            [step] => Ok(step),
            [] => {
                let names: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
                let near = nearest_of(wanted, &names);
                let hint = near.map_or("`kokctl plan --steps` lists all".to_owned(), |near| format!("did you mean {near}?"));
                Err(Refusal::new(format!("the plan has no step `{quoted}`")).at("--why").hint(hint))
            }
            several => {
                let mut names = several.iter().take(MOST_SUGGESTIONS).map(|step| step.id.as_str()).collect::<Vec<_>>().join(", ");
                if several.len() > MOST_SUGGESTIONS {
                    names.push_str(&format!(" and {} more", several.len() - MOST_SUGGESTIONS));
                }
                let what = format!("`{quoted}` stands in the names of {} steps", several.len());
                Err(Refusal::new(what).at("--why").because(names).hint("give more of the name; `kokctl plan --steps` lists all"))
            }
        }
    }

    /// Everything that this plan says of a step of it.
    #[must_use]
    pub fn why<'a>(&'a self, step: &'a Step) -> Why<'a> {
        let sorted = |mut steps: Vec<(&'a Step, &'a Reason)>| {
            steps.sort_by_key(|(step, _)| (self.change(&step.id).is_none(), step.id.clone()));
            steps
        };
        Why {
            step,
            needs: sorted(self.needs(&step.id)),
            needed_by: sorted(self.needed_by(&step.id)),
            all_needs: self.reachable(&step.id, Self::needs).len(),
            all_needed_by: self.reachable(&step.id, Self::needed_by).len(),
            chain: self.chain(step),
        }
    }

    fn reachable<'a>(&'a self, from: &StepId, next: impl Fn(&'a Self, &StepId) -> Vec<(&'a Step, &'a Reason)>) -> BTreeSet<StepId> {
        let (mut found, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(id) = open.pop() {
            let new = next(self, &id).into_iter().map(|(step, _)| step.id.clone()).filter(|id| found.insert(id.clone()));
            open.extend(new.collect::<Vec<_>>());
        }
        found
    }

    fn chain<'a>(&'a self, last: &'a Step) -> Vec<(&'a Step, Option<&'a Reason>)> {
        let mut longest: BTreeMap<&StepId, (usize, usize)> = BTreeMap::new();
        let mut before: BTreeMap<&StepId, (&'a Step, &'a Reason)> = BTreeMap::new();
        let wanted = self.reachable(&last.id, Self::needs);
        // Steps stand behind what they need, so each of their needs has its length already.
        for step in self.steps().filter(|step| step.id == last.id || wanted.contains(&step.id)) {
            let length = |need: &&'a Step| longest.get(&need.id).copied().unwrap_or_default();
            let farthest = self.needs(&step.id).into_iter().max_by_key(|(need, _)| (length(need), std::cmp::Reverse(need.id.clone())));
            let (changes, steps) = farthest.map(|(need, _)| length(&need)).unwrap_or_default();
            longest.insert(&step.id, (changes + usize::from(self.change(&step.id).is_some()), steps + 1));
            before.extend(farthest.map(|found| (&step.id, found)));
        }
        let (mut chain, mut step) = (Vec::new(), last);
        while let Some((need, reason)) = before.get(&step.id) {
            chain.push((step, Some(*reason)));
            step = need;
        }
        chain.push((step, None));
        chain.reverse();
        chain
    }
}

/// The nearest whole name; or, where only a part was given, the name whose last part is nearest.
fn nearest_of(wanted: &str, names: &[&str]) -> Option<String> {
    if let Some(name) = nearest(wanted, names) {
        return Some(name.to_owned());
    }
    let parts: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
    let part = nearest(wanted.rsplit('/').next().unwrap_or(wanted), &parts)?;
    names.iter().find(|name| name.rsplit('/').next() == Some(part)).map(|name| (*name).to_owned())
}
