//! The hosts that are meant, by the command line.

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::{Input, Position};

use super::wanted::problems;
use crate::failure::Failure;

/// Which hosts are meant.
#[derive(Debug, Default, Args)]
pub(super) struct LimitArgument {
    /// Only these hosts: names and groups with `*` and `?`, with commas between them; `!` before one leaves its hosts out, `&` keeps
    /// those that are in it too
    #[arg(long, short, value_name = "HOST", value_delimiter = ',')]
    limit: Vec<String>,
}

impl LimitArgument {
    /// Whether it is given.
    pub(super) fn is_given(&self) -> bool {
        !self.limit.is_empty()
    }

    /// As it was written.
    pub(super) fn written(&self) -> String {
        self.limit.join(",")
    }

    /// The hosts that it names, or all of the cluster if it is not given.
    pub(super) fn hosts_or_all(&self, input: &Input, cluster: &Cluster) -> Result<Vec<String>, Vec<Failure>> {
        let all = || cluster.hosts.iter().map(|host| host.name.clone()).collect();
        if self.is_given() { self.hosts(input) } else { Ok(all()) }
    }

    /// The hosts that it names; none if it is not given.
    pub(super) fn hosts(&self, input: &Input) -> Result<Vec<String>, Vec<Failure>> {
        if !self.is_given() {
            return Ok(Vec::new());
        }
        // The command line is no file with lines.
        let nowhere = Position { file: "--limit".into(), line: 1, column: 1 };
        input.hosts(&self.written(), &nowhere).map_err(|found| problems(found).into_iter().map(|failure| failure.at("--limit")).collect())
    }
}
