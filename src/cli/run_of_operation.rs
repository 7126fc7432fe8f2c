//! The run of an operation of the operator, in the place of one of this machine.

use std::path::PathBuf;

use clap::Args;

use super::watch::GroupName;
use crate::failure::Failure;
use crate::operator::{Watched, operation_run};
use crate::state::Story;

#[derive(Debug, Args)]
pub(super) struct OfOperation {
    /// Show a run of this operation of the operator, as the meta-cluster keeps it
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// The kubeconfig of the meta-cluster
    #[arg(long, value_name = "FILE", requires = "operation")]
    kubeconfig: Option<PathBuf>,
    /// Its context, in place of the current one
    #[arg(long, value_name = "NAME", requires = "operation")]
    context: Option<String>,
    /// The API group of the operation
    #[arg(long, value_name = "GROUP", default_value = "kubeonkube.clay.io", requires = "operation")]
    group: GroupName,
}

impl OfOperation {
    /// What is kept of the run, and the names of the operation's other runs; nothing where no operation is meant.
    ///
    /// # Errors
    /// [`Failure`] if there is none, or it can't be read.
    pub(super) async fn story(&self, run: Option<&str>) -> Result<Option<(Story, Vec<String>)>, Failure> {
        let Some(name) = &self.operation else { return Ok(None) };
        let (kubeconfig, context) = (self.kubeconfig.clone(), self.context.clone());
        let watched = Watched { kubeconfig, context, group: self.group.group(), name: Some(name.clone()) };
        let found = operation_run(&watched, run.filter(|run| *run != "latest")).await?;
        let others = found.runs.into_iter().filter(|other| *other != found.story.id).collect();
        Ok(Some((found.story, others)))
    }
}
