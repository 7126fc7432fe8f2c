//! What upstream did not have when it was asked: a run that has all else does not ask again for a while, so that it needs no network.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use kok_tasks::catalog::Item;

/// Lies in the bundle's folder: a line for each, which is its reference and its architecture.
const RECORD: &str = ".absent";

/// Upstream publishes what it lacked sooner or later.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// What may be absent, as the record calls it.
fn name(item: &Item) -> Option<String> {
    match item {
        Item::Image(image) if image.may_be_absent => Some(format!("{} {}", image.reference, image.architecture)),
        _ => None,
    }
}

/// Takes out what was absent a short time ago. Where anything else is to be fetched the network is needed anyway, and all is asked for.
pub(super) fn without_known(folder: &Path, missing: Vec<Item>) -> Vec<Item> {
    let record = folder.join(RECORD);
    let is_fresh = fs::metadata(&record).and_then(|about| about.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age < KEPT));
    let known: BTreeSet<String> =
        if is_fresh { fs::read_to_string(&record).unwrap_or_default().lines().map(str::to_owned).collect() } else { BTreeSet::new() };
    let is_known = |item: &Item| name(item).is_some_and(|name| known.contains(&name));
    if missing.iter().all(is_known) { Vec::new() } else { missing }
}

/// Remembers what turned out to be absent of all that was asked for. That it can't be written costs a question, no more.
pub(super) fn remember(folder: &Path, asked: &[String], wanted: &BTreeSet<String>) {
    let absent: Vec<&str> = asked.iter().filter(|name| !wanted.contains(*name)).map(String::as_str).collect();
    if !absent.is_empty() {
        let _ = fs::write(folder.join(RECORD), absent.join("\n") + "\n");
    }
}

/// Names of those that may be absent.
pub(super) fn names(items: &[Item]) -> Vec<String> {
    items.iter().filter_map(name).collect()
}
