//! Packages of the bundle for hosts that lack some.

use super::programs::missing;
use crate::bundle::{Bundle, BundlePackages};
use crate::catalog::{Catalog, DistributionSource};
use crate::distribution::Distribution;
use crate::facts::{HostFacts, INDISPENSABLE, Program};
use crate::resources::Manager;
use kok_crds::model::{Cluster, Host};

/// Packages that a host is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bundled<'a> {
    /// Out of these.
    pub(crate) packages: &'a BundlePackages,
    /// The host's keyring, by which their lists have to be signed.
    pub(crate) keyring: &'static str,
}

/// A host's release of its distribution, as catalogs and bundles call it.
pub(super) fn release_of(facts: &HostFacts) -> String {
    format!("{}-{}", facts.os_id, facts.os_version)
}

/// What the bundle has for a host that lacks commands: all of them, or nothing. It goes before the host's own sources: whoever has put it into the
/// bundle means it, and what is installed does not depend on what a host reaches on that day.
pub(crate) fn bundled<'a>(bundle: &'a Bundle, facts: &HostFacts, (cluster, host): (&Cluster, &Host)) -> Option<Bundled<'a>> {
    let distribution = facts.distribution().filter(|distribution| has_manager(facts, distribution))?;
    let keyring = (distribution.keyring_of)(&facts.os_id)?;
    let packages = bundle.packages_of(&release_of(facts), &facts.architecture)?;
    let missing = missing(facts, cluster, host);
    let has = |program: &&Program| packages.names.iter().any(|name| name == (distribution.package_of)(program));
    let is_whole = !missing.is_empty() && missing.iter().filter(|program| !INDISPENSABLE.contains(&program.name)).all(has);
    is_whole.then_some(Bundled { packages, keyring })
}

fn has_manager(facts: &HostFacts, distribution: &Distribution) -> bool {
    distribution.manager == Manager::Apt && facts.commands.contains(distribution.manager_command)
}

/// How a bundle with these packages for this host is made, if there is a way.
pub(super) fn way(facts: &HostFacts, programs: &[&Program]) -> Option<String> {
    let (release, distribution) = (release_of(facts), facts.distribution()?);
    let has = |program: &&Program, source: &DistributionSource| source.packages.iter().any(|it| it == (distribution.package_of)(program));
    let is_whole = |source: &DistributionSource| source.name == release && programs.iter().all(|program| has(program, source));
    let is_known = Catalog::built_in().is_ok_and(|catalog| catalog.distributions.iter().any(is_whole));
    let other = if facts.architecture == "amd64" { String::new() } else { format!(" --architecture {}", facts.architecture) };
    is_known.then(|| format!("give a bundle with them, made by `kokctl bundle create --packages {release}{other}`"))
}
