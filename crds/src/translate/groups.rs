//! Which hosts of an inventory belong to the cluster, and what they do there.

use std::collections::BTreeSet;

use super::hosts::Hosts;
use crate::inventory::Inventory;
use crate::message::Kind;
use crate::model::Roles;
use crate::words::{nearest, quote};
use crate::{Notice, Position, Problem};

const CONTROL_PLANE: &str = "kube_control_plane";
const NODE: &str = "kube_node";
const ETCD: &str = "etcd";
const BASTION: &str = "bastion";
const REFLECTORS: &str = "calico_rr";

/// The groups that a plan needs.
pub(super) struct Groups<'a> {
    /// Where the inventory begins.
    pub(super) position: Position,
    /// Hosts of the cluster: the control planes in the order of their group, then the others.
    pub(super) members: Vec<&'a str>,
    pub(super) control_planes: Hosts<'a>,
    pub(super) workers: Hosts<'a>,
    pub(super) etcd: Hosts<'a>,
    /// The host that leads to the others.
    pub(super) bastion: Option<&'a str>,
    others: Vec<&'a str>,
    reflectors: Vec<&'a str>,
    names: Vec<&'a str>,
}

impl<'a> Groups<'a> {
    pub(super) fn from_inventory(inventory: &'a Inventory, position: Position) -> Self {
        let members = |group: &str| inventory.members(group).unwrap_or_default();
        let (planes, nodes, etcd) = (members(CONTROL_PLANE), members(NODE), members(ETCD));
        let mut seen = BTreeSet::new();
        let all: Vec<&str> = planes.iter().chain(&nodes).chain(&etcd).copied().filter(|host| seen.insert(*host)).collect();
        let bastion = members(BASTION).first().copied();
        let reflectors = members(REFLECTORS).into_iter().filter(|host| !seen.contains(host)).collect();
        let others = inventory.hosts().into_iter().filter(|host| !seen.contains(host) && bastion != Some(*host)).collect();
        Self {
            position,
            members: all,
            control_planes: planes.into_iter().collect(),
            workers: nodes.into_iter().collect(),
            etcd: etcd.into_iter().collect(),
            bastion,
            others,
            reflectors,
            names: inventory.groups().collect(),
        }
    }

    /// What is wrong with the groups. `tolerant` is Kubespray's way to go on all the same.
    pub(super) fn problems(&self, inventory: &Inventory, tolerant: bool) -> (Vec<Problem>, Vec<Notice>) {
        let mut problems = Vec::new();
        // Which hosts there are is not known.
        if inventory.unread.hosts {
            return (problems, Vec::new());
        }
        let mut notices = self.notices(inventory);
        if self.control_planes.is_empty() {
            problems.push(self.no_control_plane(inventory));
        }
        if self.etcd.len() > 1 && self.etcd.len().is_multiple_of(2) {
            let because = "it works as long as more than half of them do, so that one more makes it no safer";
            let message = format!("etcd has an even number of members: {}", self.etcd.iter().copied().collect::<Vec<_>>().join(", "));
            let at = self.place_of(inventory, ETCD);
            if tolerant {
                notices.push(Notice::new(message).at(at).because(because));
            } else {
                let problem = Problem::new(message).at(at).because(because);
                problems.push(problem.hint("use an odd number of hosts in the group `etcd`").of_kind(Kind::Uneven));
            }
        }
        (problems, notices)
    }

    /// The hosts of etcd, where they are others than the control planes.
    pub(super) fn etcd_apart(&self) -> Option<&Hosts<'a>> {
        let is_beside = |host: &&&str| self.control_planes.contains(*host);
        let beside = self.etcd.iter().filter(is_beside).count();
        (!self.etcd.is_empty() && (beside != self.etcd.len() || beside != self.control_planes.len())).then_some(&self.etcd)
    }

    /// What a host does. Where nothing says otherwise, etcd runs on the control planes.
    pub(super) fn roles(&self, host: &str) -> Roles {
        let control_plane = self.control_planes.contains(host);
        let etcd = if self.etcd.is_empty() { control_plane } else { self.etcd.contains(host) };
        Roles { control_plane, worker: self.workers.contains(host), etcd }
    }

    /// Where a group is written; where the inventory begins, if it is not.
    fn place_of<'b>(&'b self, inventory: &'b Inventory, group: &str) -> &'b Position {
        inventory.group(group).map_or(&self.position, |(_, group)| &group.position)
    }

    fn no_control_plane(&self, inventory: &Inventory) -> Problem {
        let problem = Problem::new(format!("the group `{CONTROL_PLANE}` has no hosts"))
            .because("a cluster needs a host for its API server and its etcd");
        let others: Vec<&str> = self.names.iter().copied().filter(|name| *name != CONTROL_PLANE).collect();
        match nearest(CONTROL_PLANE, &others) {
            Some(near) => problem.at(self.place_of(inventory, near)).hint(format!("there is a group `{near}`: name it `{CONTROL_PLANE}`")),
            None => problem
                .at(self.place_of(inventory, CONTROL_PLANE))
                .hint(format!("put one host into the group `{CONTROL_PLANE}`, the others into `{NODE}`")),
        }
    }

    fn notices(&self, inventory: &Inventory) -> Vec<Notice> {
        let mut notices = Vec::new();
        let at = |host: &str| inventory.position_of(host).unwrap_or(&self.position).clone();
        if self.workers.is_empty() && !self.control_planes.is_empty() {
            notices.push(
                Notice::new("the cluster has no workers")
                    .at(self.place_of(inventory, NODE))
                    .because(format!("the group `{NODE}` has no hosts"))
                    .hint(format!("pods of users run nowhere then; a control plane that is also in `{NODE}` takes them")),
            );
        }
        if let Some(first) = self.reflectors.first() {
            let notice = Notice::new(format!("route reflectors are left out: {}", listed(&self.reflectors))).at(&at(first));
            notices.push(notice.because("they are of Calico, which this version does not install"));
        }
        let others: Vec<&str> = self.others.iter().copied().filter(|host| !self.reflectors.contains(host)).collect();
        if let Some(first) = others.first() {
            let notice = Notice::new(format!("hosts are left out: {}", listed(&others))).at(&at(first));
            notices.push(notice.because(format!("they are in none of `{CONTROL_PLANE}`, `{NODE}` and `{ETCD}`")));
        }
        notices
    }
}

/// Some names, and how many more there are.
fn listed(hosts: &[&str]) -> String {
    const MOST: usize = 5;
    let names: Vec<String> = hosts.iter().take(MOST).map(|host| quote(host)).collect();
    let more = hosts.len().saturating_sub(MOST);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}
