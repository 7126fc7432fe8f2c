//! Which packages have to be there for others.

use std::collections::{BTreeMap, BTreeSet};

use super::list::PackageNeed;
use super::{ArchiveError, Deb};

/// The packages of these names, and all that they need and not every installation has in the version that they need: each in all versions that the lists have, for apt chooses
/// among them. No more than that is decided here: which of them a host lacks, and in which version, its apt knows.
///
/// # Errors
/// [`ArchiveError::NoPackage`] for a name that no list has.
pub fn closure<'a>(debs: &'a [Deb], wanted: &'a [String]) -> Result<Vec<&'a Deb>, ArchiveError> {
    let index = Index::from_debs(debs);
    if let Some(name) = wanted.iter().find(|name| index.of_name(name).is_empty()) {
        return Err(ArchiveError::NoPackage { name: name.clone() });
    }
    let names = wanted.iter().map(String::as_str).filter(|name| !index.is_everywhere(name));
    let mut names: Vec<&str> = names.collect();
    let (mut known, mut taken) = (BTreeSet::new(), Vec::new());
    while let Some(name) = names.pop() {
        if !known.insert(name) {
            continue;
        }
        for deb in index.of_name(name) {
            taken.push(*deb);
            names.extend(deb.needs().filter_map(|ways| index.choose(&ways, &known)));
        }
    }
    taken.sort_by(|a, b| (&a.name, &a.version, &a.path).cmp(&(&b.name, &b.version, &b.path)));
    taken.dedup_by(|a, b| a.path == b.path);
    Ok(taken)
}

struct Index<'a> {
    by_name: BTreeMap<&'a str, Vec<&'a Deb>>,
    /// Names of those that stand for another name.
    providers: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Index<'a> {
    fn from_debs(debs: &'a [Deb]) -> Self {
        let (mut by_name, mut providers): (BTreeMap<_, Vec<_>>, BTreeMap<_, BTreeSet<_>>) = (BTreeMap::new(), BTreeMap::new());
        for deb in debs {
            by_name.entry(deb.name.as_str()).or_default().push(deb);
            for name in deb.provides() {
                providers.entry(name).or_default().insert(deb.name.as_str());
            }
        }
        Self { by_name, providers }
    }

    fn of_name(&self, name: &str) -> &[&'a Deb] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    fn is_everywhere(&self, name: &str) -> bool {
        self.of_name(name).iter().any(|deb| deb.is_everywhere)
    }

    /// Names of packages by which a need for this one is met: itself, or who stands for it.
    fn ways(&self, name: &str) -> Vec<&'a str> {
        let itself = self.by_name.get_key_value(name).map(|(name, _)| *name);
        itself.into_iter().chain(self.providers.get(name).into_iter().flatten().copied()).collect()
    }

    /// The package to take for a need: none if one is there anyway, else the first. None as well if the lists have none: then it is of another
    /// archive, and whether it is there only the host knows.
    fn choose(&self, alternatives: &[PackageNeed<'_>], known: &BTreeSet<&str>) -> Option<&'a str> {
        let ways = || alternatives.iter().flat_map(|need| self.ways(need.name).into_iter().map(|name| (name, need.is_exact)));
        let is_there = ways().any(|(name, is_exact)| known.contains(name) || (!is_exact && self.is_everywhere(name)));
        if is_there { None } else { ways().next().map(|(name, _)| name) }
    }
}
