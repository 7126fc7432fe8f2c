//! Groups that hold groups: their order, their depth, and who is in them by others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::names::Names;
use super::{InventoryGroup, InventoryHost};
use crate::Problem;
use crate::words::quote;

type Groups = BTreeMap<Arc<str>, InventoryGroup>;

/// A group and all groups that it holds, level by level, each level in the order of the file.
fn descendants<'a>(groups: &'a Groups, name: &'a Arc<str>) -> Vec<&'a Arc<str>> {
    let mut seen = BTreeSet::from([name]);
    let mut found = vec![name];
    let mut next = VecDeque::from([name]);
    while let Some(name) = next.pop_front() {
        for child in groups.get(name).into_iter().flat_map(|group| group.children.iter()) {
            if seen.insert(child) {
                found.push(child);
                next.push_back(child);
            }
        }
    }
    found
}

/// The hosts of a group: its own first, then those of the groups that it holds.
pub(super) fn members<'a>(groups: &'a Groups, name: &'a Arc<str>) -> Vec<&'a Arc<str>> {
    let mut seen = BTreeSet::new();
    let found = descendants(groups, name).into_iter().filter_map(|name| groups.get(name));
    found.flat_map(|group| group.hosts.iter()).filter(|host| seen.insert(*host)).collect()
}

/// Gives each group its depth: the most steps from a group that no other holds. Circles of groups are problems.
pub(super) fn order(groups: &mut Groups) -> Vec<Problem> {
    let mut parents: BTreeMap<Arc<str>, usize> = groups.keys().map(|name| (Arc::clone(name), 0)).collect();
    for child in groups.values().flat_map(|group| group.children.iter()) {
        if let Some(count) = parents.get_mut(child) {
            *count += 1;
        }
    }
    let mut depths: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    let free = parents.iter().filter(|(_, count)| **count == 0);
    let mut ready: Vec<Arc<str>> = free.map(|(name, _)| Arc::clone(name)).collect();
    loop {
        while let Some(name) = ready.pop() {
            release(groups, &name, &mut parents, &mut depths, &mut ready);
        }
        let Some(circle) = circle(groups, &parents) else { break };
        problems.push(circle_problem(groups, &circle));
        // What hangs below the circle may have one of its own.
        for name in circle {
            release(groups, &name, &mut parents, &mut depths, &mut ready);
        }
    }
    for (name, group) in groups {
        group.depth = depths.get(name).copied().unwrap_or_default();
    }
    problems
}

/// Takes a group out of the graph, whose depth is known by now.
fn release(
    groups: &Groups,
    name: &Arc<str>,
    parents: &mut BTreeMap<Arc<str>, usize>,
    depths: &mut BTreeMap<Arc<str>, usize>,
    ready: &mut Vec<Arc<str>>,
) {
    if parents.remove(name).is_none() {
        return;
    }
    let depth = depths.get(name).copied().unwrap_or_default() + 1;
    for child in groups.get(name).into_iter().flat_map(|group| group.children.iter()) {
        let deepest = depths.entry(Arc::clone(child)).or_default();
        *deepest = depth.max(*deepest);
        if let Some(count) = parents.get_mut(child) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                ready.push(Arc::clone(child));
            }
        }
    }
}

/// A circle among the groups that are left. Each of them has a parent among them, so going up ends in a circle.
fn circle(groups: &Groups, left: &BTreeMap<Arc<str>, usize>) -> Option<Vec<Arc<str>>> {
    let mut path: Vec<Arc<str>> = Vec::new();
    let mut name = left.keys().next()?;
    loop {
        if let Some(begin) = path.iter().position(|other| other == name) {
            let mut circle = path.split_off(begin);
            circle.reverse();
            return Some(circle);
        }
        path.push(Arc::clone(name));
        let holds = |parent: &&Arc<str>| groups.get(*parent).is_some_and(|group| group.children.contains(name));
        name = left.keys().find(holds)?;
    }
}

fn circle_problem(groups: &Groups, circle: &[Arc<str>]) -> Problem {
    let chain: Vec<_> = circle.iter().chain(circle.first()).map(|name| quote(name)).collect();
    let problem = Problem::new("groups hold each other").because(format!("{} is a circle", chain.join(" holds ")));
    let problem = problem.hint("take one of them out of the `children` of the other");
    match circle.iter().filter_map(|name| groups.get(name)).map(|group| &group.position).max() {
        Some(position) => problem.at(position),
        None => problem,
    }
}

/// Gives each host its groups in the order in which their variables count: by depth, then priority, then name.
pub(super) fn sort_hosts_into_groups(hosts: &mut BTreeMap<Arc<str>, InventoryHost>, groups: &Groups) {
    let mut parents: BTreeMap<&Arc<str>, Vec<&Arc<str>>> = BTreeMap::new();
    let mut direct: BTreeMap<&Arc<str>, Vec<&Arc<str>>> = BTreeMap::new();
    for (name, group) in groups {
        group.children.iter().for_each(|child| parents.entry(child).or_default().push(name));
        group.hosts.iter().for_each(|host| direct.entry(host).or_default().push(name));
    }
    for (name, host) in hosts {
        let mut next: Vec<&Arc<str>> = direct.get(name).cloned().unwrap_or_default();
        let mut all = Names::default();
        while let Some(name) = next.pop() {
            if !all.contains(name) {
                all.insert(name);
                next.extend(parents.get(name).into_iter().flatten());
            }
        }
        host.groups = all.iter().cloned().collect();
        host.groups.sort_by_key(|name| groups.get(name).map(|group| (group.depth, group.priority, Arc::clone(name))));
    }
}
