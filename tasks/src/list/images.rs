//! The images that a host's roles need, and no others.

use kok_crds::model::{Delivery, Host};

use super::{Task, container_runtime, mirrors, network, network_check};
use crate::bundle::BundleImage;
use crate::network_plugins;
use crate::observe::ImageStore;
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Image, Resource};

pub(crate) const NAME: &str = "images";

pub(super) const TASK: Task = Task { name: NAME, about: "the images that the host's roles need, pinned", plan };

// Each image has a step of its own, called as the component.
const ETCD: StepName<'static> = StepName::new(NAME, "etcd");
const API_SERVER: StepName<'static> = StepName::new(NAME, "kube-apiserver");
const CONTROLLER_MANAGER: StepName<'static> = StepName::new(NAME, "kube-controller-manager");
const SCHEDULER: StepName<'static> = StepName::new(NAME, "kube-scheduler");
pub(super) const PAUSE: StepName<'static> = StepName::new(NAME, "pause");
pub(super) const KUBE_PROXY: StepName<'static> = StepName::new(NAME, "kube-proxy");
pub(super) const COREDNS: StepName<'static> = StepName::new(NAME, "coredns");
pub(super) const ECHO: StepName<'static> = StepName::new(NAME, "echo");
pub(super) const HAPROXY: StepName<'static> = StepName::new(NAME, "haproxy");

/// The step of an image that a network plugin needs, called as in the bundle.
pub(crate) const fn step(image: &'static str) -> StepName<'static> {
    StepName::new(NAME, image)
}

/// Static pods of a control plane.
pub(super) const CONTROL_PLANE: [StepName<'static>; 4] = [ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER];

/// On every node: the scheduler may place CoreDNS anywhere.
const NODE: [StepName<'static>; 3] = [PAUSE, KUBE_PROXY, COREDNS];

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    let control_plane: &[StepName<'static>] = if view.host.roles.control_plane { &CONTROL_PLANE } else { &[] };
    let is_left_out = |image: StepName<'_>| match image {
        ETCD => view.cluster().has_etcd_units(),
        KUBE_PROXY => !network::has_proxy(view),
        _ => false,
    };
    let of_release = NODE.iter().take(1).chain(control_plane).chain(NODE.iter().skip(1));
    for image in of_release.copied().filter(|image| !is_left_out(*image)) {
        add(view, draft, image, view.release_image(image.name())?);
    }
    let balancer = (view.cluster().has_load_balancers() && !view.host.roles.control_plane).then_some(HAPROXY);
    let of_plugin = network_plugins::images(view.cluster());
    let of_network = of_plugin.chain(network_check::is_possible(view).then_some(ECHO));
    for image in of_network.chain(balancer) {
        add(view, draft, image, view.image(image.name())?);
    }
    Ok(())
}

fn add(view: &HostView<'_>, draft: &mut Draft<'_>, step: StepName<'_>, image: &BundleImage) {
    let resource =
        Image { reference: image.reference.clone(), digest: image.manifest_digest.clone(), artifact: view.image_artifact(image) };
    let step = draft.add(step, Resource::Image(resource));
    draft.needs(&step, &view.id(container_runtime::SERVICE), Reason::TalksTo);
    if view.settings().delivery == Delivery::Pull {
        mirrors::read_by(view, draft, &step);
    }
}

/// Says that a step starts containers of these images, as far as they are any.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId, images: &[StepName<'static>]) {
    containers(view, images).for_each(|image| draft.needs(step, &view.id(image), Reason::StartsImage));
}

/// Says that another control plane has the images of its static pods before a step, as far as they are not there yet.
pub(super) fn needed_on(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId, host: &Host) -> Result<(), Refusal> {
    for image in containers(view, &CONTROL_PLANE) {
        let reference = &view.release_image(image.name())?.reference;
        let is_there =
            matches!(&view.seen.observations(&host.name).images, Some(ImageStore::Images(images)) if images.contains_key(reference));
        if !is_there {
            draft.needs(step, &image.on(&host.name), Reason::Because("all control planes have their images before the first one rests"));
        }
    }
    Ok(())
}

/// Those of these images of which containers are made.
fn containers<'a>(view: &HostView<'_>, images: &'a [StepName<'static>]) -> impl Iterator<Item = StepName<'static>> + use<'a> {
    let has_units = view.cluster().has_etcd_units();
    images.iter().copied().filter(move |image| !(*image == ETCD && has_units))
}
