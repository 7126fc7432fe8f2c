//! From a cluster, a bundle and what was seen of the hosts to a plan.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::Cluster;

use super::ask;
use super::compare::{Asked, Compared, compare};
use super::draft::{Draft, Edge, HostView};
use super::graph::{Plan, Step};
use super::hooked;
use super::id::StepId;
use super::lint::{lint, ungated};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use super::supply::is_fetched;
use crate::bundle::Bundle;
use crate::completed::completed;
use crate::facts::HostFacts;
use crate::holder::Standing;
use crate::list::TASKS;
use crate::list::host::{claim, cluster_id};
use crate::list::kubeadm_configuration::Configurations;
use crate::list::resources::{Templates, with_ours};
use crate::list::{packages, trust};
use crate::observe::{Looks, Observations};
use crate::preconditions;

/// What a plan is made from, besides what was seen of the hosts.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The cluster as its owner wants it.
    pub cluster: &'a Cluster,
    /// What can be installed.
    pub bundle: &'a Bundle,
    /// The public half of the run's bootstrap token. Random, so it comes from outside.
    pub token_id: &'a str,
    /// The id of a cluster that has none yet: random, so it comes from outside.
    pub new_cluster_id: &'a str,
    /// The time at which the run began, in seconds since 1970: certificates are judged by it.
    pub now_seconds: i64,
    /// Whether objects of addons that leave their manifests go even if others lose theirs with them.
    pub prune: bool,
}

/// What was seen of the hosts so far.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    facts: BTreeMap<String, HostFacts>,
    clock_offsets: BTreeMap<String, i64>,
    observations: BTreeMap<String, Observations>,
    standing: BTreeMap<String, Standing>,
    unreachable: BTreeSet<String>,
}

static NOTHING: Observations = Observations::nothing();

impl Seen {
    /// Takes over the facts of a host.
    pub fn add_facts(&mut self, host: &str, facts: HostFacts) {
        self.facts.insert(host.to_owned(), facts);
    }

    /// Takes over how far a host's clock is ahead of ours, measured around the probe.
    pub fn add_clock_offset(&mut self, host: &str, seconds: i64) {
        self.clock_offsets.insert(host.to_owned(), seconds);
    }

    /// How far a host's clock is ahead of ours.
    #[must_use]
    pub fn clock_offset_seconds(&self, host: &str) -> Option<i64> {
        self.clock_offsets.get(host).copied()
    }

    /// Takes over what stands in a host's holder record.
    pub fn add_standing(&mut self, host: &str, standing: Standing) {
        self.standing.insert(host.to_owned(), standing);
    }

    /// Takes over that a host can't be reached, and that the plan is made without it: all its steps stand in the plan as still to do.
    pub fn add_unreachable(&mut self, host: &str) {
        self.unreachable.insert(host.to_owned());
    }

    /// Whether a host is left out because it can't be reached.
    #[must_use]
    pub fn is_unreachable(&self, host: &str) -> bool {
        self.unreachable.contains(host)
    }

    /// What stood in the holder record of each host that was probed.
    #[must_use]
    pub fn standing(&self) -> &BTreeMap<String, Standing> {
        &self.standing
    }

    /// Takes over what a probe of a host saw.
    pub fn add_observations(&mut self, host: &str, observations: Observations) {
        self.observations.entry(host.to_owned()).or_default().merge(observations);
    }

    /// The facts of a host, if it was probed.
    #[must_use]
    pub fn facts(&self, host: &str) -> Option<&HostFacts> {
        self.facts.get(host)
    }

    /// What was seen of all hosts, in the order of their names.
    pub(super) fn all_observations(&self) -> impl Iterator<Item = &Observations> {
        self.observations.values()
    }

    /// What was seen of a host.
    #[must_use]
    pub fn observations(&self, host: &str) -> &Observations {
        self.observations.get(host).unwrap_or(&NOTHING)
    }
}

/// The outcome of an attempt to make a plan.
#[derive(Debug)]
pub enum Making {
    /// Here it is.
    Made(Box<Plan>),
    /// Something that decides was not looked at yet, by host. Look, and try again.
    LookFirst(BTreeMap<String, Looks>),
    /// Hosts that were not asked anything yet decide, each with the reason. Probe them as in a first probe, and try again.
    AskFirst(BTreeMap<String, Asked>),
    /// The part that is asked for needs what is not in it. Nothing of it is to be done: half of it would be worse.
    Incomplete(Vec<Refusal>),
}

/// Makes the plan that brings the hosts from what was seen to what is desired.
///
/// # Errors
/// All [`Refusal`]s that can be found without touching a host: preconditions that don't hold, artifacts that the bundle lacks.
pub fn make(inputs: &Inputs<'_>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    make_part(inputs, seen, &Selection::whole())
}

/// The same for a part of it: other steps are in the plan with their order, and change nothing.
///
/// # Errors
/// As [`make`], of the hosts that were seen.
pub fn make_part(inputs: &Inputs<'_>, seen: &Seen, selection: &Selection) -> Result<Making, Vec<Refusal>> {
    let concealed = &inputs.cluster.concealed;
    let mut making = made(inputs, seen, selection);
    match &mut making {
        Ok(Making::Made(plan)) => plan.conceal(concealed),
        Ok(Making::Incomplete(refusals)) | Err(refusals) => refusals.iter_mut().for_each(|refusal| refusal.conceal(concealed)),
        Ok(Making::LookFirst(_) | Making::AskFirst(_)) => {}
    }
    making
}

fn made(inputs: &Inputs<'_>, seen: &Seen, selection: &Selection) -> Result<Making, Vec<Refusal>> {
    let cluster = completed(inputs.cluster, seen);
    let inputs = &Inputs { cluster: &cluster, ..*inputs };
    let refusals = preconditions::check_with(inputs.cluster, seen, inputs.bundle);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let members = ask::members(inputs.cluster, seen);
    if !members.is_empty() {
        return Ok(Making::AskFirst(members));
    }
    let speakers = ask::speakers(inputs.cluster, seen);
    let asked = if speakers.is_empty() { ask::api_servers(inputs.cluster, seen) } else { speakers };
    if !asked.is_empty() {
        return Ok(Making::AskFirst(asked));
    }
    let expected = HostFacts::expected();
    let drafts = drafts(inputs, seen, &expected)?;
    let twice = with_ours(inputs.cluster, drafts.iter().flat_map(Draft::steps));
    if !twice.is_empty() {
        return Err(twice);
    }
    let plan = ordered(drafts, inputs.cluster, seen).map_err(|refusal| vec![refusal])?;
    let making = compared(plan, seen, selection)?;
    let keepers = if let Making::Made(plan) = &making { ask::keepers(inputs.cluster, seen, plan) } else { BTreeMap::new() };
    Ok(if keepers.is_empty() { making } else { Making::AskFirst(keepers) })
}

/// No plan leaves this module that breaks a rule.
pub(super) fn compared(mut plan: Plan, seen: &Seen, selection: &Selection) -> Result<Making, Vec<Refusal>> {
    let findings: Vec<_> = lint(&plan).into_iter().chain(ungated(&plan, seen)).collect();
    if !findings.is_empty() {
        return Err(findings.iter().map(|finding| defect(finding.to_string())).collect());
    }
    Ok(match compare(&mut plan, seen, selection) {
        Compared::Known => Making::Made(Box::new(plan)),
        Compared::Unseen(looks) => Making::LookFirst(looks),
        Compared::Ask(hosts) => Making::AskFirst(hosts),
        Compared::Incomplete(refusals) => Making::Incomplete(refusals),
    })
}

/// What every task wants of every host.
pub(super) fn drafts<'a>(inputs: &'a Inputs<'a>, seen: &'a Seen, expected: &'a HostFacts) -> Result<Vec<Draft<'a>>, Vec<Refusal>> {
    // Otherwise each component of it would be missed on each host.
    inputs.release().map_err(|refusal| vec![refusal])?;
    inputs.has_containerd().map_err(|refusal| vec![refusal])?;
    let older = inputs.older_containerd(seen);
    let older: Vec<Refusal> = older.into_iter().chain(inputs.other_etcd(seen)).collect();
    if !older.is_empty() {
        return Err(older);
    }
    let (mut drafts, mut refusals) = (Vec::new(), Vec::new());
    let templates = Templates::of(inputs.cluster);
    // Once for all hosts, for each of them may have it.
    let cluster_id = cluster_id(inputs, seen);
    let cluster_id = cluster_id.as_deref();
    let configurations: Vec<Configurations> = inputs.cluster.hosts.iter().map(|_| Configurations::default()).collect();
    for task in TASKS {
        for (host, configurations) in inputs.cluster.hosts.iter().zip(&configurations) {
            let facts = seen.facts(&host.name).unwrap_or(expected);
            let view = HostView { inputs, host, seen, facts, cluster_id, configurations, templates: &templates };
            let mut draft = Draft::new(&host.name, task.name);
            match (task.plan)(&view, &mut draft) {
                Ok(()) => drafts.push(draft),
                Err(refusal) if refusals.contains(&refusal) => {}
                Err(refusal) => refusals.push(refusal),
            }
        }
    }
    if refusals.is_empty() { Ok(drafts) } else { Err(refusals) }
}

fn ordered(drafts: Vec<Draft<'_>>, cluster: &Cluster, seen: &Seen) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    let mut edges = Vec::new();
    for draft in drafts {
        edges.extend(enter(&mut plan, draft)?);
    }
    edges.extend(after_claims(&plan));
    edges.extend(after_packages(&plan));
    edges.extend(after_trust(&plan));
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(defect)?;
    }
    hooked::order(&mut plan, cluster, seen);
    Ok(plan)
}

/// Every step of a host comes after the one that records whose host it is.
fn after_claims(plan: &Plan) -> Vec<Edge> {
    let mut claims: BTreeMap<&str, StepId> = BTreeMap::new();
    let mut edges = Vec::new();
    for step in plan.steps() {
        let claim = claims.entry(&step.host).or_insert_with(|| claim(&step.host));
        if step.id != *claim {
            let reason = Reason::Because("a host says whose it is before it is changed");
            edges.push(Edge { later: step.id.clone(), earlier: claim.clone(), reason });
        }
    }
    edges
}

/// Where packages are missing, every step of the host may run a command of one of them.
fn after_packages(plan: &Plan) -> Vec<Edge> {
    let is_of_packages = |step: &&Step| step.task == packages::INSTALLED.task();
    let of_packages = plan.steps().filter(is_of_packages);
    let installed: BTreeMap<&str, StepId> = of_packages.map(|step| (step.host.as_str(), packages::INSTALLED.on(&step.host))).collect();
    let later = plan.steps().filter(|step| !is_of_packages(step) && !hooked::is_first(step));
    let with_packages = later.filter_map(|step| Some((step, installed.get(step.host.as_str())?)));
    let later = with_packages.filter(|(step, _)| step.id != claim(&step.host));
    let reason = || Reason::Because("it may run commands of these packages");
    later.map(|(step, earlier)| Edge { later: step.id.clone(), earlier: earlier.clone(), reason: reason() }).collect()
}

/// Whoever fetches trusts by then whom the cluster's owner trusts.
fn after_trust(plan: &Plan) -> Vec<Edge> {
    let fetched = plan.steps().filter(|step| is_fetched(step));
    let with_store = fetched.map(|step| (step, trust::STORE.on(&step.host))).filter(|(_, store)| plan.step(store).is_some());
    with_store.map(|(step, store)| Edge { later: step.id.clone(), earlier: store, reason: Reason::Reads }).collect()
}

pub(super) fn enter(plan: &mut Plan, draft: Draft<'_>) -> Result<Vec<Edge>, Refusal> {
    let (steps, edges) = draft.into_parts();
    for step in steps {
        plan.add(step).map_err(|id| defect(format!("two steps have the name {id}")))?;
    }
    Ok(edges)
}

pub(super) fn defect(sentence: String) -> Refusal {
    Refusal::new("kokctl made a plan that breaks its own rules").because(sentence).hint("this is a defect of kokctl; please report it")
}
