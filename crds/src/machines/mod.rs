//! Hosts that somebody else lists: machines of Vagrant. `vagrant ssh-config` says how they are reached, and what their Vagrantfile has noted of
//! each says its address among the others, and its host key.

mod complete;
mod noted;
mod ssh_config;

use crate::inventory::{Inventory, ListedHost};
use crate::tree::{Node, Value};
use crate::words::{nearest, quote};
use crate::{Position, Problem, Source};

/// More is no list of machines any more, and one line that is wrong often makes all others wrong.
const MOST_PROBLEMS: usize = 20;

/// Machines in the order in which they are listed.
pub(crate) struct Machines {
    /// Where the list begins.
    pub(crate) start: Position,
    machines: Vec<Machine>,
}

/// A machine.
struct Machine {
    name: String,
    /// Where it is listed.
    position: Position,
    /// Fields of `ssh` of a host.
    login: Vec<(&'static str, Node)>,
    /// The address by which others reach it, where that is noted.
    address: Option<Node>,
}

/// What a machine does, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    ControlPlane,
    Worker,
    Etcd,
}

/// How names begin, what the work is called as a role, and the groups of an inventory.
const WORK: [(&str, Work, &str); 3] =
    [("control-plane", Work::ControlPlane, "kube_control_plane"), ("worker", Work::Worker, "kube_node"), ("etcd", Work::Etcd, "etcd")];

impl Machines {
    /// Machines out of what `vagrant ssh-config` has printed, with what is noted of each, by its name. What is noted of others is wrong: they exist,
    /// and whoever changed the list may not know.
    pub(crate) fn read(listed: &Source, noted: &[(&str, &Source)]) -> (Self, Vec<Problem>) {
        let (mut machines, mut problems) = ssh_config::read(listed);
        let names: Vec<String> = machines.iter().map(|machine| machine.name.clone()).collect();
        for (name, source) in noted {
            match machines.iter_mut().find(|machine| machine.name == *name) {
                Some(machine) => noted::read(machine, source, &mut problems),
                None if problems.is_empty() => problems.push(unlisted(name, &names, source)),
                None => {}
            }
        }
        problems.truncate(MOST_PROBLEMS);
        (Self { start: listed.position(1, 1), machines }, problems)
    }

    /// The same as an inventory: its hosts and groups. `beside` are files of variables, as beside any inventory.
    pub(crate) fn inventory(&self, beside: &[Source]) -> (Option<Inventory>, Vec<Problem>) {
        let without: Vec<Problem> = self.machines.iter().flat_map(|machine| self.lacks(machine)).collect();
        if !without.is_empty() {
            return (None, without);
        }
        let has_etcd = self.machines.iter().any(|machine| self.work_of(machine).contains(&Work::Etcd));
        let listed = self.machines.iter().map(|machine| {
            let roles = self.work_of(machine);
            // An inventory has to name the members of etcd.
            let implied = (!has_etcd && roles.contains(&Work::ControlPlane)).then_some(Work::Etcd);
            let all: Vec<Work> = roles.into_iter().chain(implied).collect();
            ListedHost {
                name: &machine.name,
                position: &machine.position,
                groups: WORK.iter().filter(|(_, work, _)| all.contains(work)).map(|(_, _, group)| *group).collect(),
                vars: machine.address.iter().map(|address| ("ip", address.clone())).collect(),
            }
        });
        Inventory::of_list(&self.start, listed, beside)
    }

    /// What an inventory can't do without.
    fn lacks(&self, machine: &Machine) -> Option<Problem> {
        if self.work_of(machine).is_empty() { Some(no_work(machine)) } else { machine.address.is_none().then(|| no_address(machine)) }
    }

    /// What a machine does. Where none is a worker, control planes are it.
    fn work_of(&self, machine: &Machine) -> Vec<Work> {
        let of_name = |name: &str| {
            let number = |rest: &str| rest.is_empty() || rest.strip_prefix('-').unwrap_or(rest).bytes().all(|byte| byte.is_ascii_digit());
            WORK.iter().find(|(word, ..)| name.strip_prefix(word).is_some_and(number)).map(|(_, work, _)| *work)
        };
        let own = of_name(&machine.name);
        let is_alone = || !self.machines.iter().any(|machine| of_name(&machine.name) == Some(Work::Worker));
        own.into_iter().chain((own == Some(Work::ControlPlane) && is_alone()).then_some(Work::Worker)).collect()
    }
}

fn no_work(machine: &Machine) -> Problem {
    let problem = Problem::new(format!("it is not known what the machine {} is to do", quote(&machine.name))).at(&machine.position);
    problem
        .because("by their names, machines are `control-plane-1`, `worker-1`, `etcd-1` and so on")
        .hint("call it so in the Vagrantfile; or give it `roles` under `spec.hosts` of a `cluster.yaml` beside the Vagrantfile")
}

fn no_address(machine: &Machine) -> Problem {
    let problem = Problem::new(format!("the address of the machine {} is not known", quote(&machine.name))).at(&machine.position);
    problem.because("where SSH reaches it, other machines may not, and its Vagrantfile has noted no other address").hint(
        "`vagrant up` notes it, with kokctl's own Vagrantfile, once the machine is up; with another one, write `address` for it under \
             `spec.hosts` of a `cluster.yaml` beside the Vagrantfile",
    )
}

/// A machine that Vagrant has made and does not name any more.
fn unlisted(name: &str, names: &[String], source: &Source) -> Problem {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = nearest(name, &names).map(|near| format!("; the nearest to it is {}", quote(near))).unwrap_or_default();
    let problem = Problem::new(format!("the machine {} is there, and the Vagrantfile does not name it", quote(name)));
    problem
        .at(&source.position(1, 1))
        .because(format!("a cluster would be made without it{near}; which machines there are may depend on variables, such as WORKERS"))
        .hint(format!("export the variables with which it was made; to give it up, run `vagrant destroy {name}` with them"))
}

/// Text at a place.
fn text(text: impl Into<String>, position: &Position) -> Node {
    Node::new(Value::Text(text.into()), position.clone())
}

#[cfg(test)]
mod tests;
