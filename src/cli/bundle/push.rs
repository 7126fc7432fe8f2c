//! `kokctl bundle push`

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use kok_crds::count;
use kok_tasks::bundle::Bundle;
use kok_tasks::pushed::{PushError, PushedTag, Registry, mirrors, places};
use semver::Version;

use super::release;
use crate::artifacts::push::PushRequest;
use crate::cli::common::open_signed;
use crate::cli::fetching::{cache, connection, push_shown};
use crate::failure::{Failure, Kind};
use crate::ui::{line, status_line};

/// Push the images of a bundle into a registry, with their digests kept
///
/// An image keeps its name without upstream's host, below the folder that is given: with registry.example/k8s, registry.k8s.io/pause:3.10 is
/// registry.example/k8s/pause:3.10 there, as --mirror and Kubespray's kube_image_repo expect it. What the registry has is not sent again. A tag names one
/// image for each architecture, and is moved when they are all there. Prints what the registry can stand in for then, as --mirror takes it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The registry, with a folder if need be: registry.example:5000/k8s; with http:// before it without TLS
    #[arg(value_name = "REGISTRY")]
    registry: Registry,
    /// The folder of the bundle; without it the user's cache, into which `apply` fetches
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Releases of Kubernetes, with commas between them: images that only others need stay away
    #[arg(long, value_name = "VERSION", value_delimiter = ',', value_parser = release)]
    kubernetes: Vec<Version>,
    /// Architectures, with commas between them; without it all that the bundle has
    #[arg(long, value_name = "ARCHITECTURE", value_delimiter = ',', value_parser = PossibleValuesParser::new(["amd64", "arm64"]))]
    architecture: Vec<String>,
    /// Keep upstream's host as a folder: registry.example/k8s/registry.k8s.io/pause:3.10
    #[arg(long)]
    keep_host: bool,
    /// Certificates of CAs in PEM that are trusted besides the system's; may be given several times
    #[arg(long = "ca", value_name = "FILE")]
    authorities: Vec<PathBuf>,
    /// Push only what one of these has signed: an allowed-signers file, as ssh-keygen(1) has it
    #[arg(long, value_name = "FILE")]
    bundle_signers: Option<PathBuf>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let path = arguments.folder.clone().map_or_else(cache, Ok).map_err(one)?;
    let folder = open_signed(&path, arguments.bundle_signers.as_deref()).map_err(one)?;
    let wrong = |failure: Failure| vec![failure.at(path.display().to_string())];
    let places = part(arguments, folder.bundle()).and_then(|part| named(arguments, &part)).map_err(wrong)?;
    let connection = connection(&arguments.authorities).map_err(one)?;
    let stands_in = mirrors(&places, &arguments.registry, arguments.keep_host);
    let (registry, all) = (&arguments.registry, places.len());
    let pushed = push_shown(PushRequest { folder: &folder, places, registry, connection: &connection }).await?;
    match pushed.tags {
        0 => status_line("the registry has all of it already"),
        some => status_line(&format!("{some} of {} pushed, {} MB sent", count(all, "image"), pushed.bytes / 1_000_000)),
    }
    stands_in.iter().for_each(|mirror| line(&format!("--mirror {mirror}")));
    Ok(())
}

/// What of the bundle is asked for.
fn part(arguments: &Arguments, bundle: &Bundle) -> Result<Bundle, Failure> {
    let wrong = |because: String| Failure::new(Kind::Input, "the bundle does not hold what is to be pushed").because(because);
    let releases: Vec<String> = arguments.kubernetes.iter().map(ToString::to_string).collect();
    let kept = if releases.is_empty() { Ok(bundle.clone()) } else { bundle.keeping(&releases) };
    let mut part = kept.map_err(|error| wrong(error.to_string()))?;
    for architecture in &arguments.architecture {
        if !part.images.iter().any(|image| image.architecture == *architecture) {
            return Err(wrong(format!("it has no image for {architecture}")).hint("`kokctl bundle list` shows what it has"));
        }
    }
    part.images.retain(|image| arguments.architecture.is_empty() || arguments.architecture.contains(&image.architecture));
    if part.images.is_empty() {
        return Err(wrong("it has no image".to_owned()).hint("`kokctl bundle list` shows what it has; give another one"));
    }
    Ok(part)
}

fn named(arguments: &Arguments, part: &Bundle) -> Result<Vec<PushedTag>, Failure> {
    places(part, &arguments.registry, arguments.keep_host).map_err(|error| {
        let hint = match error {
            PushError::Collision { .. } => "keep upstream's hosts apart with --keep-host",
            PushError::Name { .. } => "build or fetch the bundle again",
        };
        Failure::new(Kind::Input, "the images can't be named in the registry").because(error.to_string()).hint(hint)
    })
}
