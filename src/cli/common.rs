//! What several verbs share: reading the cluster's file, finding the bundle, the arguments for both.

use std::env;
use std::path::{Path, PathBuf};

use clap::Args;
use kok_crds::model::Cluster;
use semver::Version;

use super::fetching::{FetchArguments, bundle_of, bundle_of_way, cached_bundle_of, text};
use super::process;
use crate::artifacts::signature::{Signers, signer_of};
use crate::artifacts::{BUNDLE_VARIABLE, BundleFolder};
use crate::engine::{self, Context};
use crate::failure::{Failure, Kind};
use crate::remote::Transport;
use crate::ui::{line, status_line};

/// Where the artifacts come from.
#[derive(Debug, Args)]
pub(super) struct BundleArgument {
    /// The folder of the bundle to install from; by default what KOKCTL_BUNDLE names. Without either, what the cluster needs is fetched from
    /// upstream into the user's cache
    #[arg(long, value_name = "FOLDER")]
    bundle: Option<PathBuf>,
    /// Take the bundle only if one of these has signed it: an allowed-signers file, as ssh-keygen(1) has it. `bundle create --sign` signs
    #[arg(long, value_name = "FILE")]
    bundle_signers: Option<PathBuf>,
    #[command(flatten)]
    fetch: FetchArguments,
}

impl BundleArgument {
    /// The bundle if one is named, or what is in the cache for the cluster. Nothing is fetched.
    pub(super) fn open_if_there(&self, cluster: Option<&Cluster>) -> Result<Option<BundleFolder>, Vec<Failure>> {
        match self.path() {
            Some(path) => self.open(&path).map(Some).map_err(|failure| vec![failure]),
            None if self.bundle_signers.is_some() => Err(vec![signers_alone()]),
            None => Ok(cluster.and_then(|cluster| cached_bundle_of(cluster, &self.fetch))),
        }
    }

    fn open(&self, path: &Path) -> Result<BundleFolder, Failure> {
        open_signed(path, self.bundle_signers.as_deref())
    }

    fn path(&self) -> Option<PathBuf> {
        self.bundle.clone().or_else(|| env::var_os(BUNDLE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from))
    }

    /// Takes the mirrors of the command line over into the cluster, for hosts that fetch for themselves.
    pub(super) fn tell_hosts(&self, cluster: &mut Cluster) {
        self.fetch.tell_hosts(cluster);
    }

    /// The bundle that is named, or what the way of the cluster to a version needs, or to the newest that runs, fetched as far as it is not there.
    pub(super) async fn open_or_fetch_way(
        &self,
        meant: engine::Meant<'_>,
        to: Option<&Version>,
        looker: &Context,
    ) -> Result<BundleFolder, Vec<Failure>> {
        let cluster = meant.cluster;
        if self.path().is_some() || self.bundle_signers.is_some() {
            return self.open_or_fetch(cluster, &looker.transport).await;
        }
        let running = engine::running(looker, meant).await?;
        let to = to.or_else(|| running.planes.values().max()).unwrap_or(&cluster.kubernetes_version);
        bundle_of_way(cluster, (&running, to), &self.fetch, &looker.transport).await
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
            Some(path) => self.open(&path).map_err(|failure| vec![failure]),
            None if self.bundle_signers.is_some() => Err(vec![signers_alone()]),
            None => bundle_of(cluster, &self.fetch, transport).await,
        }
    }
}

/// The bundle, if nobody asks who has signed it, or one of the signers has.
pub(super) fn open_signed(path: &Path, signers: Option<&Path>) -> Result<BundleFolder, Failure> {
    let bundle = BundleFolder::open(path)?.with_sums(process::sums());
    if let Some(file) = signers {
        let signers = Signers::parse(&file.display().to_string(), &text(file)?)?;
        let signer = signer_of(&bundle, &signers)?;
        status_line(&format!("the bundle is signed by {signer}"));
    }
    Ok(bundle)
}

/// What is fetched is verified by what upstream publishes, and nobody has signed it.
fn signers_alone() -> Failure {
    let failure = Failure::new(Kind::Input, "--bundle-signers needs a bundle").because("what is fetched is signed by nobody");
    failure.hint("give the bundle that they have signed with --bundle")
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
    pub(super) fn count_of(self, hosts: usize) -> usize {
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
        let of = |text: &str, hosts| text.parse::<MaxFail>().map(|most| most.count_of(hosts)).ok();
        assert_eq!([of("2", 50), of("10%", 50), of("10%", 9), of("100%", 3), of("0", 3)], [Some(2), Some(5), Some(0), Some(3), Some(0)]);
        for wrong in ["", "%", "-1", "101%", "two", "1.5"] {
            assert_eq!(of(wrong, 10), None, "{wrong}");
        }
    }
}
