//! Which pods of the network check ask, and which they ask, where all together would be too many.
//!
//! Each pod that asks costs the control plane a kubectl, and where each asks each, requests grow with the square of the nodes. So the pods of
//! at most [`MOST`] nodes ask. These ask each other, all of them; each other pod is asked by [`ASKED_BY`] of them. Up to that many nodes
//! everybody asks everybody.

use std::collections::{BTreeMap, BTreeSet};

use crate::observe::KubernetesState;

/// So many pods ask at most. Each is a kubectl of some 0.1 s of a processor: they are through in seconds on any control plane, within the
/// time that the probe has for them.
const MOST: usize = 100;

/// So many pods ask one that does not ask itself. Any one would prove that the node is reached; from three hosts it is told which side of a
/// path is broken.
pub(crate) const ASKED_BY: usize = 3;

/// The nodes whose pods ask, by name. It is the same choice each time: control planes first, for their API servers and DNS servers talk to
/// all; then nodes that the network was not proven for yet; then others. Of a group that does not fit, nodes at equal distances in the order
/// of their names.
#[must_use]
pub fn askers(nodes: &[String], control_planes: &BTreeSet<&str>, state: Option<&KubernetesState>) -> Vec<String> {
    let proven = state.map(proven).unwrap_or_default();
    let mut groups: [BTreeSet<&String>; 3] = Default::default();
    let [first, second, third] = &mut groups;
    for node in nodes {
        match node.as_str() {
            name if control_planes.contains(name) => first.insert(node),
            name if !proven.contains(name) => second.insert(node),
            _ => third.insert(node),
        };
    }
    let mut chosen = BTreeSet::new();
    for group in groups {
        chosen.extend(spread(&group, MOST.saturating_sub(chosen.len())).cloned());
    }
    chosen.into_iter().collect()
}

/// `count` of a group, or all, at equal distances.
fn spread<'a>(group: &'a BTreeSet<&String>, count: usize) -> impl Iterator<Item = &'a String> {
    let all = group.len();
    // One whose share of the count passes a whole number; never a division by zero, for then there is none to look at.
    let is_taken = move |index: usize| all <= count || (index + 1) * count / all > index * count / all;
    group.iter().enumerate().filter(move |(index, _)| is_taken(*index)).map(|(_, name)| *name)
}

/// Names of the nodes that the cluster's own record says the network was proven for, and that are still the same.
fn proven(state: &KubernetesState) -> BTreeSet<&str> {
    let KubernetesState::Ready { nodes, .. } = state else { return BTreeSet::new() };
    let record = state.object("ConfigMap", "kube-system", "kokctl").and_then(|map| map.text("/data/network-check")).unwrap_or_default();
    let lines: BTreeMap<&str, &str> = record.lines().filter_map(|line| line.split_once('=')).collect();
    let is_same = |(name, node): &(&String, &crate::observe::NodeState)| lines.get(name.as_str()).is_some_and(|uid| *uid == node.uid);
    nodes.iter().filter(is_same).map(|(name, _)| name.as_str()).collect()
}
