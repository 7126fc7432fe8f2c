//! `kokctl bundle list`

use std::path::PathBuf;

use clap::Args;
use kok_tasks::bundle::{Bundle, BundlePackage};

use crate::artifacts::BundleFolder;
use crate::cli::common::print_json;
use crate::failure::Failure;
use crate::ui::line;

/// Show what a bundle holds
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the bundle
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Print its index as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let folder = BundleFolder::open(&arguments.folder).map_err(|failure| vec![failure])?;
    if arguments.json {
        return print_json(folder.bundle());
    }
    rows(folder.bundle()).iter().for_each(|row| line(row));
    Ok(())
}

/// One row for each release, file and image, one for the packages of a distribution with a row for each of them, and a last one with the sum.
fn rows(bundle: &Bundle) -> Vec<String> {
    let release = |release: &kok_tasks::bundle::KubernetesRelease| format!("{:<12} {}", "Kubernetes", release.version);
    let row = |what: &str, name: &str, architecture: &str, size: u64| {
        format!("{what:<12} {name:<64} {architecture:<6} {:>8.1} MB", megabytes(size))
    };
    let files = bundle.files.iter().map(|file| row("file", &format!("{} {}", file.name, file.version), &file.architecture, file.size));
    let images = bundle.images.iter().map(|image| row("image", &image.reference, &image.architecture, image.size));
    let packages = bundle.packages.iter().flat_map(|held| {
        let of_one = |package: &BundlePackage| format!("{:<12}   {} {}", "", package.name, package.version);
        let all = row("packages", &held.distribution, &held.architecture, held.size);
        std::iter::once(all).chain(held.packages.iter().map(of_one).collect::<Vec<_>>())
    });
    let all: u64 = bundle.artifacts().map(|artifact| artifact.size).sum();
    let sum = format!("{:.1} MB", megabytes(all));
    bundle.kubernetes.iter().map(release).chain(files).chain(images).chain(packages).chain([sum]).collect()
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
