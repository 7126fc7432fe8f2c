//! Certificates of control planes and of hosts of etcd, and kubeconfigs: of control planes, and of workers for which one was issued.
//!
//! A host without certificates gets the whole set at once. On one that has them, each is judged by what stands in it: an authority is never
//! replaced, a leaf or a kubeconfig if it could not do its work, and both where another one was issued.

mod defects;
mod files;

use kok_crds::model::{AuthorityName, Cluster, Host, Roles};
use kok_pki::{AuthorityKind, KubeconfigUser, Leaf, Material};
use time::OffsetDateTime;

use super::{Task, authorities, kubeadm_configuration, still_ready};
use crate::identity;
use crate::issued::is_kept_elsewhere;
use crate::observe::{Observations, PathState};
use crate::operations::{Operation, PkiTree, kubelets_own_has_ended};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::preconditions;
use crate::renewal::Renewal;
use crate::resources::{Absent, File, FileContent, Replace, Resource};
use crate::secret_name::SecretName;

pub(crate) use files::{absolute, looks};

pub(super) use defects::first_defect;

use defects::{defect, wrong_kubeconfig};
use files::{keys_elsewhere, kubeconfigs, of_tree};

const NAME: &str = "certificates";

pub(super) const TASK: Task = Task { name: NAME, about: "certificates of control planes and of etcd, and kubeconfigs", plan };

/// The whole set at once.
const TREE: StepName<'static> = StepName::new(NAME, "set");

/// The step that makes one file.
pub(super) fn step_name(material: Material) -> StepName<'static> {
    StepName::new(NAME, material.path())
}

/// The authority that a host has in any case, if it has any.
fn own_authority(roles: Roles) -> AuthorityKind {
    if roles.etcd && !roles.control_plane { AuthorityKind::Etcd } else { AuthorityKind::Kubernetes }
}

fn has_authority(host: &Host, seen: &Observations) -> bool {
    seen.contents.contains_key(&absolute(Material::AuthorityCertificate(own_authority(host.roles))))
}

/// Whether a host gets its whole set. Half of a set is none that could be made whole.
fn is_fresh(cluster: &Cluster, host: &Host, seen: &Observations) -> bool {
    let present = |material: Material| matches!(seen.paths.get(&absolute(material)), Some(PathState::Present(_)));
    !has_authority(host, seen) && !of_tree(cluster, host.roles).into_iter().any(present)
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let (roles, seen) = (view.host.roles, view.observations());
    let files = of_tree(view.cluster(), roles);
    if files.is_empty() {
        return Ok(());
    }
    has_no_key_of_others(view, seen)?;
    authorities::lets_come(view)?;
    has_set_of_its_roles(view, seen)?;
    let folder = view.id(kubeadm_configuration::FOLDER);
    let fresh = is_fresh(view.cluster(), view.host, seen);
    if fresh {
        let files = files.into_iter().map(|material| (material.path().to_owned(), material.mode())).collect();
        let own = own_authorities(view, roles);
        let kept = view.cluster().settings.certificates.escrow.as_ref().filter(|file| !file.is_lent).map(|file| file.path.clone());
        let step = draft.add(TREE, Operation::PkiTree(PkiTree { host: view.host.name.clone(), files, own, kept }));
        draft.needs(&step, &folder, Reason::Inside);
        if let Some(keeper) = keeper_to_be(view).filter(|keeper| keeper.name != view.host.name) {
            let set = TREE.on(&keeper.name);
            draft.needs(
                &step,
                &set,
                Reason::Because("the key of etcd's authority stays on the hosts of etcd, and has to be kept before it counts"),
            );
        }
    } else {
        existing(view, draft, seen)?;
    }
    for material in kubeconfigs(view.cluster(), roles) {
        let is_new = fresh && preconditions::kept_certificate(view.cluster(), AuthorityKind::Kubernetes).is_none();
        let wrong = is_new.then(|| "the certificate authority is new".to_owned()).or_else(|| wrong_kubeconfig(view, seen, material));
        let step = file(view, draft, material, wrong);
        draft.needs(&step, &folder, Reason::Inside);
        if fresh {
            draft.needs(&step, &view.id(TREE), Reason::Because("it is signed by that authority"));
        }
    }
    if roles.control_plane && !view.cluster().settings.certificates.super_admin_kubeconfig {
        let path = absolute(Material::Kubeconfig(KubeconfigUser::SuperAdmin));
        draft.add("no-super-admin", Resource::Absent(Absent { pattern: path, except: Vec::new(), with_folder: false }));
    }
    Ok(())
}

/// The authorities of the user's that come onto a host with these roles.
fn own_authorities(view: &HostView<'_>, roles: Roles) -> Vec<&'static str> {
    let files = of_tree(view.cluster(), roles);
    let own = view.cluster().settings.certificates.authorities.iter().map(|own| own.name);
    let comes = |name: &AuthorityName| files.contains(&Material::AuthorityCertificate(preconditions::authority_kind(*name)));
    own.filter(comes).map(AuthorityName::as_str).collect()
}

/// The host that keeps the key of a new authority of etcd before any other host gets what is signed with it: a run that is interrupted
/// then leaves either no certificate of that authority, or its key.
fn keeper_to_be<'a>(view: &HostView<'a>) -> Option<&'a Host> {
    let cluster = view.cluster();
    let is_kept = is_kept_elsewhere(cluster, AuthorityKind::Etcd) || preconditions::etcd_keeper(cluster, view.seen).is_some();
    if !cluster.has_etcd_units() || is_kept {
        return None;
    }
    cluster.etcd_hosts().find(|host| is_fresh(cluster, host, view.seen.observations(&host.name)))
}

/// A key that is said to be elsewhere would sign all the same, and what may be the only copy is not kokctl's to remove.
fn has_no_key_of_others(view: &HostView<'_>, seen: &Observations) -> Result<(), Refusal> {
    let paths = keys_elsewhere(view.cluster()).into_iter().map(absolute);
    match paths.into_iter().find(|path| matches!(seen.paths.get(path), Some(PathState::Present(_)))) {
        None => Ok(()),
        Some(path) => Err(Refusal::new(format!("{path} is there, and the file says that somebody else keeps this key"))
            .at(format!("host {}", view.host.name))
            .because("whoever has the host could sign for the cluster with it")
            .hint("copy it to where it is safe and remove it from the host; or write `key` beside the certificate again")),
    }
}

/// Where etcd is a unit, a host that is a control plane, a member or a worker does not become more by an edit: what it has was made for what it was.
fn has_set_of_its_roles(view: &HostView<'_>, seen: &Observations) -> Result<(), Refusal> {
    let has = |leaf: Leaf| matches!(seen.paths.get(&absolute(Material::LeafKey(leaf))), Some(PathState::Present(_)));
    let roles = view.host.roles;
    let (before, becomes, role) = match (has(Leaf::ApiServer), has(Leaf::EtcdPeer)) {
        _ if !view.cluster().has_etcd_units() || !roles.etcd => return Ok(()),
        (true, false) if roles.control_plane => ("a control plane", "a member of etcd", "etcd"),
        (false, true) if roles.control_plane => ("a member of etcd", "a control plane", "control-plane"),
        (false, false) if !roles.control_plane && still_ready::was_node(view, view.host) => ("a worker", "a member of etcd", "etcd"),
        _ => return Ok(()),
    };
    let name = &view.host.name;
    Err(Refusal::new(format!("{name} was set up as {before} alone, and the file makes it {becomes}, too"))
        .at(format!("host {name}"))
        .because("the certificates of a host are made together, for what it is")
        .hint(format!("take the role `{role}` from {name} again; or, for it to join anew: `kokctl replace -f FILE {name}`")))
}

/// Judges each file of a set that is there.
fn existing(view: &HostView<'_>, draft: &mut Draft<'_>, seen: &Observations) -> Result<(), Refusal> {
    let of_host = of_tree(view.cluster(), view.host.roles);
    for material in of_host.iter().copied() {
        let missing = !matches!(seen.paths.get(&absolute(material)), Some(PathState::Present(_)));
        let irreplaceable = matches!(material, Material::AuthorityCertificate(_) | Material::AuthorityKey(_) | Material::ServiceAccountKey);
        if missing && irreplaceable {
            return Err(Refusal::new(format!("{} is missing", absolute(material)))
                .at(format!("host {}", view.host.name))
                .because("the host has other certificates of its set, and a new one of this kind would fit none of them")
                .hint(format!(
                    "copy the file from another host of the same role, or from a backup; {}or, if the cluster can go, take it down with `kokctl reset`",
                    if matches!(material, Material::AuthorityKey(_)) {
                        "if somebody else keeps that key, let the file say so as when the cluster was made (`certificate` without `key`); "
                    } else {
                        ""
                    }
                )));
        }
    }
    for leaf in Leaf::ALL.into_iter().filter(|leaf| of_host.contains(&Material::LeafKey(*leaf))) {
        let reason = defect(view, seen, leaf)?;
        let key = file(view, draft, Material::LeafKey(leaf), reason.clone());
        let certificate = file(view, draft, Material::LeafCertificate(leaf), reason);
        draft.needs(&certificate, &key, Reason::Because("it is the certificate of that key"));
    }
    let keys = AuthorityKind::ALL.into_iter().flat_map(|kind| [Material::AuthorityKey(kind), Material::AuthorityCertificate(kind)]);
    let kept = keys.chain([Material::ServiceAccountKey, Material::ServiceAccountPublicKey]);
    for material in kept.filter(|material| of_host.contains(material)) {
        file(view, draft, material, None);
    }
    Ok(())
}

/// The steps that make files of a host anew which are asked for and need it, each with its file. What somebody else has to issue is none of them.
pub(super) fn renewed<'a>(view: &HostView<'a>, renewal: &Renewal<'_>) -> Result<(Draft<'a>, Vec<(Material, StepId)>), Refusal> {
    let (cluster, roles, seen) = (view.cluster(), view.host.roles, view.observations());
    let (mut draft, mut made) = (Draft::new(&view.host.name, NAME), Vec::new());
    let identity = identity::control_plane(cluster, view.host);
    let now = OffsetDateTime::from_unix_timestamp(view.inputs.now_seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let is_ours = |kind: AuthorityKind| !is_kept_elsewhere(cluster, kind);
    let files = of_tree(cluster, roles);
    let is_spared = |leaf: Leaf| renewal.successor.is_some_and(|successor| successor.spares(leaf));
    let comes = |leaf: &Leaf| files.contains(&Material::LeafKey(*leaf)) && is_ours(leaf.profile(&identity).authority) && !is_spared(*leaf);
    for leaf in Leaf::ALL.into_iter().filter(comes).filter(|leaf| renewal.has(Material::LeafCertificate(*leaf))) {
        let text = seen.contents.get(&absolute(Material::LeafCertificate(leaf))).map(|bytes| String::from_utf8_lossy(bytes));
        let by_word = || text.and_then(|text| renewal.by_word(&text, leaf.profile(&identity).authority, now));
        let Some(reason) = defect(view, seen, leaf)?.or_else(by_word) else { continue };
        let key = file(view, &mut draft, Material::LeafKey(leaf), Some(reason.clone()));
        let certificate = file(view, &mut draft, Material::LeafCertificate(leaf), Some(reason));
        draft.needs(&certificate, &key, Reason::Because("it is the certificate of that key"));
        made.extend([(Material::LeafKey(leaf), key), (Material::LeafCertificate(leaf), certificate)]);
    }
    let wanted = kubeconfigs(cluster, roles).filter(|material| renewal.has(*material) && is_ours(AuthorityKind::Kubernetes));
    for material in wanted {
        let inside = seen.kubeconfigs.get(&absolute(material)).and_then(Option::as_deref);
        let authorities = seen.kubeconfig_authorities.get(&absolute(material)).and_then(Option::as_deref);
        let names_others = || renewal.successor.and_then(|successor| successor.defect_of_kubeconfig(authorities));
        let by_word = || renewal.by_word(inside?, AuthorityKind::Kubernetes, now);
        let reason = wrong_kubeconfig(view, seen, material).or_else(by_word).or_else(names_others);
        if let Some(reason) = reason {
            made.push((material, file(view, &mut draft, material, Some(reason))));
        }
    }
    Ok((draft, made))
}

/// A step for one file; `wrong` says why it has to be written again if something stands there.
fn file(view: &HostView<'_>, draft: &mut Draft<'_>, material: Material, wrong: Option<String>) -> StepId {
    let found = view.observations().paths.get(&absolute(material)).and_then(PathState::present);
    let replace = wrong.zip(found).map(|(because, found)| Replace { because, changed_nanoseconds: found.changed_nanoseconds });
    let name = SecretName::ControlPlaneFile { host: view.host.name.clone(), path: material.path().to_owned() };
    let without = match material {
        Material::LeafKey(leaf) => Some(absolute(Material::LeafCertificate(leaf))),
        _ => None,
    };
    let content = FileContent::Secret { name, replace, without };
    draft.add(step_name(material), Resource::File(File::new(absolute(material), material.mode(), content)))
}

/// Says that a step needs every certificate and kubeconfig of the host.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    for made in steps(view) {
        draft.needs(step, &made, Reason::Reads);
    }
}

/// The same of a step that starts what knows certificates only as they were at its start: when one of the host changes, it is done again.
pub(super) fn read_once_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId, read: &[String]) {
    let set = view.id(TREE);
    let read: Vec<StepId> = read.iter().map(|path| view.id(StepName::new(NAME, path))).collect();
    for made in steps(view) {
        if made == set || read.contains(&made) {
            draft.follows(step, &made, Reason::Reads);
        } else {
            draft.needs(step, &made, Reason::Reads);
        }
    }
}

/// The steps that make what the API server shows and logs in with, on a host that has its certificates already: who trusts that it answers
/// asks again when one of them changes.
pub(super) fn of_api_server(view: &HostView<'_>) -> Vec<StepId> {
    let leaves = [Leaf::ApiServer, Leaf::ApiServerKubeletClient, Leaf::ApiServerEtcdClient, Leaf::FrontProxyClient];
    let there = leaves.iter().filter(|_| are_there(view));
    there.map(|leaf| view.id(step_name(Material::LeafCertificate(*leaf)))).collect()
}

/// Says that a step is done again where the kubelet of a control plane gets a kubeconfig in the place of a certificate of its own that has ended: it starts
/// with that, gets another certificate by it, and goes on with this one.
pub(super) fn kubelet_reads(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    if kubelets_own_has_ended(view.observations()).is_some() && !is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes) {
        draft.follows(step, &view.id(step_name(Material::Kubeconfig(KubeconfigUser::Kubelet))), Reason::Reads);
    }
}

/// The step that makes the whole set of a host, where it gets one.
pub(super) fn set(view: &HostView<'_>, host: &Host) -> Option<StepId> {
    let gets_one = host.roles.control_plane && is_fresh(view.cluster(), host, view.seen.observations(&host.name));
    gets_one.then(|| TREE.on(&host.name))
}

/// Whether this host has certificates already.
pub(super) fn are_there(view: &HostView<'_>) -> bool {
    has_some(view, view.host)
}

/// The same of another host.
pub(super) fn has_some(view: &HostView<'_>, host: &Host) -> bool {
    has_authority(host, view.seen.observations(&host.name))
}

/// The steps that make the kubeconfigs of controller manager and scheduler anew, on a host that has its certificates already. What was issued
/// anew changes the manifests, which starts both.
pub(super) fn of_controllers(view: &HostView<'_>) -> Vec<StepId> {
    let users = [KubeconfigUser::ControllerManager, KubeconfigUser::Scheduler];
    let there = users.iter().filter(|_| are_there(view) && !is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes));
    there.map(|user| view.id(step_name(Material::Kubeconfig(*user)))).collect()
}

/// The steps that make the certificates and kubeconfigs of the host.
fn steps(view: &HostView<'_>) -> Vec<StepId> {
    let (cluster, roles) = (view.cluster(), view.host.roles);
    let tree = if has_authority(view.host, view.observations()) { of_tree(cluster, roles) } else { Vec::new() };
    let set = tree.is_empty().then_some(TREE);
    let files = tree.into_iter().chain(kubeconfigs(cluster, roles)).map(step_name);
    set.into_iter().chain(files).map(|name| view.id(name)).collect()
}
