//! `kokctl bundle add`

use std::path::PathBuf;

use clap::Args;
use semver::Version;

use super::create::{Unless, WantedBundle, make};
use crate::artifacts::BundleFolder;
use crate::failure::{Failure, Kind};

/// Add releases, architectures or packages of distributions to a bundle that is there
///
/// What it holds already is not fetched again. Without --kubernetes and --for its own releases are meant, and without --architecture its own
/// architectures.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the bundle
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    wanted: WantedBundle,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Arguments { folder, wanted } = arguments;
    if wanted.kubernetes.is_empty() && wanted.architecture.is_empty() && wanted.cluster.is_none() && wanted.packages.is_empty() {
        let failure = Failure::new(Kind::Input, "nothing is to be added").at("bundle add");
        return Err(vec![failure.hint("say what: --kubernetes, --architecture, --for or --packages")]);
    }
    // A folder that is misspelled is not to become a bundle.
    let held = BundleFolder::open(folder).map_err(|failure| vec![failure])?;
    let bundle = held.bundle();
    let unless = Unless {
        kubernetes: bundle.kubernetes.iter().filter_map(|release| Version::parse(&release.version).ok()).collect(),
        architectures: bundle.files.iter().map(|file| file.architecture.clone()).collect(),
    };
    make(wanted, unless, folder).await
}
