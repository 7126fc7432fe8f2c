//! Hosts that an operation names for a verb that is about single ones.

use super::Input;
use super::asked::{Asked, is_yes, not_by_named, only};
use super::pending::{named, pending, verb};
use crate::Problem;
use crate::operation::{Operation, Placed, Verb};

impl Input {
    /// Hosts are named by `-e node=…`, as Kubespray has it, or by `--limit`.
    pub(super) fn of_named_hosts(&self, verb: Verb, operations: &[&Operation]) -> Result<Asked, Vec<Problem>> {
        let operation = only(verb, operations)?;
        if let Some(problem) = not_by_named(operation, verb) {
            return Err(vec![problem]);
        }
        let Some(limit) = node_or_limit(operation) else {
            let problem = Problem::new(format!("{} names no host", named(operation))).at(&operation.main.position);
            let problem = problem.because(format!("`kokctl {}` is about single hosts, and never means all of them", verb.as_str()));
            return Err(vec![problem.hint("add `-e node=NAME` to its `extraArgs`")]);
        };
        let may_be_dead = operation.main.arguments.variable("allow_ungraceful_removal").is_some_and(is_yes);
        let with = with(operation).filter(|_| verb == Verb::Replace);
        let agreed_at = Some(operation.position.clone());
        if with.is_some() {
            // By now the file counts it no more.
            return Ok(Asked { hosts: names(&limit), limit: Some(limit), may_be_dead, with, agreed_at, ..Asked::default() });
        }
        let hosts = match self.hosts(&limit.text, &limit.position) {
            Ok(hosts) => hosts,
            // One that is dead may be in no file any more, and one whom the file was read without is no host of the cluster.
            Err(_) if may_be_dead || (verb == Verb::Remove && self.all_leave(&names(&limit))) => names(&limit),
            Err(problems) => return Err(problems),
        };
        Ok(Asked { limit: Some(limit), hosts, may_be_dead, agreed_at, ..Asked::default() })
    }

    fn all_leave(&self, names: &[String]) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| names.iter().all(|name| cluster.leaving.iter().any(|host| host.name == *name)))
    }

    /// The hosts whose place another one takes by the files' operation (`-e node=cp2 -e with=cp6` of the action `replace`), which the file is read without.
    #[must_use]
    pub fn replaced_by_another(&self) -> Vec<String> {
        let pending = pending(&self.operations);
        let replaces = |operation: &&&Operation| verb(operation) == Some(Verb::Replace) && with(operation).is_some();
        let node = pending.iter().find(replaces).and_then(|operation| operation.main.arguments.node());
        node.as_ref().map(names).unwrap_or_default()
    }

    /// The hosts that the files' operation takes out (`-e node=cp4` of the action `remove-node.yml`), where it names them one by one; none where it has a pattern, or a name
    /// that the file does not have.
    #[must_use]
    pub fn removed_by_operation(&self) -> Vec<String> {
        let pending = pending(&self.operations);
        let removes = |operation: &&&Operation| verb(operation) == Some(Verb::Remove);
        let named = pending.iter().find(removes).and_then(|operation| node_or_limit(operation)).as_ref().map(names).unwrap_or_default();
        let cluster = self.cluster.as_ref().or(self.uneven.as_ref());
        let is_host =
            |name: &String| cluster.is_some_and(|cluster| cluster.hosts.iter().chain(&cluster.leaving).any(|host| host.name == *name));
        if named.iter().all(is_host) { named } else { Vec::new() }
    }
}

fn node_or_limit(operation: &Operation) -> Option<Placed> {
    operation.main.arguments.node().or_else(|| operation.main.arguments.limit.clone())
}

fn names(limit: &Placed) -> Vec<String> {
    limit.text.split(',').map(|name| name.trim().to_owned()).collect()
}

fn with(operation: &Operation) -> Option<String> {
    Some(operation.main.arguments.variable("with")?.text()?.trim().to_owned()).filter(|name| !name.is_empty())
}
