//! Commands, packages, and what keeps the clock.

use kok_crds::model::{Cluster, Delivery, Host};

use super::bundled::{release_of, way};
use super::{Findings, Scope};
use crate::distribution::FAMILIES;
use crate::facts::{CHRONY, COMMANDS, CURL, HostFacts, INDISPENSABLE, KEEPALIVED, Program, TRUST_DEBIAN};
use crate::observe::Look;
use crate::plan::Refusal;
use crate::resources::Manager;

/// Whether an address moves to a host.
pub(super) fn has_virtual_address(cluster: &Cluster, host: &Host) -> bool {
    host.roles.control_plane && cluster.virtual_address().is_some()
}

/// Commands that a host needs for what its cluster asks for; `trust` puts certificates into the store of a host's family.
fn needed<'a>(cluster: &Cluster, host: &Host, trust: Option<&'a Program>) -> impl Iterator<Item = &'a Program> {
    let settings = cluster.settings_of(host);
    let chrony = cluster.time.is_managed().then_some(&CHRONY);
    let moves = has_virtual_address(cluster, host);
    let keepalived = moves.then_some(&KEEPALIVED);
    let curl = (moves || settings.delivery == Delivery::Pull).then_some(&CURL);
    let trust = trust.filter(|_| !settings.host.trusted_certificates.is_empty() || cluster.resources.adds_trust(&host.name));
    COMMANDS.iter().chain(chrony).chain(curl).chain(keepalived).chain(trust)
}

/// Commands that are missing on a host, for what its cluster asks for.
pub(crate) fn missing(facts: &HostFacts, cluster: &Cluster, host: &Host) -> Vec<&'static Program> {
    let trust = facts.distribution().map(|distribution| distribution.trust.program);
    needed(cluster, host, trust).filter(|program| !facts.commands.contains(program.name)).collect()
}

/// Whether what is missing could be installed is asked of Debian's package manager alone, before anybody knows whether the host has it.
pub(super) fn looks(cluster: &Cluster, host: &Host) -> impl Iterator<Item = Look> {
    needed(cluster, host, Some(&TRUST_DEBIAN)).copied().map(Look::Installable)
}

/// Whether the host's package manager could install what is missing, as far as it knows. That of the RHEL family is not asked, and one
/// without lists has to fetch them first: they tell when it is done.
fn is_installable(facts: &HostFacts, program: &Program) -> bool {
    let Some(distribution) = facts.distribution().filter(|it| facts.commands.contains(it.manager_command)) else { return false };
    let offered = match distribution.manager {
        Manager::Dnf => true,
        Manager::Apt => facts.without_package_lists || facts.installable.contains((distribution.package_of)(program)),
    };
    offered && !INDISPENSABLE.contains(&program.name)
}

/// That nothing is known of where a host keeps things, and how it installs them.
pub(crate) fn unknown_distribution(facts: &HostFacts) -> Refusal {
    let name = if facts.os_id.is_empty() { "a system without a name" } else { &facts.os_id };
    let families: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    Refusal::new(format!("it runs {name}, of which kokctl knows neither packages nor places"))
        .because(format!("it knows the families of {}, by ID and ID_LIKE of /etc/os-release", families.join(" and ")))
        .hint("use a host of one of these families")
}

/// What is only known of families that have a table.
fn places(scope: &Scope<'_>, found: &mut Findings) {
    let trusts = !scope.settings().host.trusted_certificates.is_empty();
    let asked = [
        (trusts, "where its programs look for authorities", "put the authorities into its store yourself, and leave them out of the file"),
        (scope.cluster.time.is_managed(), "where chrony has its configuration", "leave `spec.time` out, and keep its clock yourself"),
    ];
    for (_, what, hint) in asked.into_iter().filter(|(is_asked, ..)| *is_asked && scope.facts.distribution().is_none()) {
        let refusal = unknown_distribution(scope.facts);
        let known = refusal.because.clone().unwrap_or_default();
        found.refuse(refusal.because(format!("it has to be known {what}; {known}")).hint(hint));
    }
}

pub(super) fn commands(scope: &Scope<'_>, found: &mut Findings) {
    let (facts, settings) = (scope.facts, &scope.settings().host);
    places(scope, found);
    let missing = missing(facts, scope.cluster, scope.host);
    let bundled = scope.bundled();
    let comes = |program: &Program| match bundled {
        Some(_) => !INDISPENSABLE.contains(&program.name),
        None => is_installable(facts, program),
    };
    let (can, cannot): (Vec<&Program>, Vec<&Program>) =
        missing.into_iter().partition(|program| settings.install_packages && comes(program));
    if !cannot.is_empty() {
        found.refuse(lacking(scope, &cannot));
    }
    if !can.is_empty() {
        let from = if bundled.is_some() { "the bundle" } else { "the host's repositories" };
        found.warn(
            Refusal::new(format!("the packages {} are missing", packages(facts, &can).unwrap_or_default()))
                .because(format!("kubeadm, the kubelet or kokctl run commands of them; apply installs them from {from}")),
        );
    }
}

/// What a host can do without, if another one of its settings is changed.
fn instead(programs: &[&Program]) -> &'static str {
    if programs.contains(&&CURL) { "; without curl, have kokctl send what is installed: `delivery: push`" } else { "" }
}

/// That a host lacks what nobody can install.
fn lacking(scope: &Scope<'_>, programs: &[&Program]) -> Refusal {
    let (facts, installs) = (scope.facts, scope.settings().host.install_packages);
    let names = programs.iter().map(|program| program.name).collect::<Vec<_>>().join(", ");
    let known = if installs { ", and its package manager knows no package that has them" } else { "" };
    let held: Vec<&str> = scope.bundle.iter().flat_map(|bundle| &bundle.packages).map(|held| held.distribution.as_str()).collect();
    let held = match held.as_slice() {
        [] => String::new(),
        some => format!("; the bundle has packages of {}, and the host runs {}", some.join(", "), release_of(facts)),
    };
    let install =
        packages(facts, programs).map_or_else(|| "install them".to_owned(), |packages| format!("install the packages {packages}"));
    let way = way(facts, programs).filter(|_| installs);
    Refusal::new(format!("it lacks the commands {names}"))
        .because(format!("kubeadm, the kubelet or kokctl run them{known}{held}"))
        .hint(way.map_or(install.clone(), |way| format!("{install}; or {way}")) + instead(programs))
}

/// The packages of commands, where it is known what they are called.
fn packages(facts: &HostFacts, programs: &[&Program]) -> Option<String> {
    let distribution = facts.distribution()?;
    let mut packages: Vec<&str> = programs.iter().map(|program| (distribution.package_of)(program)).collect();
    packages.sort_unstable();
    packages.dedup();
    Some(packages.join(", "))
}

/// Programs that set the clock. Debian and RHEL name chrony's unit differently, and one is an alias of the other in places.
pub(crate) const CLOCKS: [&str; 7] =
    ["chrony.service", "chronyd.service", "systemd-timesyncd.service", "ntp.service", "ntpd.service", "ntpsec.service", "openntpd.service"];

/// Those of [`CLOCKS`] that are not chrony: where `spec.time` asks for chrony, they are switched off.
pub(crate) const OTHER_CLOCKS: &[&str] = CLOCKS.split_at(2).1;

pub(super) fn time(scope: &Scope<'_>, found: &mut Findings) {
    let active = |unit: &&&str| scope.seen.units.get(**unit).is_some_and(|state| state.active == "active");
    if scope.cluster.time.is_managed() {
        return;
    }
    let chrony = CLOCKS.iter().take(2).find(active).copied();
    let others = OTHER_CLOCKS.iter().filter(active).copied();
    // Nothing was looked at: nothing can be said.
    if !CLOCKS.iter().any(|unit| scope.seen.units.contains_key(*unit)) {
        return;
    }
    let mut names: Vec<&str> = chrony.into_iter().chain(others).collect();
    // One unit may have several names; what was started at the same microsecond is one.
    let mut starts = Vec::new();
    names.retain(|unit| {
        let start = scope.seen.units.get(*unit).map(|state| state.started_microseconds).filter(|start| *start > 0);
        let known = start.is_some() && starts.contains(&start);
        starts.push(start);
        !known
    });
    match names.as_slice() {
        [_] => {}
        [] => found.warn(
            Refusal::new("nothing keeps its clock")
                .because("clocks drift apart by seconds a week, and certificates and leases need them together")
                .hint("name NTP servers in spec.time.servers, or hosts in spec.time.sources, and kokctl sets chrony up"),
        ),
        several => found.warn(
            Refusal::new(format!("{} set its clock at the same time", several.join(" and ")))
                .because("each undoes what the other does")
                .hint("keep one: `systemctl disable --now` for the others; or let kokctl set chrony up by spec.time"),
        ),
    }
}
