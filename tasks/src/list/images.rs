//! The images that a host's roles need, and no others.

use super::{container_runtime, network};
use crate::artifact::Artifact;
use crate::bundle::BundleImage;
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::resources::{Image, Resource};

pub(super) const NAME: &str = "images";

/// Static pods of a control plane.
pub(super) const CONTROL_PLANE: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// On every node: the scheduler may place CoreDNS anywhere.
const NODE: [&str; 3] = ["pause", "kube-proxy", "coredns"];

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    let control_plane: &[&str] = if view.host.roles.control_plane { &CONTROL_PLANE } else { &[] };
    let is_left_out = |component: &str| match component {
        "etcd" => view.cluster().has_etcd_units(),
        "kube-proxy" => !network::has_proxy(view),
        _ => false,
    };
    let of_release = NODE.iter().take(1).chain(control_plane).chain(NODE.iter().skip(1));
    for component in of_release.filter(|component| !is_left_out(component)) {
        add(view, draft, component, view.release_image(component)?);
    }
    let balancer = (view.cluster().has_load_balancers() && !view.host.roles.control_plane).then_some("haproxy");
    let flannel = network::is_flannel(view).then_some("flannel");
    let of_network = flannel.into_iter().chain(network::is_there(view).then_some("echo"));
    for name in of_network.chain(balancer) {
        add(view, draft, name, view.image(name)?);
    }
    Ok(())
}

fn add(view: &HostView<'_>, draft: &mut Draft<'_>, step: &str, image: &BundleImage) {
    let resource = Image { reference: image.reference.clone(), digest: image.manifest_digest.clone(), artifact: Artifact::from(image) };
    let step = draft.add(step, Resource::Image(resource));
    draft.needs(&step, &view.id(container_runtime::NAME, container_runtime::SERVICE), Reason::TalksTo);
}

/// Says that a step starts containers of these images, as far as they are any.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId, images: &[&str]) {
    let is_unit = |image: &str| image == "etcd" && view.cluster().has_etcd_units();
    for image in images.iter().filter(|image| !is_unit(image)) {
        draft.needs(step, &view.id(NAME, image), Reason::StartsImage);
    }
}
