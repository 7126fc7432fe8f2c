//! What kubelets show on their port is signed by the cluster's authority, so that who asks them can know that it is them.
//!
//! It stands where a kubelet looks first, and where it would put one that it signs itself: one that finds a pair there takes it, and reads it anew when it
//! changes (`ReloadKubeletServerCertificateFile`, on since 1.31). So no kubelet is configured otherwise or started anew for it.

use kok_pki::{AuthorityKind, Material};
use time::OffsetDateTime;

use super::Task;
use super::certificates::{self, first_defect};
use crate::identity;
use crate::in_use::{KUBELET_SERVING, KUBELET_SERVING_KEY, shows_users_own};
use crate::issued::is_kept_elsewhere;
use crate::observe::{Look, PathState};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::preconditions;
use crate::renewal::{CertificatePart, Renewal};
use crate::resources::{Directory, File, FileContent, Replace, Resource};
use crate::secret_name::SecretName;

const NAME: &str = "kubelet-certificate";

pub(super) const TASK: Task = Task { name: NAME, about: "the certificate that a kubelet shows", plan };

const CERTIFICATE: StepName<'static> = StepName::new(NAME, "certificate");

/// As kubeadm makes the first and the kubelet the second.
const FOLDERS: [(&str, &str, u32); 2] = [("folder", "/var/lib/kubelet", 0o700), ("folder-of-keys", "/var/lib/kubelet/pki", 0o755)];

/// As the kubelet writes them.
const MODES: [(&str, u32); 2] = [(KUBELET_SERVING_KEY, 0o600), (KUBELET_SERVING, 0o644)];

/// Whether the host's kubelet shows a certificate of kokctl's: a host has to have the key that signs it.
fn is_ours(view: &HostView<'_>) -> bool {
    let is_signed = !is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes);
    view.host.roles.is_node() && is_signed && !shows_users_own(view.cluster(), view.host)
}

/// What the judgement on a host's certificate needs.
pub(crate) fn looks() -> Vec<Look> {
    let paths = FOLDERS.map(|(_, path, _)| path).into_iter().chain(MODES.map(|(path, _)| path)).map(|path| Look::Path(path.to_owned()));
    paths.chain([Look::Content(KUBELET_SERVING.to_owned()), Look::Content(authority())]).collect()
}

/// The file of the authority that signs it.
fn authority() -> String {
    certificates::absolute(Material::AuthorityCertificate(AuthorityKind::Kubernetes))
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if is_ours(view) {
        let folders = folders(view, draft);
        let [key, _] = files(view, draft, defect(view));
        folders.iter().for_each(|folder| draft.needs(&key, folder, Reason::Inside));
        // A new authority counts where a control plane keeps it: what another one has signed, that a run made which was cut off, is worth nothing.
        if preconditions::keeper(view.cluster(), view.seen).is_none() {
            let keeper = if view.host.roles.control_plane { view.host } else { view.speaker()? };
            let set = certificates::set(view, keeper);
            set.iter().for_each(|set| draft.needs(&key, set, Reason::Because("it is signed by an authority that has to be kept first")));
        }
    }
    Ok(())
}

/// What is there belongs to kubeadm and the kubelet, and keeps its mode.
fn folders(view: &HostView<'_>, draft: &mut Draft<'_>) -> Vec<StepId> {
    let mut made: Vec<StepId> = Vec::new();
    for (name, path, mode) in FOLDERS {
        if !is_there(view, path) {
            let step = draft.add(StepName::new(NAME, name), Resource::Directory(Directory::new(path, mode)));
            made.last().into_iter().for_each(|above| draft.needs(&step, above, Reason::Inside));
            made.push(step);
        }
    }
    made
}

fn is_there(view: &HostView<'_>, path: &str) -> bool {
    matches!(view.observations().paths.get(path), Some(PathState::Present(_)))
}

/// Why key and certificate are made anew, if they are.
fn defect(view: &HostView<'_>) -> Option<String> {
    if !is_there(view, KUBELET_SERVING_KEY) {
        return Some(format!("{KUBELET_SERVING_KEY} is missing"));
    }
    let Some(certificate) = view.observations().contents.get(KUBELET_SERVING) else { return Some(format!("{KUBELET_SERVING} is missing")) };
    // A worker gets the authority when it joins, which is later.
    let has_authority = view.observations().contents.contains_key(&authority());
    let keeper = preconditions::keeper(view.cluster(), view.seen).filter(|_| !has_authority);
    let seen = keeper.map_or(view.observations(), |keeper| view.seen.observations(&keeper.name));
    first_defect(view, seen, &String::from_utf8_lossy(certificate), &identity::kubelet_server(view.host))
}

/// Steps of key and certificate; `wrong` says why both are written again if something stands there.
fn files(view: &HostView<'_>, draft: &mut Draft<'_>, wrong: Option<String>) -> [StepId; 2] {
    let [key, certificate] = MODES.map(|(path, mode)| {
        let found = view.observations().paths.get(path).and_then(PathState::present);
        let replace = wrong.clone().zip(found).map(|(because, found)| Replace { because, changed_nanoseconds: found.changed_nanoseconds });
        let name = SecretName::KubeletFile { host: view.host.name.clone(), path: path.to_owned() };
        let without = (path == KUBELET_SERVING_KEY).then(|| KUBELET_SERVING.to_owned());
        let file = File::new(path, mode, FileContent::Secret { name, replace, without });
        let step = if path == KUBELET_SERVING { CERTIFICATE } else { StepName::new(NAME, "key") };
        draft.add(step, Resource::File(file))
    });
    draft.needs(&certificate, &key, Reason::Because("it is the certificate of that key"));
    [key, certificate]
}

/// The steps that make it anew where that is asked for and needed.
pub(super) fn renewed<'a>(view: &HostView<'a>, renewal: &Renewal<'_>) -> Option<Draft<'a>> {
    if !is_ours(view) || !renewal.has_part(CertificatePart::Kubelets) || !is_there(view, KUBELET_SERVING_KEY) {
        return None;
    }
    let now = OffsetDateTime::from_unix_timestamp(view.inputs.now_seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let certificate = view.observations().contents.get(KUBELET_SERVING);
    let by_word = || renewal.by_word(&String::from_utf8_lossy(certificate?), AuthorityKind::Kubernetes, now);
    let reason = defect(view).or_else(by_word)?;
    let mut draft = Draft::new(&view.host.name, NAME);
    files(view, &mut draft, Some(reason));
    Some(draft)
}

/// Says that a kubelet that has not been started before finds it.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, start: &StepId) {
    if is_ours(view) {
        draft.needs(start, &view.id(CERTIFICATE), Reason::Because("a kubelet that finds none signs one itself"));
    }
}
