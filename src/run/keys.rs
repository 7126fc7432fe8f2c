//! Private keys that the cluster's file names: looked at before anybody is contacted, so that what is wrong with them is said at once.

use std::collections::BTreeSet;
use std::path::Path;

use kok_crds::model::{Cluster, Ssh, Via};
use kok_crds::{Notice, Position, Problem};

use super::target::expand;
use crate::failure::{Failure, Kind};
use crate::remote::{IdentityFault, Surroundings, given_key_fault, key_fault};

/// What is wrong with the keys of these hosts and their bastions, each key once with the place that names it.
pub(super) fn wrong_keys(cluster: &Cluster, home: Option<&Path>, wanted: impl Fn(&str) -> bool) -> Vec<Failure> {
    let mut failures = Vec::<Failure>::new();
    for Found { fault, position, host } in found(cluster, (home, key_fault), wanted) {
        let at = position.map_or_else(|| format!("host {host}"), |position| position.to_string());
        let failure = Failure::new(Kind::Input, fault.to_string()).at(at).hint(fault.hint());
        let failure = Failure { because: fault.because(), ..failure };
        if !failures.contains(&failure) {
            failures.push(failure);
        }
    }
    failures
}

/// What is wrong with the keys that a cluster's files name, and what there is to know of them: a passphrase that somebody has to give.
/// Nobody is asked for it.
pub(crate) fn judged_keys(cluster: &Cluster, surroundings: &Surroundings) -> (Vec<Problem>, Vec<Notice>) {
    let (mut problems, mut notices) = (Vec::<Problem>::new(), Vec::<Notice>::new());
    let judge = |path: &Path| surroundings.key_fault(path);
    for Found { fault, position, host } in found(cluster, (surroundings.home.as_deref(), judge), |_| true) {
        let what = if position.is_some() { fault.to_string() } else { format!("{fault} (host {host})") };
        if surroundings.may_help(&fault) {
            let because = "an agent that holds it logs in with it; without one its passphrase is asked for, once for all hosts";
            let notice = Notice { position, ..Notice::new(what).because(because).hint(fault.hint()) };
            notices.extend((!notices.contains(&notice)).then_some(notice));
        } else {
            let problem = Problem { position, because: fault.because(), ..Problem::new(what).hint(fault.hint()) };
            problems.extend((!problems.contains(&problem)).then_some(problem));
        }
    }
    (problems, notices)
}

/// A key that can't be used as it is.
struct Found<'a> {
    fault: IdentityFault,
    /// The place that names it.
    position: Option<Position>,
    host: &'a str,
}

fn found<'a>(
    cluster: &'a Cluster,
    (home, judge): (Option<&Path>, impl Fn(&Path) -> Option<IdentityFault>),
    wanted: impl Fn(&str) -> bool,
) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    // A fleet often has one key for all.
    let mut sound = BTreeSet::<&str>::new();
    for (index, host) in cluster.hosts.iter().enumerate().filter(|(_, host)| wanted(&host.name)) {
        for (field, hop) in hops(&host.ssh) {
            if hop.private_key_file.as_deref().is_some_and(|file| sound.contains(file)) {
                continue;
            }
            let Some(fault) = fault_of(hop, home, &judge) else {
                sound.extend(hop.private_key_file.as_deref());
                continue;
            };
            let own = cluster.position_of(&format!("spec.hosts[{index}].{field}"));
            let position = own.or_else(|| cluster.position_of(&format!("spec.{field}"))).cloned();
            found.push(Found { fault, position, host: &host.name });
        }
    }
    found
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

fn fault_of(ssh: &Ssh, home: Option<&Path>, judge: impl Fn(&Path) -> Option<IdentityFault>) -> Option<IdentityFault> {
    match (&ssh.private_key_file, &ssh.private_key) {
        (Some(file), _) => judge(&expand(file, home)),
        (None, Some(key)) => given_key_fault(key),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
