//! Control planes that nobody meant to ask, and that decide what is to be done elsewhere.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host};

use super::compare::Asked;
use super::graph::{Action, Plan, Step};
use super::id::StepId;
use super::make::Seen;
use crate::list::host::claim;
use crate::membership::answering;
use crate::observe::{ApiServerState, PathState};
use crate::operations::{MEMBER_DATA, Operation};
use crate::preconditions;
use crate::resources::{File, FileContent, Resource};
use crate::secret_name::SecretName;

/// Control planes that have to be asked because none that was asked has an API server that answers, though one should: another may.
pub(super) fn speakers(cluster: &Cluster, seen: &Seen) -> BTreeMap<String, Asked> {
    let state = |host: &Host| seen.observations(&host.name).api_server.as_ref();
    let answers = cluster.control_planes().any(|host| state(host) == Some(&ApiServerState::Ready));
    let silent = cluster.control_planes().find(|host| matches!(state(host), Some(ApiServerState::NotReady(_))));
    let Some(silent) = silent.filter(|_| !answers) else { return BTreeMap::new() };
    strangers(cluster, seen, &claim(&silent.name))
}

/// Hosts that have to be asked whether an etcd runs, because one has no member yet and nobody was asked who would know the list: it may have to join
/// what is there, and must found nothing beside it.
pub(super) fn members(cluster: &Cluster, seen: &Seen) -> BTreeMap<String, Asked> {
    let is_new = |host: &&Host| seen.observations(&host.name).paths.get(MEMBER_DATA) == Some(&PathState::Missing);
    let new = cluster.etcd_hosts().find(is_new).filter(|_| answering(cluster, seen).next().is_none());
    new.map(|host| unasked(cluster.etcd_hosts(), seen, &claim(&host.name))).unwrap_or_default()
}

/// Control planes that have to be asked because a kubelet is about to be of another patch: it may not become newer than any API server.
pub(super) fn api_servers(cluster: &Cluster, seen: &Seen) -> BTreeMap<String, Asked> {
    let other = preconditions::kubelets_of_another_patch(cluster, seen);
    other.first().map(|host| strangers(cluster, seen, &claim(host))).unwrap_or_default()
}

/// Control planes that nobody has asked anything yet, and could.
fn strangers(cluster: &Cluster, seen: &Seen, needed_by: &StepId) -> BTreeMap<String, Asked> {
    unasked(cluster.control_planes(), seen, needed_by)
}

fn unasked<'a>(hosts: impl Iterator<Item = &'a Host>, seen: &Seen, needed_by: &StepId) -> BTreeMap<String, Asked> {
    let strangers = hosts.filter(|host| seen.facts(&host.name).is_none() && !seen.is_unreachable(&host.name));
    strangers.map(|host| (host.name.clone(), Asked { step: claim(&host.name), needed_by: needed_by.clone() })).collect()
}

/// Control planes that have to be asked before certificate authorities are made, or a key to encrypt with: one of them may have the
/// cluster's.
pub(super) fn keepers(cluster: &Cluster, seen: &Seen, plan: &Plan) -> BTreeMap<String, Asked> {
    let makes = |step: &&Step| matches!(step.action, Action::Operation(Operation::PkiTree(_)));
    let is_of_node = |step: &&Step| cluster.host(&step.host).is_some_and(|host| host.roles.is_node());
    let mut asked = BTreeMap::new();
    let set = plan.changes().map(|(step, _)| step).filter(makes).find(is_of_node);
    if let Some(step) = set.filter(|_| preconditions::keeper(cluster, seen).is_none()) {
        asked.extend(strangers(cluster, seen, &step.id));
    }
    let signed = plan.changes().map(|(step, _)| step).find(is_signed);
    if let Some(step) = signed.filter(|_| cluster.has_etcd_units() && preconditions::etcd_keeper(cluster, seen).is_none()) {
        asked.extend(unasked(cluster.etcd_hosts(), seen, &step.id));
        // They may know an authority whose key nobody has any more.
        asked.extend(strangers(cluster, seen, &step.id));
    }
    if let Some(step) = plan.changes().map(|(step, _)| step).find(makes_key) {
        asked.extend(strangers(cluster, seen, &step.id));
    }
    asked
}

/// Whether what a step brings is signed by the authorities.
fn is_signed(step: &&Step) -> bool {
    match &step.action {
        Action::Operation(Operation::PkiTree(_)) => true,
        Action::Resource(Resource::File(File { content: FileContent::Secret { name, .. }, .. })) => {
            matches!(name, SecretName::ControlPlaneFile { .. })
        }
        _ => false,
    }
}

/// Whether a step writes a key to encrypt with that no control plane is known to have.
fn makes_key(step: &&Step) -> bool {
    let Action::Resource(Resource::File(file)) = &step.action else { return false };
    matches!(&file.content, FileContent::Secret { name: SecretName::EncryptionConfiguration { keeper: None, .. }, .. })
}
