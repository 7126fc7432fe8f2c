//! Machines in the tree of a Cluster: what it does not say of its hosts.

use super::{Machine, Machines, WORK, no_address, no_work, text};
use crate::tree::{Entry, Node, Value};
use crate::words::{quote, with_nearest};
use crate::{Position, Problem};

/// Vagrant's machines are reached directly, whatever an ssh_config says of their addresses.
const DIRECTLY: &str = "none";

impl Machines {
    /// Adds the machines to the hosts of a Cluster in the inline form. What it says of a host itself counts. Gives what is wrong.
    pub(crate) fn complete(&self, cluster: &mut Node) -> Vec<Problem> {
        let mut problems = Vec::new();
        let empty = |value| Node::new(value, self.start.clone());
        let Some(spec) = field(cluster, "spec", empty(Value::Map(Vec::new()))) else { return problems };
        let Some(Value::List(hosts)) = field(spec, "hosts", empty(Value::List(Vec::new()))).map(|node| &mut node.value) else {
            return problems;
        };
        hosts.iter().for_each(|host| problems.extend(self.unknown(host)));
        for machine in &self.machines {
            let known = hosts.iter().position(|host| name(host) == Some(&machine.name));
            let index = known.unwrap_or(hosts.len());
            if known.is_none() {
                hosts.push(Node::new(Value::Map(Vec::new()), machine.position.clone()));
            }
            if let Some(host) = hosts.get_mut(index) {
                problems.extend(self.fill(machine, host));
            }
        }
        problems
    }

    fn fill(&self, machine: &Machine, host: &mut Node) -> Vec<Problem> {
        let at = &machine.position;
        let mut problems = Vec::new();
        add(host, "name", || text(machine.name.as_str(), at));
        let roles = self.work_of(machine);
        if roles.is_empty() && host.entry("roles").is_none() {
            problems.push(no_work(machine));
        }
        if machine.address.is_none() && host.entry("address").is_none() {
            problems.push(no_address(machine));
        }
        let words = WORK.iter().filter(|(_, work, _)| roles.contains(work)).map(|(word, ..)| text(*word, at)).collect();
        add(host, "roles", || Node::new(Value::List(words), at.clone()));
        machine.address.iter().for_each(|address| add(host, "address", || address.clone()));
        if let Some(ssh) = field(host, "ssh", Node::new(Value::Map(Vec::new()), at.clone())) {
            machine.login.iter().for_each(|(name, node)| add(ssh, name, || node.clone()));
            add(ssh, "bastion", || text(DIRECTLY, at));
        }
        problems
    }

    /// That a host of the Cluster is no machine of Vagrant.
    fn unknown(&self, host: &Node) -> Option<Problem> {
        let name = name(host).filter(|name| !self.machines.iter().any(|machine| machine.name == **name))?;
        let names: Vec<&str> = self.machines.iter().map(|machine| machine.name.as_str()).collect();
        let position: &Position = host.entry("name").map_or(&host.position, |entry| &entry.node.position);
        let problem = Problem::new(format!("the Vagrantfile has no machine {}", quote(name))).at(position);
        let problem = problem.because("beside a Vagrantfile, a cluster consists of Vagrant's machines");
        Some(with_nearest(
            problem,
            name,
            &names,
            "leave the host out, or define the machine; perhaps it depends on WORKERS or CONTROL_PLANES",
        ))
    }
}

fn name(host: &Node) -> Option<&String> {
    match &host.entry("name")?.node.value {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// A field of a map, made of `otherwise` where it has none; nothing if this is no map.
fn field<'n>(node: &'n mut Node, key: &str, otherwise: Node) -> Option<&'n mut Node> {
    add(node, key, || otherwise);
    let Value::Map(entries) = &mut node.value else { return None };
    entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
}

/// Adds a field to a map that does not have it, or has it without a value.
fn add(node: &mut Node, key: &str, value: impl FnOnce() -> Node) {
    let Value::Map(entries) = &mut node.value else { return };
    let is_given = |entry: &Entry| entry.key == key && !matches!(entry.node.value, Value::Null);
    if !entries.iter().any(is_given) {
        entries.retain(|entry| entry.key != key);
        let node = value();
        entries.push(Entry { key: key.to_owned(), key_position: node.position.clone(), node });
    }
}
