//! `kokctl versions`

use clap::Args;
use kok_tasks::catalog::{Catalog, Expected, Item, Request};
use semver::Version;

use super::common::print_json;
use super::fetching::FetchArguments;
use crate::failure::Failure;
use crate::ui::line;

/// Show which versions can be fetched, what goes with what, and how each file is verified
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    fetch: FetchArguments,
    /// Print the catalog as JSON, which --catalog takes too
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let catalog = arguments.fetch.catalog().map_err(|failure| vec![failure])?;
    if arguments.json {
        return print_json(&catalog);
    }
    rows(&catalog).iter().for_each(|row| line(row));
    Ok(())
}

fn rows(catalog: &Catalog) -> Vec<String> {
    let mut rows = Vec::new();
    for (number, minor) in catalog.kubernetes.iter().enumerate() {
        rows.push(format!("Kubernetes {}, until {}", minor.minor, minor.end_of_life));
        rows.push(format!("  releases    {}", minor.releases.join(", ")));
        // Kubernetes goes up one minor at a time ("Version Skew Policy").
        if let Some(newer) = number.checked_sub(1).and_then(|newer| catalog.kubernetes.get(newer)) {
            rows.push(format!("  next minor  {}", newer.minor));
        }
        let components: Vec<String> = minor.components.iter().map(|(name, version)| format!("{name} {version}")).collect();
        rows.extend(
            components
                .chunks(4)
                .enumerate()
                .map(|(row, names)| format!("  {:<11} {}", if row == 0 { "components" } else { "" }, names.join(", "))),
        );
        rows.extend(pinned(catalog, minor.releases.first().map_or("", String::as_str)));
    }
    for pair in &catalog.known_bad {
        let component: Vec<String> = pair.component.iter().map(|(name, version)| format!("{name} {version}")).collect();
        rows.push(format!("not together: {} and {}: {} ({})", component.join(", "), pair.with, pair.because, pair.source));
    }
    rows
}

/// How the files of a release are verified.
fn pinned(catalog: &Catalog, release: &str) -> Option<String> {
    let request = Request { kubernetes: vec![Version::parse(release).ok()?], architectures: ["amd64".to_owned()].into(), needs: None };
    let items = catalog.items(&request).ok()?;
    let names_of = |wanted: bool| -> Vec<&str> {
        let files = items.iter().filter_map(|item| if let Item::File(file) = item { Some(file) } else { None });
        files.filter(|file| matches!(file.expected, Expected::Pinned(_)) == wanted).map(|file| file.name.as_str()).collect()
    };
    let listed = |what: &str, names: Vec<&str>| if names.is_empty() { String::new() } else { format!("{what} {}", names.join(", ")) };
    let both: Vec<String> =
        [listed("pinned:", names_of(true)), listed("published:", names_of(false))].into_iter().filter(|text| !text.is_empty()).collect();
    Some(format!("  {release:<11} {}", both.join("; ")))
}
