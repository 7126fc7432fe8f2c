//! What a `ClusterOperation` asks for: actions by the names of playbooks, with the arguments of `ansible-playbook`.

mod actions;
mod arguments;
mod chain;
mod extra_vars;
mod inputs;
mod key_values;
mod options;
mod tags;
mod verbs;

use crate::{Notice, Position};

pub(crate) use actions::{find, problem as action_problem};
pub(crate) use arguments::read as read_arguments;
pub(crate) use chain::check as check_chain;
pub(crate) use extra_vars::read_extra_vars;

pub use actions::{ACTIONS, Action, Effect};
pub use arguments::Arguments;
pub use extra_vars::{ExtraVar, ExtraVars};
pub use inputs::{Inputs, SshKey};
pub use tags::{OperationTag, TAGS, TaskChoice};
pub use verbs::{About, Verb};

/// Text with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The text.
    pub text: String,
    /// Where it begins.
    pub position: Position,
}

/// A `ClusterOperation`: what is done to which cluster, in which order. Whoever asks for one has agreed to it, so that nothing of it asks
/// again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its name; `None` where the API server makes one.
    pub name: Option<String>,
    /// Where the name stands, or else the metadata.
    pub position: Position,
    /// Name of the cluster.
    pub cluster: Placed,
    /// What is done before, in this order; the first that fails ends the operation.
    pub pre_hooks: Vec<Invocation>,
    /// What the operation is about.
    pub main: Invocation,
    /// What is done afterwards, in this order.
    pub post_hooks: Vec<Invocation>,
    /// After how many seconds the operation is given up.
    pub active_deadline_seconds: Option<u64>,
    /// What it takes instead of its cluster's, as far as it says so and the files hold it.
    pub inputs: Inputs,
    /// Whether its status says that it is over, so that it is not to be done again.
    pub ended: bool,
}

impl Operation {
    /// Everything that is done, in its order.
    pub fn invocations(&self) -> impl Iterator<Item = &Invocation> {
        self.pre_hooks.iter().chain([&self.main]).chain(&self.post_hooks)
    }

    /// Variables that actions set for the whole operation, with their values, unless somebody sets them otherwise.
    pub fn implied_variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.invocations().filter_map(Invocation::implied_variable)
    }
}

/// One action with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// What is done.
    pub action: &'static Action,
    /// The arguments.
    pub arguments: Arguments,
    /// Where the action stands.
    pub position: Position,
}

impl Invocation {
    /// A variable that the action sets, with its value.
    #[must_use]
    pub fn implied_variable(&self) -> Option<(&'static str, &'static str)> {
        match self.action.effect {
            Effect::Covered { sets, .. } => sets,
            _ => None,
        }
    }
}

/// A notice about arguments that do nothing.
fn unused(what: &str, because: &str, position: &Position) -> Notice {
    Notice::new(format!("{what} is not used")).at(position).because(because)
}
