//! The etcd member of a control plane: its data directory and its static pod.

use super::{certificates, kubeadm_configuration};
use crate::operations::{Component, Operation, StaticPods};
use crate::plan::{Draft, HostView, Reason, Refusal};
use crate::resources::{Directory, Resource};

pub(super) const NAME: &str = "etcd";

/// Step that writes the manifest.
pub(super) const MANIFEST: &str = "manifest";

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.etcd() {
        return Ok(());
    }
    // etcd refuses a directory that others may enter.
    let data = draft.add("data", Resource::Directory(Directory { path: "/var/lib/etcd".to_owned(), mode: 0o700 }));
    let configuration = kubeadm_configuration::bootstrap(view)?;
    let source = configuration.source();
    let manifest = StaticPods { component: Component::Etcd, configuration: configuration.path, source };
    let manifest = draft.add(MANIFEST, Operation::StaticPods(manifest));
    draft.needs(&manifest, &data, Reason::Because("etcd's data lies in that folder"));
    draft.needs(&manifest, &view.id(kubeadm_configuration::NAME, configuration.step), Reason::Reads);
    draft.needs(&manifest, &view.id(kubeadm_configuration::NAME, kubeadm_configuration::KUBEADM), Reason::Runs);
    certificates::needed_by(view, draft, &manifest);
    draft.needs(
        &manifest,
        &view.id(super::control_plane::NAME, "preflight"),
        Reason::Because("kubeadm checks a host before it changes it"),
    );
    Ok(())
}
