//! The way from what runs to a version: minor by minor, with the etcd that each may have.
//!
//! Control planes go from one minor version to the next, to its newest patch of the bundle; kubelets only where the next step would leave them too far
//! behind, and at the end, so that nodes are drained as seldom as can be (Kubernetes, "Version Skew Policy"). etcd goes minor by minor too, and a member
//! that is too old a patch may not meet one of the next minor version (etcd, "Upgrading etcd").

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use kok_crds::listed;
use semver::Version;

use super::{MOST_BEHIND, Running};
use crate::bundle::{Bundle, KubernetesRelease};
use crate::list::etcd;
use crate::plan::Refusal;

/// A step on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hop {
    /// etcd alone gets another patch, from which the next minor version may be gone to.
    Etcd(Version),
    /// Control planes get another version, and what the cluster says of itself.
    Kubernetes {
        /// Which one.
        to: Version,
        /// The version of etcd; nothing if nobody says which one runs.
        etcd: Option<Version>,
        /// Whether kubelets follow.
        kubelets: bool,
        /// The minor version that control planes go on to work as, so that they can go back.
        emulates: Option<(u64, u64)>,
    },
}

/// Why there is no way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Kubernetes can't go back.
    Older {
        /// What runs.
        runs: Version,
        /// What is asked for.
        to: Version,
    },
    /// What runs may not run side by side.
    Skew(String),
    /// The bundle lacks releases, or patches of etcd.
    Lacks(Vec<String>),
    /// Nothing says what runs.
    Nothing,
    /// What is asked for is no way from here.
    Not {
        /// What can't be done.
        what: String,
        /// Why.
        because: String,
        /// What to do instead.
        hint: String,
    },
}

/// The least patch of etcd from which a minor version may be gone to.
static GATES: [((u64, u64), Version); 2] = [((3, 6), Version::new(3, 5, 26)), ((3, 7), Version::new(3, 6, 11))];

/// The least patch of the minor version before, from which members may go to that of `comes`; nothing if any will do.
pub(crate) fn etcd_gate(comes: &Version) -> Option<&'static Version> {
    GATES.iter().find(|(minor, _)| *minor == (comes.major, comes.minor)).map(|(_, least)| least)
}

/// The way from what runs to `to`; nothing if all of it runs already.
///
/// # Errors
/// [`Refused`] where there is none.
pub fn path(running: &Running, to: &Version, bundle: &Bundle) -> Result<Vec<Hop>, Refused> {
    let (oldest, newest) = running.planes().ok_or(Refused::Nothing)?;
    allowed(running, (oldest, newest), to)?;
    let releases = Releases::new(bundle);
    let targets = releases.targets(running, (oldest, newest), to)?;
    let mut way = Way { hops: Vec::new(), etcd: running.etcd.values().min().cloned(), kubelet: running.kubelets.values().min().cloned() };
    for (index, target) in targets.iter().enumerate() {
        way.kubelets_before(target, oldest);
        let is_last = index + 1 == targets.len();
        way.go(target, running, (&releases, is_last))?;
    }
    Ok(way.hops)
}

/// What must hold whatever the bundle has.
fn allowed(running: &Running, (oldest, newest): (&Version, &Version), to: &Version) -> Result<(), Refused> {
    if to < newest {
        return Err(Refused::Older { runs: newest.clone(), to: to.clone() });
    }
    if oldest.major != newest.major || newest.minor - oldest.minor > 1 {
        return Err(Refused::Skew(format!(
            "API servers of {oldest} and {newest} run side by side, and they may be one minor version apart"
        )));
    }
    match running.kubelets.iter().find(|(_, kubelet)| *kubelet > oldest) {
        Some((host, kubelet)) if kubelet.minor > oldest.minor => {
            Err(Refused::Skew(format!("the kubelet of {host} is {kubelet}, and an API server is {oldest}: none may be newer than that")))
        }
        _ => Ok(()),
    }
}

/// What the bundle has of Kubernetes and of etcd.
struct Releases<'a> {
    bundle: &'a Bundle,
    versions: BTreeSet<Version>,
    /// Of images and of archives, whichever there are.
    etcd: BTreeSet<Version>,
}

impl<'a> Releases<'a> {
    fn new(bundle: &'a Bundle) -> Self {
        let versions = bundle.kubernetes.iter().filter_map(|release| release.version.parse().ok()).collect();
        let images = bundle.images.iter().filter(|image| image.name == etcd::IMAGE).map(|image| etcd::version(&image.reference));
        Self { bundle, versions, etcd: images.filter_map(|version| version.parse().ok()).collect() }
    }

    /// The versions that control planes get, one after the other.
    fn targets(&self, running: &Running, (oldest, newest): (&Version, &Version), to: &Version) -> Result<Vec<Version>, Refused> {
        let first = if oldest.minor < to.minor { oldest.minor + 1 } else { to.minor };
        let newest_of = |minor: u64| self.versions.iter().filter(|it| it.major == to.major && it.minor == minor).max();
        let (mut targets, mut missing) = (Vec::new(), Vec::new());
        for minor in first..to.minor {
            match newest_of(minor) {
                Some(version) if *version >= *newest || newest.minor != minor => targets.push(version.clone()),
                // What runs is newer than what the bundle has of it.
                _ if newest.minor == minor => targets.push(newest.clone()),
                _ => missing.push(format!("Kubernetes {}.{minor}", to.major)),
            }
        }
        targets.push(to.clone());
        let run = running.planes.values().chain(running.kubelets.values()).chain(&running.shared);
        for version in run.chain(&targets).collect::<BTreeSet<_>>() {
            if !self.versions.contains(version) {
                missing.push(format!("Kubernetes {version}"));
            }
        }
        if missing.is_empty() { Ok(targets) } else { Err(Refused::Lacks(missing)) }
    }

    fn etcd_of(&self, release: &Version) -> Result<Version, Refused> {
        let found: Option<&KubernetesRelease> = self.bundle.release(&release.to_string()).ok();
        let reference = found.and_then(|release| release.images.get(etcd::IMAGE));
        let version = reference.and_then(|reference| etcd::version(reference).parse().ok());
        version.ok_or_else(|| Refused::Lacks(vec![format!("the etcd of Kubernetes {release}")]))
    }
}

/// A way that is being found.
struct Way {
    hops: Vec<Hop>,
    /// The oldest version of a member by then.
    etcd: Option<Version>,
    /// The oldest version of a kubelet by then.
    kubelet: Option<Version>,
}

impl Way {
    /// Kubelets that would be too far behind go to where control planes are.
    fn kubelets_before(&mut self, target: &Version, oldest: &Version) {
        let is_left = |kubelet: &&Version| target.minor.saturating_sub(kubelet.minor) > MOST_BEHIND;
        if self.kubelet.as_ref().filter(is_left).is_none() {
            return;
        }
        let here = match self.hops.iter_mut().rev().find(|hop| matches!(hop, Hop::Kubernetes { .. })) {
            Some(Hop::Kubernetes { to, kubelets, .. }) => {
                *kubelets = true;
                to.clone()
            }
            _ => {
                // As they are: another version of them comes next.
                self.hops.push(Hop::Kubernetes { to: oldest.clone(), etcd: self.etcd.clone(), kubelets: true, emulates: None });
                oldest.clone()
            }
        };
        self.kubelet = Some(here);
    }

    fn go(&mut self, target: &Version, running: &Running, (releases, is_last): (&Releases<'_>, bool)) -> Result<(), Refused> {
        let comes = releases.etcd_of(target)?;
        let is = self.etcd.clone().unwrap_or_else(|| comes.clone());
        let newest = running.etcd.values().max().filter(|newest| (newest.major, newest.minor) == (comes.major, comes.minor));
        // A patch that is newer than the release's stays.
        let stays = newest.into_iter().chain((is.minor == comes.minor).then_some(&is)).max().filter(|newest| **newest > comes).cloned();
        if is.minor < comes.minor {
            self.gate(&is, &comes, releases)?;
        } else if is.minor > comes.minor && stays.is_none() {
            return Err(Refused::Skew(format!("etcd {is} runs, and Kubernetes {target} brings {comes}: etcd can't go back")));
        }
        self.etcd = self.etcd.is_some().then(|| stays.unwrap_or(comes));
        let is_all = |versions: &BTreeMap<String, Version>, version: &Version| Running::others(versions, version).is_empty();
        let has_etcd = self.etcd.as_ref().is_none_or(|etcd| is_all(&running.etcd, etcd));
        let is_there = running.shared.as_ref() == Some(target) && is_all(&running.planes, target) && is_all(&running.kubelets, target);
        if !(is_last && is_there && has_etcd && self.hops.is_empty()) {
            self.hops.push(Hop::Kubernetes { to: target.clone(), etcd: self.etcd.clone(), kubelets: is_last, emulates: None });
        }
        Ok(())
    }

    /// Before the next minor version, members that are of too old a patch get one from which it may be gone to.
    fn gate(&mut self, is: &Version, comes: &Version, releases: &Releases<'_>) -> Result<(), Refused> {
        if comes.major != is.major || comes.minor - is.minor > 1 {
            return Err(Refused::Skew(format!("etcd {is} runs, and {comes} is more than one minor version newer")));
        }
        let Some(least) = etcd_gate(comes).filter(|least| is < *least) else { return Ok(()) };
        let through = releases.etcd.iter().filter(|held| held.minor == is.minor && *held >= least).max();
        let through = through.ok_or_else(|| Refused::Lacks(vec![format!("etcd {}.{} from {least} on", least.major, least.minor)]))?;
        self.hops.push(Hop::Etcd(through.clone()));
        Ok(())
    }
}

impl Refused {
    /// What is said of it; `place` is where the version stands in the file.
    #[must_use]
    pub fn refusal(&self, place: &str) -> Refusal {
        let no_way = |because: &dyn Display| Refusal::new("there is no way to that version").at(place).because(because.to_string());
        match self {
            Self::Older { runs, to } => Refusal::new(format!("Kubernetes {runs} runs, and {to} is asked for"))
                .at(place)
                .because("Kubernetes can't go back to an older version, which would not read what the newer one has stored")
                .hint(format!("ask for {runs} or a newer one")),
            Self::Skew(because) => no_way(because).hint("bring what is behind to the others' version by the means with which it was begun"),
            Self::Lacks(what) => Refusal::new(format!("the bundle holds no {}", listed(what.iter().map(String::as_str))))
                .at(place)
                .because("an upgrade goes through every minor version, and may have to put back what runs; of etcd from a patch that may meet the next one")
                .hint("give a bundle that has them, with --bundle: `kokctl bundle create` takes several versions"),
            Self::Not { what, because, hint } => Refusal::new(what).at(place).because(because).hint(hint),
            Self::Nothing => no_way(&"no control plane says which version it has").hint("`kokctl status` shows what runs; found the cluster with `kokctl apply`"),
        }
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
