//! `kokctl validate`

use clap::Args;

use super::common::ClusterFile;
use crate::ui::{Failure, line};

/// Check the cluster's file without touching a host
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFile,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read()?;
    let (control_planes, workers) = (cluster.control_planes().count(), cluster.workers().count());
    line(&format!(
        "{}: cluster {} with Kubernetes {}, {control_planes} control plane and {workers} workers: valid",
        arguments.cluster.path().display(),
        cluster.name,
        cluster.kubernetes_version
    ));
    Ok(())
}
