//! What a first probe looks at, before anything is known of a host.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host, Roles};

use super::draft::Draft;
use super::make::{Inputs, Seen, drafts};
use super::refusal::Refusal;
use crate::facts::HostFacts;
use crate::observe::Looks;
use crate::preconditions;

/// What a first probe of each host has to look at.
///
/// # Errors
/// [`Refusal`] where the cluster can't be built from the bundle, whatever the hosts are.
pub fn looks(inputs: &Inputs<'_>) -> Result<BTreeMap<String, Looks>, Vec<Refusal>> {
    let mut looks = looks_expecting(inputs, &HostFacts::expected())?;
    let elsewhere = looks_elsewhere(inputs)?;
    for host in &inputs.cluster.hosts {
        let entry = looks.entry(host.name.clone()).or_default();
        elsewhere.iter().filter(|(roles, _)| *roles == host.roles).for_each(|(_, looks)| entry.add_others(looks));
        entry.extend(crate::list::certificates::looks(inputs.cluster, host));
        entry.extend(preconditions::looks(inputs.cluster, host));
        if host.roles.is_node() {
            entry.extend(crate::list::kubelet_serving::looks());
        }
        entry.extend(crate::list::names::looks());
        entry.add_others(&crate::list::resources::looks());
        entry.extend(crate::list::virtual_address::looks(host));
    }
    Ok(looks)
}

fn looks_expecting(inputs: &Inputs<'_>, expected: &HostFacts) -> Result<BTreeMap<String, Looks>, Vec<Refusal>> {
    let mut looks: BTreeMap<String, Looks> = inputs.cluster.hosts.iter().map(|host| (host.name.clone(), Looks::default())).collect();
    let seen = Seen::default();
    // In which order steps come is of no interest here, and costs more than they do.
    for step in drafts(inputs, &seen, expected)?.iter().flat_map(Draft::steps) {
        if let Some(looks) = looks.get_mut(&step.host) {
            looks.extend(step.looks());
        }
    }
    Ok(looks)
}

/// What distributions of RHEL's family keep in other places, by roles of hosts: with it one probe is enough whatever a host turns out to be. The
/// one control plane of this smaller cluster speaks for it, and for the same questions the others would start as many kubectl in vain.
fn looks_elsewhere(inputs: &Inputs<'_>) -> Result<Vec<(Roles, Looks)>, Vec<Refusal>> {
    let mut one_of_each: Vec<Host> = Vec::new();
    for host in &inputs.cluster.hosts {
        if !one_of_each.iter().any(|known| known.roles == host.roles) {
            one_of_each.push(host.clone());
        }
    }
    let cluster = Cluster { hosts: one_of_each, ..inputs.cluster.clone() };
    let looks = looks_expecting(&Inputs { cluster: &cluster, ..*inputs }, &HostFacts::expected_of_rhel_family())?;
    Ok(cluster.hosts.iter().filter_map(|host| Some((host.roles, looks.get(&host.name)?.clone().without_cluster()))).collect())
}
