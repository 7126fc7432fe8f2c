//! Private keys that the cluster's file names: looked at before anybody is contacted, so that what is wrong with them is said at once.

use std::collections::BTreeSet;
use std::path::Path;

use kok_crds::model::{Cluster, Ssh, Via};

use super::target::expand;
use crate::remote::{IdentityFault, given_key_fault, key_fault};
use crate::ui::{Failure, Kind};

/// What is wrong with the keys of these hosts and their bastions, each key once with the place that names it.
pub(super) fn wrong_keys(cluster: &Cluster, home: Option<&Path>, wanted: impl Fn(&str) -> bool) -> Vec<Failure> {
    let mut failures = Vec::<Failure>::new();
    // A fleet often has one key for all.
    let mut sound = BTreeSet::<&str>::new();
    for (index, host) in cluster.hosts.iter().enumerate().filter(|(_, host)| wanted(&host.name)) {
        for (field, hop) in hops(&host.ssh) {
            if hop.private_key_file.as_deref().is_some_and(|file| sound.contains(file)) {
                continue;
            }
            let Some(fault) = fault_of(hop, home) else {
                sound.extend(hop.private_key_file.as_deref());
                continue;
            };
            let own = cluster.position_of(&format!("spec.hosts[{index}].{field}"));
            let position = own.or_else(|| cluster.position_of(&format!("spec.{field}")));
            let at = position.map_or_else(|| format!("host {}", host.name), ToString::to_string);
            let failure = Failure::new(Kind::Input, fault.to_string()).at(at).hint(fault.hint());
            let failure = Failure { because: fault.because(), ..failure };
            if !failures.contains(&failure) {
                failures.push(failure);
            }
        }
    }
    failures
}

/// The login of a host and those of its bastions, each with the field that would name its key.
fn hops(ssh: &Ssh) -> Vec<(String, &Ssh)> {
    let (mut hops, mut next, mut path) = (Vec::new(), Some(ssh), "ssh".to_owned());
    while let Some(hop) = next {
        hops.push((format!("{path}.privateKeyFile"), hop));
        path.push_str(".bastion");
        next = match &hop.via {
            Some(Via::Bastion(bastion)) => Some(&bastion.ssh),
            Some(Via::Direct) | None => None,
        };
    }
    hops
}

fn fault_of(ssh: &Ssh, home: Option<&Path>) -> Option<IdentityFault> {
    match (&ssh.private_key_file, &ssh.private_key) {
        (Some(file), _) => key_fault(&expand(file, home)),
        (None, Some(key)) => given_key_fault(key),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
