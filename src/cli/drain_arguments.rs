//! How pods leave nodes, on the command line.

use std::time::Duration;

use clap::Args;
use kok_tasks::drain::DrainSettings;

/// How pods leave.
#[derive(Debug, Args)]
pub(super) struct DrainOptions {
    /// How many seconds a pod has to end; by default what it asks for itself
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u32>,
    /// After so many seconds a drain is given up, and the node takes pods again
    #[arg(long, value_name = "SECONDS", default_value_t = DrainSettings::TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Delete pods that a PodDisruptionBudget protects, and don't wait for it
    #[arg(long)]
    force_budget: bool,
    /// Let pods go that no controller makes again
    #[arg(long)]
    delete_unmanaged: bool,
}

/// What of pods may be lost, where their host stays.
#[derive(Debug, Args)]
pub(super) struct EmptyDirOption {
    /// Let pods go whose emptyDir is lost with them
    #[arg(long)]
    pub(super) delete_emptydir: bool,
}

impl DrainOptions {
    pub(super) fn settings(&self, delete_empty_dir: bool) -> DrainSettings {
        DrainSettings {
            grace_seconds: self.grace,
            timeout: Duration::from_secs(self.timeout),
            force_budget: self.force_budget,
            delete_empty_dir,
            delete_unmanaged: self.delete_unmanaged,
        }
    }
}
