//! Steps and the reasons for their order.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use kok_crds::model::{Concealed, Text};
use petgraph::Direction;
use petgraph::acyclic::Acyclic;
use petgraph::data::Build as _;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef as _;

use super::id::StepId;
use super::reason::Reason;
use crate::change::{Change, Verdict};
use crate::gate::{Disruption, Need};
use crate::observe::{Look, Observations};
use crate::operations::Operation;
use crate::resources::{Act, Resource};
use crate::secret_name::SecretName;

/// What a step is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A desired piece of the host.
    Resource(Resource),
    /// A change beyond it, or a condition.
    Operation(Operation),
}

impl From<Resource> for Action {
    fn from(resource: Resource) -> Self {
        Self::Resource(resource)
    }
}

impl From<Operation> for Action {
    fn from(operation: Operation) -> Self {
        Self::Operation(operation)
    }
}

/// One resource or operation on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub id: StepId,
    /// The host that it acts on.
    pub host: String,
    /// The task that emitted it.
    pub task: &'static str,
    /// What it is about.
    pub action: Action,
    /// How long acting and coming true may take together.
    pub deadline: Duration,
    /// Steps whose change is reason enough to do this one, whatever was seen of it.
    pub triggers: Vec<StepId>,
    /// What it disturbs of what works: the gate is asked before it is begun.
    pub gate: Option<(Disruption, Need)>,
}

impl Step {
    /// What must be seen to know whether it is done.
    #[must_use]
    pub fn looks(&self) -> Vec<Look> {
        match &self.action {
            Action::Resource(resource) => resource.looks(),
            Action::Operation(operation) => operation.looks(),
        }
    }

    /// Whether it is done.
    #[must_use]
    pub fn diff(&self, seen: &Observations) -> Verdict {
        match &self.action {
            Action::Resource(resource) => resource.diff(seen),
            Action::Operation(operation) => operation.diff(seen),
        }
    }

    /// What brings `change` about.
    #[must_use]
    pub fn act(&self, change: &Change) -> Act {
        match &self.action {
            Action::Resource(resource) => resource.act(change),
            Action::Operation(operation) => operation.act(change),
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.action {
            Action::Resource(resource) => resource.title(),
            Action::Operation(operation) => operation.title(),
        }
    }

    /// The files that it writes with a secret in them and that stay there, and which: a change of it need not write all.
    #[must_use]
    pub fn secret_files(&self) -> Vec<(String, SecretName)> {
        match &self.action {
            Action::Resource(resource) => resource.secret_files(),
            Action::Operation(operation) => operation.secret_files(),
        }
    }

    /// What it gives to its host by names, and is known already.
    #[must_use]
    pub fn given(&self) -> Vec<(&SecretName, &Text)> {
        if let Action::Resource(resource) = &self.action { resource.given() } else { Vec::new() }
    }

    /// Whether what it prints is told even if it ends well: it is a script of the user's.
    #[must_use]
    pub const fn is_told(&self) -> bool {
        matches!(self.action, Action::Resource(Resource::Hook(_)))
    }

    /// How long what it has made is good for those who begin to use it, from the moment it was begun; nothing if that has no end.
    #[must_use]
    pub fn lasts(&self) -> Option<Duration> {
        match &self.action {
            Action::Resource(_) => None,
            Action::Operation(operation) => operation.lasts(),
        }
    }

    /// What it alone may write on its host.
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        match &self.action {
            Action::Resource(resource) => resource.writes(),
            Action::Operation(operation) => operation.writes(),
        }
    }
}

/// Steps with their order. Steps that need no change are in it too: an order that goes through one of them still holds.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    graph: Acyclic<DiGraph<Step, Reason>>,
    index: HashMap<StepId, NodeIndex>,
    changes: BTreeMap<StepId, Change>,
    left_out: BTreeSet<StepId>,
}

impl Plan {
    /// Adds a step.
    ///
    /// # Errors
    /// Its name, if the plan has a step of that name.
    pub(crate) fn add(&mut self, step: Step) -> Result<(), StepId> {
        let id = step.id.clone();
        if self.index.contains_key(&id) {
            return Err(id);
        }
        let node = self.graph.add_node(step);
        self.index.insert(id, node);
        Ok(())
    }

    /// Says that `later` needs `earlier`.
    ///
    /// # Errors
    /// A sentence, if one of them is not in the plan or the two would need each other.
    pub(crate) fn order(&mut self, later: &StepId, earlier: &StepId, reason: Reason) -> Result<(), String> {
        let node = |id: &StepId| self.index.get(id).copied().ok_or_else(|| format!("{later} needs {id}, which is no step of the plan"));
        let (from, to) = (node(earlier)?, node(later)?);
        self.graph.try_add_edge(from, to, reason).map(|_| ()).map_err(|_| self.cycle(later, earlier))
    }

    /// The cycle that would be closed if `later` needed `earlier`.
    fn cycle(&self, later: &StepId, earlier: &StepId) -> String {
        let mut found_by: BTreeMap<StepId, StepId> = BTreeMap::new();
        let mut open = VecDeque::from([earlier.clone()]);
        while let Some(id) = open.pop_front().filter(|id| id != later) {
            for (need, _) in self.needs(&id) {
                if !found_by.contains_key(&need.id) {
                    found_by.insert(need.id.clone(), id.clone());
                    open.push_back(need.id.clone());
                }
            }
        }
        let (mut way, mut id) = (Vec::new(), later);
        while let Some(before) = found_by.get(id).filter(|_| id != earlier) {
            way.push(format!(", which needs {id}"));
            id = before;
        }
        way.reverse();
        format!("{later} needs {earlier}{}", way.concat())
    }

    /// All steps, earlier ones first; steps that don't need each other in the order of the tasks.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.graph.nodes_iter().filter_map(|node| self.graph.node_weight(node))
    }

    /// Steps that change something.
    pub fn changes(&self) -> impl Iterator<Item = (&Step, &Change)> {
        self.steps().filter_map(|step| self.changes.get(&step.id).map(|change| (step, change)))
    }

    /// What a step has to change; `None` for one that is already as desired.
    #[must_use]
    pub fn change(&self, id: &StepId) -> Option<&Change> {
        self.changes.get(id)
    }

    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// A step by name.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.index.get(id).and_then(|node| self.graph.node_weight(*node))
    }

    /// Steps that would change something and are not in the part of the plan that was asked for, as far as their hosts were looked at.
    #[must_use]
    pub fn left_out(&self) -> &BTreeSet<StepId> {
        &self.left_out
    }

    pub(super) fn set_changes(&mut self, changes: BTreeMap<StepId, Change>, left_out: BTreeSet<StepId>) {
        (self.changes, self.left_out) = (changes, left_out);
    }

    /// Takes out of what is said of the changes what was encrypted in the user's files.
    pub(super) fn conceal(&mut self, concealed: &Concealed) {
        self.changes.values_mut().for_each(|change| change.conceal(concealed));
    }

    /// The steps whose work a step uses and that may have become too old for it.
    pub fn uses_fresh(&self, id: &StepId) -> impl Iterator<Item = &Step> {
        let needs = self.needs(id).into_iter();
        needs.filter_map(|(need, reason)| matches!(reason, Reason::UsesFresh(_)).then_some(need))
    }

    /// What must be done before a step, each with the reason.
    #[must_use]
    pub fn needs(&self, id: &StepId) -> Vec<(&Step, &Reason)> {
        self.neighbours(id, Direction::Incoming)
    }

    /// The changes that must be made before a step: those that it needs, and behind needs that change nothing the nearest that do.
    #[must_use]
    pub fn changed_needs(&self, id: &StepId) -> BTreeSet<StepId> {
        let (mut found, mut passed, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![id.clone()]);
        while let Some(id) = open.pop() {
            for (need, _) in self.needs(&id) {
                if self.changes.contains_key(&need.id) {
                    found.insert(need.id.clone());
                } else if passed.insert(need.id.clone()) {
                    open.push(need.id.clone());
                }
            }
        }
        found
    }

    /// What waits for a step, each with the reason.
    #[must_use]
    pub fn needed_by(&self, id: &StepId) -> Vec<(&Step, &Reason)> {
        self.neighbours(id, Direction::Outgoing)
    }

    fn neighbours(&self, id: &StepId, direction: Direction) -> Vec<(&Step, &Reason)> {
        let Some(&node) = self.index.get(id) else { return Vec::new() };
        let edges = self.graph.edges_directed(node, direction);
        edges
            .filter_map(|edge| {
                let other = if direction == Direction::Incoming { edge.source() } else { edge.target() };
                Some((self.graph.node_weight(other)?, edge.weight()))
            })
            .collect()
    }
}
