//! What several verbs share: reading the cluster's file, finding the bundle, the arguments for both.

use std::env;
use std::path::PathBuf;

use clap::Args;
use kok_crds::model::Cluster;

use super::fetching::{FetchArguments, bundle_of, cached_bundle_of};
use crate::artifacts::{BUNDLE_VARIABLE, BundleFolder};
use crate::failure::{Failure, Kind};
use crate::remote::Transport;
use crate::ui::line;

/// Where the artifacts come from.
#[derive(Debug, Args)]
pub(super) struct BundleArgument {
    /// The folder of the bundle to install from; by default what KOKCTL_BUNDLE names. Without either, what the cluster needs is fetched from
    /// upstream into the user's cache
    #[arg(long, value_name = "FOLDER")]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    fetch: FetchArguments,
}

impl BundleArgument {
    /// The bundle if one is named, or what is in the cache for the cluster. Nothing is fetched.
    pub(super) fn open_if_there(&self, cluster: Option<&Cluster>) -> Result<Option<BundleFolder>, Vec<Failure>> {
        match self.path() {
            Some(path) => BundleFolder::open(&path).map(Some).map_err(|failure| vec![failure]),
            None => Ok(cluster.and_then(|cluster| cached_bundle_of(cluster, &self.fetch))),
        }
    }

    fn path(&self) -> Option<PathBuf> {
        self.bundle.clone().or_else(|| env::var_os(BUNDLE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from))
    }

    /// The bundle that is named, or what the cluster needs, fetched as far as it is not there.
    pub(super) async fn open_or_fetch(&self, cluster: &Cluster, transport: &Transport) -> Result<BundleFolder, Vec<Failure>> {
        match self.path() {
            Some(path) if path.is_file() => Err(vec![
                Failure::new(Kind::Input, "a bundle is a folder")
                    .at(path.display().to_string())
                    .because("it is a file, perhaps an archive of a bundle")
                    .hint("put it into a folder with `kokctl bundle import FILE --output FOLDER`, and give that folder"),
            ]),
            Some(path) => BundleFolder::open(&path).map_err(|failure| vec![failure]),
            None => bundle_of(cluster, &self.fetch, transport).await,
        }
    }
}

/// Prints what a program reads.
pub(super) fn print_json(document: &impl serde::Serialize) -> Result<(), Vec<Failure>> {
    let text = serde_json::to_string_pretty(document).map_err(|error| vec![Failure::new(Kind::Internal, error.to_string())])?;
    line(&text);
    Ok(())
}

/// How many hosts may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaxFail {
    /// So many.
    Count(usize),
    /// So many of a hundred.
    Percent(usize),
}

impl MaxFail {
    /// Of this many hosts; a percentage is rounded down.
    pub(super) fn of(self, hosts: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => hosts * percent / 100,
        }
    }
}

impl std::str::FromStr for MaxFail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse::<usize>().map_err(|_| "it is a number of hosts, such as 2, or a percentage, such as 10%".to_owned());
        match text.strip_suffix('%') {
            Some(percent) => match number(percent)? {
                percent if percent <= 100 => Ok(Self::Percent(percent)),
                _ => Err("a percentage is at the most 100%".to_owned()),
            },
            None => number(text).map(Self::Count),
        }
    }
}

/// What may go that others need.
#[derive(Debug, Args)]
pub(super) struct PruneArgument {
    /// Remove namespaces and definitions of resources too that have left the manifests of addons, with everything that they hold
    #[arg(long)]
    pub(super) prune: bool,
}

#[cfg(test)]
mod tests {
    use super::MaxFail;

    #[test]
    fn a_number_or_a_percentage_of_hosts_may_fail() {
        let of = |text: &str, hosts| text.parse::<MaxFail>().map(|most| most.of(hosts)).ok();
        assert_eq!([of("2", 50), of("10%", 50), of("10%", 9), of("100%", 3), of("0", 3)], [Some(2), Some(5), Some(0), Some(3), Some(0)]);
        for wrong in ["", "%", "-1", "101%", "two", "1.5"] {
            assert_eq!(of(wrong, 10), None, "{wrong}");
        }
    }
}
