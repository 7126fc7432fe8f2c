//! The cluster of an inventory, or one that says everything itself, with what an operation adds.

use super::otherwise::Defaults;
use super::{Input, conceal, extra, once, open_sources, partly, sealed};
use crate::decode::Wording;
use crate::examine::read_tree;
use crate::inventory::{Inventory, Vars, unseal};
use crate::machines::Machines;
use crate::message::Kind;
use crate::model::Cluster;
use crate::objects::{Inputs, SshKey};
use crate::operation::Operation;
use crate::translate::{Translation, translate};
use crate::variables::Given;
use crate::vault::Vault;
use crate::words::quote;
use crate::{Position, Problem, Source};

/// A Cluster that says everything itself.
pub(super) fn inline(mut cluster: Cluster, variables: &[Given], operation: Option<&Operation>) -> Input {
    let (mut variables, mut problems) = (variables.to_vec(), Vec::new());
    if let Some(operation) = operation {
        variables.extend(extra::not_for_inline(operation, &variables, &mut problems));
        variables.extend(extra::inline_login(operation, &mut cluster));
    }
    Input { cluster: Some(cluster), variables, problems, ..Input::default() }
}

/// The operation that is about to run says more than its cluster.
pub(super) fn by_reference(
    (operation, inputs): (Option<&Operation>, &Inputs),
    name: (&str, &Position),
    from_line: Extra,
    is_known: bool,
    vault: &dyn Vault,
) -> Input {
    let own = operation.map(|operation| &operation.inputs);
    let mut hosts = own.and_then(|own| own.hosts.as_ref()).or(inputs.hosts.as_ref()).cloned();
    let mut vars = own.and_then(|own| own.vars.as_ref()).or(inputs.vars.as_ref()).cloned();
    open_sources(hosts.iter_mut().chain(&mut vars), vault);
    let key = own.and_then(|own| own.ssh_key.as_ref()).or(inputs.ssh_key.as_ref());
    let Some(hosts) = hosts else {
        return if is_known {
            Input::default()
        } else {
            let problem = Problem::new(format!("the cluster {} has no hosts", quote(name.0))).at(name.1);
            let because = "neither its own object nor a file beside it has an inventory";
            Input::wrong(vec![problem.because(because).hint("name a ConfigMap with an inventory as `hostsConfRef`, and give its file too")])
        };
    };
    let mut problems = Vec::new();
    let mut extra: Vec<Vars> = Vec::new();
    let mut incomplete = from_line.incomplete || own.is_some_and(|own| own.incomplete);
    if let Some((vars, found)) = vars.as_ref().map(Vars::read_partly) {
        incomplete |= vars.is_empty() && !found.is_empty();
        extra.push(vars);
        problems.extend(found);
    }
    if let Some(operation) = operation {
        extra.extend(extra::of_operation(operation, &mut problems));
    }
    extra.extend(from_line.vars);
    let mut input = described((&hosts, &[]), name, Extra { vars: extra, incomplete }, Defaults { key, operation }, vault);
    input.problems.extend(problems);
    input
}

/// Variables that win over those of an inventory.
pub(super) struct Extra {
    pub(super) vars: Vec<Vars>,
    /// Whether some of them could not be read.
    pub(super) incomplete: bool,
}

/// A cluster that an inventory describes.
pub(super) fn described(
    (inventory, beside): (&Source, &[Source]),
    name: (&str, &Position),
    extra: Extra,
    otherwise: Defaults<'_>,
    vault: &dyn Vault,
) -> Input {
    let start = inventory.position(1, 1);
    of_inventory(Inventory::read_partly(inventory, beside), (name, &start), extra, otherwise, (vault, None))
}

/// A cluster of machines that are listed elsewhere.
pub(super) fn of_machines((machines, beside): (&Machines, &[Source]), name: (&str, &Position), extra: Extra, vault: &dyn Vault) -> Input {
    let start = machines.start.clone();
    of_inventory(machines.inventory(beside), (name, &start), extra, Defaults::default(), (vault, Some(machines)))
}

fn of_inventory(
    (inventory, mut of_inventory): (Option<Inventory>, Vec<Problem>),
    (name, start): ((&str, &Position), &Position),
    mut extra: Extra,
    otherwise: Defaults<'_>,
    (vault, machines): (&dyn Vault, Option<&Machines>),
) -> Input {
    let Some(mut inventory) = inventory else { return Input::wrong(of_inventory) };
    unseal(inventory.vars_mut().chain(&mut extra.vars), vault, &mut of_inventory);
    inventory.unread.vars |= extra.incomplete;
    let unread = inventory.unread;
    let (resolved, mut variables) = otherwise.resolve(inventory, extra.vars);
    let Translation { mut tree, given, notices, mut problems, sealed } = translate(&resolved, start, name);
    variables.extend(given);
    // A tree without hosts would only be missed twice.
    let has_hosts = tree.entry("spec").is_some();
    problems.extend(machines.filter(|_| has_hosts).map(|machines| machines.complete(&mut tree)).into_iter().flatten());
    let reading = if has_hosts { read_tree(&tree, Wording::Inventory) } else { Default::default() };
    // Of a host that says too little, the reader would say so once more.
    let known: Vec<Position> = problems.iter().filter_map(|problem| problem.position.clone()).filter(|known| known != start).collect();
    // What an inventory lacks is missed by whoever translates it.
    let is_said = !problems.is_empty() || !of_inventory.is_empty();
    let is_missed = |problem: &Problem| is_said && problem.kind == Kind::Absent && problem.variable().is_some();
    let is_known = |problem: &Problem| problem.position.as_ref().is_some_and(|at| known.contains(at));
    problems.extend(reading.problems.into_iter().filter(|problem| !is_known(problem) && !is_missed(problem)));
    variables.extend(reading.variables);
    variables.sort_by(|a, b| (&a.name, &a.position).cmp(&(&b.name, &b.position)));
    let cluster = reading.cluster.map(|cluster| with_key(cluster, otherwise.key));
    let problems = once::once(partly::joined(of_inventory, problems, unread));
    let mut input = Input { cluster, variables, notices, problems, inline: Some(tree), sealed, ..Input::default() };
    let mut secrets = resolved.tainted();
    sealed::add(&resolved, &mut secrets);
    if let Some(cluster) = &mut input.cluster {
        cluster.concealed = sealed::concealed(&secrets);
    }
    conceal::conceal(&mut input, &secrets);
    input.resolved = Some(resolved);
    input
}

/// A key that the host itself names wins, as with Ansible.
fn with_key(mut cluster: Cluster, key: Option<&SshKey>) -> Cluster {
    let Some(key) = key else { return cluster };
    // Hosts that are to leave are reached, too.
    for host in cluster.hosts.iter_mut().chain(&mut cluster.leaving).filter(|host| host.ssh.private_key_file.is_none()) {
        host.ssh.private_key = Some(key.key.clone());
        cluster.positions.insert_of_host(&host.name, "ssh.privateKey", key.position.clone());
    }
    cluster
}
