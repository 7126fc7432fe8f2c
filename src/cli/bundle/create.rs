//! `kokctl bundle create`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use kok_tasks::catalog::{Catalog, Item, Needs, Request};
use semver::Version;

use super::{release, signing_key};
use crate::artifacts::BundleFolder;
use crate::artifacts::archive::{EXTENSION, export};
use crate::artifacts::fetch::{FetchRequest, part_of};
use crate::artifacts::signature::sign_folder;
use crate::cli::fetching::{FetchArguments, cache, fetch_shown, items};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::failure::{Failure, Kind};
use crate::ui::{line, status_line};

/// What is fetched.
#[derive(Debug, Args)]
pub(super) struct WantedBundle {
    /// Releases of Kubernetes, with commas between them; without it that of the cluster's file, else the newest that the catalog knows, or those
    /// that the bundle has to which something is added
    #[arg(long, value_name = "VERSION", value_delimiter = ',', value_parser = release)]
    pub(super) kubernetes: Vec<Version>,
    /// Architectures of the hosts, with commas between them; without it amd64, or those that the bundle has
    #[arg(long, value_name = "ARCHITECTURE", value_delimiter = ',', value_parser = PossibleValuesParser::new(["amd64", "arm64"]))]
    pub(super) architecture: Vec<String>,
    /// A cluster's file: only what that cluster needs is fetched
    #[arg(long = "for", value_name = "FILE")]
    pub(super) cluster: Option<PathBuf>,
    /// Packages of distributions, for hosts without a source of packages: debian-12, or several with commas between them
    #[arg(long, value_name = "DISTRIBUTION", value_delimiter = ',')]
    pub(super) packages: Vec<String>,
    /// Sign the bundle's index with this SSH key, so that `apply --bundle-signers` knows who has made it
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    #[command(flatten)]
    fetch: FetchArguments,
}

/// Fetch upstream's files and images into a bundle
///
/// What the folder holds already is not fetched again, so that a run that was cut goes on, and other releases can be added. Each file is verified
/// before it has its name: by the digest that the catalog pins, or by the one that upstream publishes beside it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    wanted: WantedBundle,
    /// The folder of the bundle; or, with a name that ends in .tar.zst, one file to be carried elsewhere
    #[arg(long, short, value_name = "FOLDER|FILE")]
    output: PathBuf,
}

/// What counts where nobody says which releases and architectures.
pub(super) struct Unless {
    pub(super) kubernetes: Vec<Version>,
    pub(super) architectures: BTreeSet<String>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let unless = Unless { kubernetes: Vec::new(), architectures: ["amd64".to_owned()].into() };
    make(&arguments.wanted, unless, &arguments.output).await
}

/// Fetches what is wanted into a folder or a file.
pub(super) async fn make(wanted: &WantedBundle, unless: Unless, output: &Path) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    // A key that can't be used is said before anything is fetched.
    let key = wanted.sign.as_ref().map(|path| signing_key(path)).transpose().map_err(one)?;
    let catalog = wanted.fetch.catalog().map_err(one)?;
    let files = wanted.cluster.as_ref().map(|path| ClusterFiles::of_path(path.clone()));
    let cluster = files.map(|files| files.read(&ExtraVars::default())).transpose()?;
    let kubernetes = match (&cluster, wanted.kubernetes.as_slice()) {
        (Some(cluster), []) => vec![cluster.kubernetes_version.clone()],
        (None, []) if unless.kubernetes.is_empty() => vec![newest(&catalog).map_err(one)?],
        (None, []) => unless.kubernetes,
        (_, asked) => asked.to_vec(),
    };
    let asked: BTreeSet<String> = wanted.architecture.iter().cloned().collect();
    let architectures = if asked.is_empty() { unless.architectures } else { asked };
    let packages = packages(&catalog, &wanted.packages, &architectures).map_err(one)?;
    let request = Request { kubernetes: kubernetes.clone(), architectures, needs: cluster.as_ref().map(Needs::of_cluster) };
    let connection = wanted.fetch.connection(cluster.as_ref()).map_err(one)?;
    let is_file = output.to_string_lossy().ends_with(EXTENSION);
    let folder = if is_file { cache().map_err(one)? } else { output.to_owned() };
    let request = FetchRequest {
        items: items(&catalog, &request).map_err(one)?.into_iter().chain(packages).collect(),
        releases: kubernetes.iter().map(ToString::to_string).collect(),
        folder: &folder,
        connection: &connection,
        licences: catalog.licences(),
    };
    let fetched = fetch_shown(&request).await?;
    match fetched.items {
        0 => status_line("the bundle holds all of it already"),
        some => status_line(&format!("{some} files and images fetched and verified, {} MB", fetched.bytes / 1_000_000)),
    }
    if is_file {
        let part = part_of(&fetched.bundle, &request.items, &request.releases);
        let folder = BundleFolder::open(&folder).map_err(one)?.with_index(part);
        tokio::task::block_in_place(|| export(&folder, None, key.as_ref(), output)).map_err(one)?;
    } else if let Some(key) = &key {
        sign_folder(&folder, key).map_err(one)?;
    }
    line(&output.display().to_string());
    Ok(())
}

fn packages(catalog: &Catalog, distributions: &[String], architectures: &BTreeSet<String>) -> Result<Vec<Item>, Failure> {
    catalog.packages(distributions, architectures).map_err(|error| {
        Failure::new(Kind::Input, "the catalog does not have what is asked for")
            .at("--packages")
            .because(error.to_string())
            .hint("ask for one that it has; of another one the hosts need a source of packages, or have to have what docs/bundle.md names")
    })
}

fn newest(catalog: &Catalog) -> Result<Version, Failure> {
    catalog.newest().and_then(|text| Version::parse(text).ok()).ok_or_else(|| {
        Failure::new(Kind::Input, "the catalog has no release of Kubernetes").hint("say which with --kubernetes, or give another catalog")
    })
}
