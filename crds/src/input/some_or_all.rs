//! Which hosts an operation means that may name some, or none.

use super::Input;
use super::asked::{Asked, not_by_named, only};
use super::pending::named;
use crate::Problem;
use crate::operation::{Operation, Verb};

impl Input {
    /// Those of `--limit`, or of `-e node=…` where the verb takes that, and all without either.
    pub(super) fn of_some_hosts(&self, verb: Verb, operations: &[&Operation]) -> Result<Asked, Vec<Problem>> {
        let operation = only(verb, operations)?;
        if let Some(problem) = not_by_named(operation, verb) {
            return Err(vec![problem]);
        }
        let arguments = &operation.main.arguments;
        let node = if verb.takes("node") { arguments.node() } else { None };
        let limit = node.or_else(|| arguments.limit.clone());
        let hosts = limit.as_ref().map(|limit| self.hosts(&limit.text, &limit.position)).transpose()?.unwrap_or_default();
        Ok(Asked { limit, hosts, agreed_at: Some(operation.position.clone()), ..Asked::default() })
    }
}

/// A verb that is about all of a cluster, with the reason for that, and who takes part in it.
pub(super) fn of_whole_cluster(verb: Verb, operations: &[&Operation], (because, part): (&str, &str)) -> Result<Asked, Vec<Problem>> {
    let operation = only(verb, operations)?;
    let arguments = &operation.main.arguments;
    let named_hosts = arguments.node().or_else(|| arguments.limit.clone()).map(|limit| {
        let problem = Problem::new(format!("{} names hosts", named(operation))).at(&limit.position);
        problem.because(because).hint(format!("leave them out: {part}"))
    });
    match not_by_named(operation, verb).or(named_hosts) {
        Some(problem) => Err(vec![problem]),
        None => Ok(Asked { agreed_at: Some(operation.position.clone()), ..Asked::default() }),
    }
}
