//! Certificates and kubeconfigs of a control plane.
//!
//! A control plane without certificates gets the whole set at once. On one that has them, each is judged by what stands in it: an authority
//! is never replaced, a leaf only if it could not do its work, and a kubeconfig if it is missing.

use kok_crds::model::Host;
use kok_pki::{AuthorityKind, KubeconfigUser, Leaf, Material};
use time::OffsetDateTime;

use super::kubeadm_configuration;
use crate::identity;
use crate::observe::{Look, Observations, PathState};
use crate::operations::{Operation, PkiTree};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::resources::{File, FileContent, Replace, Resource};
use crate::secret_name::SecretName;

pub(super) const NAME: &str = "certificates";

/// The whole set at once.
const TREE: &str = "set";

pub(crate) fn absolute(material: Material) -> String {
    format!("/etc/kubernetes/{}", material.path())
}

/// The kubeconfigs that stay on a control plane. `super-admin.conf`, whose owner nothing can stop, is none of them.
fn kubeconfigs() -> impl Iterator<Item = Material> {
    let users = KubeconfigUser::ALL.into_iter().filter(|user| *user != KubeconfigUser::SuperAdmin);
    users.map(Material::Kubeconfig)
}

fn of_tree() -> Vec<Material> {
    Material::all().into_iter().filter(|material| !matches!(material, Material::Kubeconfig(_))).collect()
}

/// The certificates, which are public.
pub(crate) fn certificates() -> impl Iterator<Item = Material> {
    of_tree().into_iter().filter(|material| matches!(material, Material::AuthorityCertificate(_) | Material::LeafCertificate(_)))
}

/// What is needed to judge the certificates of a control plane: the certificates themselves, which are public, and whether the keys are
/// there.
pub(crate) fn looks(host: &Host) -> Vec<Look> {
    if !host.roles.control_plane {
        return Vec::new();
    }
    let contents = certificates().map(|material| Look::Content(absolute(material)));
    let paths = of_tree().into_iter().chain(kubeconfigs()).map(|material| Look::Path(absolute(material)));
    contents.chain(paths).collect()
}

fn has_authority(seen: &Observations) -> bool {
    seen.contents.contains_key(&absolute(Material::AuthorityCertificate(AuthorityKind::Kubernetes)))
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.control_plane {
        return Ok(());
    }
    let seen = view.observations();
    let folder = view.id(kubeadm_configuration::NAME, kubeadm_configuration::FOLDER);
    // Half of a set is none that could be made whole.
    let present = |material: Material| matches!(seen.paths.get(&absolute(material)), Some(PathState::Present(_)));
    let fresh = !has_authority(seen) && !of_tree().into_iter().any(present);
    if fresh {
        let files = of_tree().into_iter().map(|material| (material.path().to_owned(), material.mode())).collect();
        let step = draft.add(TREE, Operation::PkiTree(PkiTree { host: view.host.name.clone(), files }));
        draft.needs(&step, &folder, Reason::Inside);
    } else {
        existing(view, draft, seen)?;
    }
    for material in kubeconfigs() {
        let wrong = fresh.then(|| "the certificate authority is new".to_owned());
        let step = file(view, draft, material, wrong);
        draft.needs(&step, &folder, Reason::Inside);
        if fresh {
            draft.needs(&step, &view.id(NAME, TREE), Reason::Because("it is signed by that authority"));
        }
    }
    Ok(())
}

/// Judges each file of a set that is there.
fn existing(view: &HostView<'_>, draft: &mut Draft<'_>, seen: &Observations) -> Result<(), Refusal> {
    for material in of_tree() {
        let missing = !matches!(seen.paths.get(&absolute(material)), Some(PathState::Present(_)));
        let irreplaceable = matches!(material, Material::AuthorityCertificate(_) | Material::AuthorityKey(_) | Material::ServiceAccountKey);
        if missing && irreplaceable {
            return Err(Refusal::new(format!("{} is missing", absolute(material)))
                .at(format!("host {}", view.host.name))
                .because("the control plane has other certificates of its set, and a new one of this kind would fit none of them")
                .hint("copy the file from another control plane, or from a backup; or, if the cluster can go, take it down with `kokctl reset`"));
        }
    }
    for leaf in Leaf::ALL {
        let reason = defect(view, seen, leaf)?;
        let key = file(view, draft, Material::LeafKey(leaf), reason.clone());
        let certificate = file(view, draft, Material::LeafCertificate(leaf), reason);
        draft.needs(&certificate, &key, Reason::Because("it is the certificate of that key"));
    }
    for kind in AuthorityKind::ALL {
        for material in [Material::AuthorityKey(kind), Material::AuthorityCertificate(kind)] {
            file(view, draft, material, None);
        }
    }
    file(view, draft, Material::ServiceAccountKey, None);
    file(view, draft, Material::ServiceAccountPublicKey, None);
    Ok(())
}

/// Why a leaf has to be made anew, if it has to. Key and certificate belong together: if one is missing, both are made.
fn defect(view: &HostView<'_>, seen: &Observations, leaf: Leaf) -> Result<Option<String>, Refusal> {
    let profile = leaf.profile(&identity::control_plane(view.cluster(), view.host));
    let text = |material: Material| seen.contents.get(&absolute(material)).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let key = absolute(Material::LeafKey(leaf));
    if !matches!(seen.paths.get(&key), Some(PathState::Present(_))) {
        return Ok(Some(format!("{key} is missing")));
    }
    let Some(certificate) = text(Material::LeafCertificate(leaf)) else {
        return Ok(Some(format!("{} is missing", absolute(Material::LeafCertificate(leaf)))));
    };
    let authority = text(Material::AuthorityCertificate(profile.authority)).unwrap_or_default();
    let now = OffsetDateTime::from_unix_timestamp(view.inputs.now_seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let defects = kok_pki::verify_leaf(&authority, &certificate, &profile, now).err().unwrap_or_default();
    Ok(defects.first().map(ToString::to_string))
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
    draft.add(material.path(), Resource::File(File { path: absolute(material), mode: material.mode(), content }))
}

/// Says that a step needs every certificate and kubeconfig of the host.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let tree = if has_authority(view.observations()) { of_tree() } else { Vec::new() };
    if tree.is_empty() {
        draft.needs(step, &view.id(NAME, TREE), Reason::Reads);
    }
    for material in tree.into_iter().chain(kubeconfigs()) {
        draft.needs(step, &view.id(NAME, material.path()), Reason::Reads);
    }
}
