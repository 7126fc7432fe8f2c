//! What an operation says of a backup that is to be restored.

use super::Input;
use super::asked::{Asked, is_yes, not_by_named, only};
use super::pending::named;
use crate::Problem;
use crate::operation::{Operation, Placed, Verb};

/// What an operation with the action `restore` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedRestore {
    /// The backup: the path of a file, its address in a bucket, or its name where backups of the cluster lie.
    pub backup: Placed,
    /// By what it is opened: the path of a file on the command line, a key of `spec.operator.secretFilesRef` in the operator.
    pub identity: Option<Placed>,
    /// Whether the hosts of the file are new ones, on which the cluster is founded first.
    pub new_hosts: bool,
}

impl Input {
    /// The backup is named by `-e backup=…`, what opens it by `-e identity=…`, and hosts that are given up by `-e node=…`.
    pub(super) fn of_restore(&self, operations: &[&Operation]) -> Result<Asked, Vec<Problem>> {
        let operation = only(Verb::Restore, operations)?;
        let arguments = &operation.main.arguments;
        if let Some(problem) = not_by_named(operation, Verb::Restore).or_else(|| limited(operation)) {
            return Err(vec![problem]);
        }
        let text = |name: &str| {
            let variable = arguments.variable(name)?;
            let text = variable.text()?.trim().to_owned();
            (!text.is_empty()).then(|| Placed { text, position: variable.position.clone() })
        };
        let Some(backup) = text("backup") else { return Err(vec![without_backup(operation)]) };
        let node = arguments.node();
        let new_hosts = arguments.variable("new_hosts").is_some_and(is_yes);
        if let Some(node) = node.as_ref().filter(|_| new_hosts) {
            let problem = Problem::new("none of the hosts is given up where all of them are new").at(&node.position);
            return Err(vec![problem.hint("leave `-e node=…` out, and write the hosts that there are into the Cluster")]);
        }
        let hosts = node.as_ref().map(|node| self.hosts(&node.text, &node.position)).transpose()?.unwrap_or_default();
        let restore = Some(AskedRestore { backup, identity: text("identity"), new_hosts });
        Ok(Asked { hosts, restore, agreed_at: Some(operation.position.clone()), ..Asked::default() })
    }
}

fn without_backup(operation: &Operation) -> Problem {
    let problem = Problem::new(format!("{} names no backup", named(operation))).at(&operation.main.position);
    problem.hint("add `-e backup=NAME` to its `extraArgs`, with a name that `kokctl backup list` shows")
}

/// What etcd has is what all hosts have.
fn limited(operation: &Operation) -> Option<Problem> {
    let limit = operation.main.arguments.limit.as_ref()?;
    let problem = Problem::new(format!("{} names hosts", named(operation))).at(&limit.position);
    Some(problem.because("a backup is restored on all of them").hint("leave `--limit` out; `-e node=…` names hosts that are gone for good"))
}
