//! The plan for hosts that have no Kubernetes: what is declared for them, and nothing else.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host, Wish};

use super::draft::Edge;
use super::graph::Plan;
use super::hooked;
use super::make::{Making, Seen, compared, defect, enter};
use super::refusal::Refusal;
use super::select::Selection;
use crate::facts::{HostFacts, INDISPENSABLE};
use crate::list::hooks;
use crate::list::resources::{HostPlace, Templates, draft, with_archives};
use crate::observe::Looks;

/// What a first probe of each host of a fleet has to look at.
///
/// # Errors
/// [`Refusal`] where what is declared can't be, whatever the hosts are.
pub fn fleet_looks(cluster: &Cluster) -> Result<BTreeMap<String, Looks>, Vec<Refusal>> {
    let mut looks: BTreeMap<String, Looks> = BTreeMap::new();
    for draft in drafts(cluster, &Seen::default(), (&HostFacts::expected(), &Templates::of(cluster)))? {
        for step in draft.steps() {
            looks.entry(step.host.clone()).or_default().extend(step.looks());
        }
    }
    for host in &cluster.hosts {
        looks.entry(host.name.clone()).or_default();
    }
    Ok(looks)
}

/// The plan that brings the hosts of a fleet to what is declared for them.
///
/// # Errors
/// [`Refusal`]s of hosts that can't be changed, and of templates that can't be filled.
pub fn fleet(cluster: &Cluster, seen: &Seen, selection: &Selection) -> Result<Making, Vec<Refusal>> {
    let refusals: Vec<Refusal> = cluster.hosts.iter().filter_map(|host| unfit(cluster, host, seen.facts(&host.name)?)).collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let (expected, templates) = (HostFacts::expected(), Templates::of(cluster));
    let drafts = drafts(cluster, seen, (&expected, &templates))?;
    let twice = with_archives(cluster, drafts.iter().flat_map(|draft| draft.steps()));
    if !twice.is_empty() {
        return Err(twice);
    }
    let mut plan = Plan::default();
    let mut edges = Vec::new();
    for draft in drafts {
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    hooked::order(&mut plan, cluster, seen);
    let mut making = compared(plan, seen, selection)?;
    if let Making::Made(plan) = &mut making {
        plan.conceal(&cluster.concealed);
    }
    Ok(making)
}

/// What is declared for each host, from what is expected of a host that nobody has asked, and templates.
fn drafts<'a>(
    cluster: &'a Cluster,
    seen: &'a Seen,
    (expected, templates): (&'a HostFacts, &'a Templates<'a>),
) -> Result<Vec<super::draft::Draft<'a>>, Vec<Refusal>> {
    let (mut drafts, mut refusals) = (Vec::new(), Vec::new());
    for host in &cluster.hosts {
        let known = seen.facts(&host.name);
        let (facts, is_known) = (known.unwrap_or(expected), known.is_some());
        let place = HostPlace { cluster, host, facts, is_known, environment: Vec::new(), templates };
        let mut hooks = super::draft::Draft::new(&host.name, hooks::NAME);
        match draft(&place).and_then(|draft| hooks::of_fleet(cluster, &host.name, &mut hooks).map(|()| [draft, hooks])) {
            Ok(both) => drafts.extend(both),
            Err(mut refusal) => {
                refusal.conceal(&cluster.concealed);
                refusals.push(refusal);
            }
        }
    }
    if refusals.is_empty() { Ok(drafts) } else { Err(refusals) }
}

/// Whether it is a matter of systemd: units, what it mounts, and packages, which are installed by a unit so that a broken link stops nothing.
const fn needs_systemd(wish: &Wish) -> bool {
    matches!(wish, Wish::Unit { .. } | Wish::Mount(_) | Wish::Package { .. })
}

/// Why nothing may be begun on a host.
fn unfit(cluster: &Cluster, host: &Host, facts: &HostFacts) -> Option<Refusal> {
    let at = |refusal: Refusal| refusal.at(format!("host {} ({})", host.name, host.address));
    if let Some(cluster) = &facts.cluster {
        let refusal = Refusal::new(format!("{} is a host of the cluster {}", host.name, cluster.escape_debug()));
        let refusal = refusal.because("two files would say what is to be on it");
        return Some(at(refusal.hint("declare this under `hostResources` of that cluster, and leave the host out of the fleet")));
    }
    // A container that runs sshd can have files and users as well.
    let needing = cluster.resources.of_host(&host.name).find(|entry| needs_systemd(&entry.wish));
    if let Some(entry) = needing.filter(|_| !facts.systemd) {
        let refusal = Refusal::new(format!("{} does not run systemd", host.name));
        let refusal = refusal.because(format!("`{}` ({}) needs it", entry.name.escape_debug(), entry.origin));
        return Some(at(refusal.hint("take a host with systemd as its first process, or leave it out of the entry by `on`")));
    }
    let is_needed = |command: &&str| needing.is_some() || !command.starts_with("systemd-") && *command != "systemctl";
    let missing: Vec<&str> = INDISPENSABLE.iter().copied().filter(is_needed).filter(|command| !facts.commands.contains(*command)).collect();
    if !missing.is_empty() {
        let refusal = Refusal::new(format!("{} lacks commands that kokctl is made of", host.name));
        let refusal = refusal.because(format!("it has no {}", missing.join(", ")));
        return Some(at(refusal.hint("install the packages that have them: coreutils, util-linux, systemd")));
    }
    None
}
