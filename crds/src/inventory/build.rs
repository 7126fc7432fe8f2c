//! Putting an inventory together, whatever it is written in.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::names::Names;
use super::range::{self, MAX_HOSTS};
use super::vars::{Vars, WrittenVariable};
use super::{ALL, Inventory, InventoryGroup, InventoryHost, UNGROUPED, Unread, graph, legacy};
use crate::tree::same;
use crate::tree::{Node, Value};
use crate::words::quote;
use crate::{Notice, Position, Problem};

/// Groups by which hosts get their work.
const OF_WORK: [&str; 7] = [ALL, UNGROUPED, "kube_control_plane", "kube_node", "etcd", "k8s_cluster", "calico_rr"];

/// Kubespray has a dozen groups; with one per rack or zone it is a hundred.
const MAX_GROUPS: usize = 1_000;

/// A host that ranges name again and again counts each time, so that a short text can't keep us busy for long.
const MAX_MENTIONS: usize = 20 * MAX_HOSTS;

/// What is known of an inventory so far.
pub(super) struct Builder {
    pub(super) hosts: BTreeMap<Arc<str>, InventoryHost>,
    pub(super) groups: BTreeMap<Arc<str>, InventoryGroup>,
    pub(super) problems: Vec<Problem>,
    pub(super) notices: Vec<Notice>,
    pub(super) unread: Unread,
    /// Names of the groups in the order in which they are written.
    written: Names,
    /// Where the inventory begins.
    pub(super) start: Position,
    mentions: usize,
    too_many: bool,
}

impl Builder {
    pub(super) fn new(start: Position) -> Self {
        let mut builder = Self {
            hosts: BTreeMap::new(),
            groups: BTreeMap::new(),
            problems: Vec::new(),
            notices: Vec::new(),
            unread: Unread::default(),
            written: Names::default(),
            start: start.clone(),
            mentions: 0,
            too_many: false,
        };
        builder.group(ALL, &start);
        // As in Ansible, the first of all groups.
        let ungrouped = builder.group(UNGROUPED, &start);
        builder.add_child(ALL, &ungrouped);
        builder
    }

    /// A group by any of its names, made if it is new.
    pub(super) fn group(&mut self, written: &str, position: &Position) -> Arc<str> {
        let name = legacy::current(written);
        let key = self.groups.get_key_value(name).map(|(key, _)| Arc::clone(key));
        let key = key.unwrap_or_else(|| {
            if self.groups.len() == MAX_GROUPS {
                self.too_many(position, format!("the inventory has more than {MAX_GROUPS} groups"));
            }
            let key: Arc<str> = name.into();
            // More are only counted, and the inventory is refused at the end.
            if self.groups.len() <= MAX_GROUPS {
                self.groups.insert(Arc::clone(&key), InventoryGroup::new(position));
                self.written.insert(&key);
            }
            key
        });
        if name != written {
            self.add_alias(&key, written, position);
        }
        key
    }

    fn add_alias(&mut self, name: &str, written: &str, position: &Position) {
        let Some(group) = self.groups.get_mut(name) else { return };
        if !group.aliases.iter().any(|alias| **alias == *written) {
            group.aliases.insert(&written.into());
            self.notices.push(legacy::renamed(written).at(position));
        }
    }

    /// The hosts that a name with ranges and a port stands for, as members of a group.
    pub(super) fn add_hosts(&mut self, group: &Arc<str>, written: &str, position: &Position) -> Vec<Arc<str>> {
        if self.too_many {
            return Vec::new();
        }
        let (names, port) = match range::expand(written) {
            Ok(expanded) => expanded,
            Err(wrong) => {
                let problem = Problem::new(format!("{} is no name of a host", quote(written))).at(position).because(wrong.because);
                self.problems.push(problem.hint(wrong.hint));
                return Vec::new();
            }
        };
        self.mentions = self.mentions.saturating_add(names.len());
        if self.mentions > MAX_MENTIONS || self.hosts.len() > MAX_HOSTS {
            self.too_many(position, format!("the inventory names more than {MAX_HOSTS} hosts"));
            return Vec::new();
        }
        let hosts: Vec<_> = names.iter().map(|name| self.host(name, position)).collect();
        for host in &hosts {
            self.join(group, host);
            if let Some(port) = port {
                let node = Node { spelling: port.to_string(), ..Node::new(Value::Integer(port.into()), position.clone()) };
                self.host_var(host, "ansible_port", WrittenVariable { key_position: position.clone(), node });
            }
        }
        hosts
    }

    fn too_many(&mut self, position: &Position, message: String) {
        if !self.too_many {
            self.too_many = true;
            self.problems.push(Problem::new(message).at(position).because("that is more than Kubernetes takes").hint("look at its ranges"));
        }
    }

    pub(super) fn host(&mut self, name: &str, position: &Position) -> Arc<str> {
        if let Some((key, _)) = self.hosts.get_key_value(name) {
            return Arc::clone(key);
        }
        let key: Arc<str> = name.into();
        self.hosts.insert(Arc::clone(&key), InventoryHost::new(position));
        key
    }

    pub(super) fn join(&mut self, group: &str, host: &Arc<str>) {
        if let Some(group) = self.groups.get_mut(group) {
            group.hosts.insert(host);
        }
    }

    pub(super) fn add_child(&mut self, group: &str, child: &Arc<str>) {
        if let Some(group) = self.groups.get_mut(group) {
            group.children.insert(child);
        }
    }

    pub(super) fn host_var(&mut self, host: &str, name: &str, variable: WrittenVariable) {
        let Some(entry) = self.hosts.get_mut(host) else { return };
        self.notices.extend(set(&mut entry.vars, name, variable, host));
    }

    pub(super) fn group_var(&mut self, group: &str, name: &str, variable: WrittenVariable) {
        let Some(entry) = self.groups.get_mut(group) else { return };
        if name != "ansible_group_priority" {
            self.notices.extend(set(&mut entry.vars, name, variable, group));
            return;
        }
        match &variable.node.value {
            Value::Integer(priority) => entry.priority = *priority,
            other => self.problems.push(
                Problem::new(format!("`{name}` cannot be {}", other.kind()))
                    .at(&variable.node.position)
                    .because("it is a whole number; of groups at the same depth the one with the larger number counts")
                    .hint("write a number, or leave it out"),
            ),
        }
    }

    /// The inventory as far as it could be read, and everything that is wrong with it.
    pub(super) fn finish(mut self) -> (Option<Inventory>, Vec<Problem>) {
        if self.hosts.is_empty() && self.problems.is_empty() {
            let problem = Problem::new("the inventory names no hosts").at(&self.start);
            self.problems
                .push(problem.because("a cluster consists of hosts").hint(
                "write them under `all: hosts:`, or in INI below `[all]`; a file of kokctl's own begins with `apiVersion:` and `kind: Cluster`",
            ));
        }
        if self.hosts.len() > MAX_HOSTS {
            let start = self.start.clone();
            self.too_many(&start, format!("the inventory names more than {MAX_HOSTS} hosts"));
        }
        if !self.too_many {
            self.group_the_rest();
            self.problems.extend(graph::order(&mut self.groups));
        }
        self.problems.sort_by(|a, b| a.position.cmp(&b.position));
        self.problems.dedup();
        if self.too_many || self.hosts.is_empty() {
            return (None, self.problems);
        }
        graph::sort_hosts_into_groups(&mut self.hosts, &self.groups);
        (Some(Inventory { hosts: self.hosts, groups: self.groups, notices: self.notices, unread: self.unread }), self.problems)
    }

    /// A name that a group and a host have, as the user has written them: an old name of a group is free for a host. Ansible takes it for both, with
    /// a warning, and Kubespray's own bastion is one (group `bastion`, host `bastion`). For a group that gives its
    /// hosts their work, or one without any, a host was written where a group stands.
    pub(super) fn check_names(&mut self) {
        for (name, host) in &self.hosts {
            let by_old_name = || self.groups.get(legacy::current(name)).filter(|group| group.aliases.contains(name));
            let Some(group) = self.groups.get(name).or_else(by_old_name) else { continue };
            let message = format!("{} is a host and a group", quote(name));
            let is_empty = group.hosts.is_empty() && group.children.is_empty();
            if is_empty || OF_WORK.contains(&legacy::current(name)) {
                let problem = Problem::new(message).at(&host.position);
                let because = format!("the group stands at {}; hosts stand under `hosts`, groups under `children`", group.position);
                self.problems.push(problem.because(because).hint("move one of them, or give it another name"));
            } else if !group.hosts.contains(name) {
                let notice = Notice::new(message).at(&host.position);
                let because = format!(
                    "the group stands at {}, and the host is none of its hosts; where hosts are named, the name means the group",
                    group.position
                );
                self.notices.push(notice.because(because).hint("give one of them another name"));
            }
        }
    }

    /// Groups without a parent belong to `all`, and hosts without a group to `ungrouped`.
    fn group_the_rest(&mut self) {
        let children: Names = self.groups.values().flat_map(|group| group.children.iter()).collect();
        let orphans: Vec<_> = self.written.iter().filter(|name| ***name != *ALL && !children.contains(name)).cloned().collect();
        for name in &orphans {
            self.add_child(ALL, name);
        }
        let others = self.groups.iter().filter(|(name, _)| ***name != *ALL && ***name != *UNGROUPED);
        let grouped: Names = others.flat_map(|(_, group)| group.hosts.iter()).collect();
        if let Some(ungrouped) = self.groups.get_mut(UNGROUPED) {
            let before = std::mem::take(&mut ungrouped.hosts);
            // In the order of the file, then those that are only members of `all`.
            let alone = before.iter().chain(self.hosts.keys()).filter(|host| !grouped.contains(host));
            ungrouped.hosts = alone.collect();
        }
    }
}

/// Whether two values that are the same are worked out, or left alone, in the same places.
fn are_tagged_alike(a: &Node, b: &Node) -> bool {
    a.tag == b.tag
        && match (&a.value, &b.value) {
            (Value::List(a), Value::List(b)) => a.iter().zip(b).all(|(a, b)| are_tagged_alike(a, b)),
            (Value::Map(a), Value::Map(b)) => a.iter().zip(b).all(|(a, b)| are_tagged_alike(&a.node, &b.node)),
            _ => true,
        }
}

/// Sets a variable, and says so where another value doesn't count because of that. What says the same again changes nothing, as where an alias
/// gives the hosts of one group to another: then it stands where it was written first.
fn set(vars: &mut Vars, name: &str, variable: WrittenVariable, owner: &str) -> Option<Notice> {
    if vars.get(name).is_some_and(|former| same(&former.node, &variable.node) && are_tagged_alike(&former.node, &variable.node)) {
        return None;
    }
    let position = variable.key_position.clone();
    let former = vars.insert(name, variable)?;
    // Several names of one line, such as those of a range, have its variables in common.
    (former.key_position != position).then(|| {
        Notice::new(format!("{} has {} twice; this one counts", quote(owner), quote(name)))
            .at(&position)
            .because(format!("the other one stands before it, at {}", former.key_position))
            .hint("remove the one that you do not mean")
    })
}

impl InventoryHost {
    fn new(position: &Position) -> Self {
        Self { position: position.clone(), vars: Vars::default(), file_vars: Vars::default(), groups: Vec::new() }
    }
}

impl InventoryGroup {
    fn new(position: &Position) -> Self {
        Self {
            position: position.clone(),
            aliases: Names::default(),
            hosts: Names::default(),
            children: Names::default(),
            vars: Vars::default(),
            file_vars: Vars::default(),
            depth: 0,
            priority: 1,
        }
    }
}
