//! The end of every run that changes nodes or their network: pods of all nodes answer each other.

use std::time::Duration;

use serde::Serialize;

use super::{Task, control_plane, images, network, node_dns};
use crate::operations::{ApplyManifest, NETWORK_CHECK_NAMESPACE, NetworkCheck, NetworkCheckStage, Operation, WorkloadReady, askers};
use crate::plan::{Draft, HostView, Reason, Refusal};
use crate::templates::render;

const NAME: &str = "network-check";

pub(super) const TASK: Task = Task { name: NAME, about: "pods of all nodes answer each other", plan };

#[derive(Serialize)]
struct Check<'a> {
    image: &'a str,
}

/// Whether the network can be tried: where there will be one, and the bundle has the image that tries it. Upstream publishes no such image, so a
/// bundle of upstream's may lack it.
pub(super) fn is_possible(view: &HostView<'_>) -> bool {
    network::is_there(view) && view.has_image(images::ECHO.name())
}

/// The steps of the check, by their stage.
fn operation(view: &HostView<'_>) -> Result<impl Fn(NetworkCheckStage) -> Operation, Refusal> {
    let nodes: Vec<String> = view.cluster().nodes().map(|host| host.name.clone()).collect();
    let control_planes = view.cluster().control_planes().map(|host| host.name.as_str()).collect();
    let askers = askers(&nodes, &control_planes, view.kubernetes());
    let (network, proxy) = (network::sum(view)?, network::has_proxy(view));
    let families = view.cluster().network.pod_cidrs().len();
    Ok(move |stage| {
        let (network, nodes, askers) = (network.clone(), nodes.clone(), askers.clone());
        Operation::NetworkCheck(NetworkCheck { stage, network, nodes, askers, families, proxy })
    })
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    // Where a node is away that nobody waits for, its pod would never answer.
    if !view.is_speaker() || !is_possible(view) || view.cluster().has_away() {
        return Ok(());
    }
    let hosts: Vec<_> = view.cluster().nodes().collect();
    let text = render("network-check/network-check.yaml.j2", &Check { image: &view.image("echo")?.reference })?;
    let name = "network-check";
    let manifest = ApplyManifest { what: "the network check", text, namespace: NETWORK_CHECK_NAMESPACE, name };
    let workload = WorkloadReady { kind: "DaemonSet", namespace: NETWORK_CHECK_NAMESPACE, name, at_least: hosts.len() as u64 };
    let stage = operation(view)?;

    let deployed = draft.add("pods", stage(NetworkCheckStage::Deploy(manifest)));
    draft.needs(&deployed, &view.id(control_plane::ADMINISTRATORS), Reason::Because("only administrators may"));
    // Its pods tolerate everything, so they would be there as soon as their nodes are, and every kubelet would try in vain to start them.
    draft.needs(&deployed, &view.id(network::NODES_READY), Reason::Because("its pods get their addresses from the network"));
    node_dns::asked_by_pods_of(view, draft, &deployed);
    let running = draft.add("pods-running", stage(NetworkCheckStage::Running(workload)));
    draft.within(Duration::from_secs(300));
    draft.needs(&running, &deployed, Reason::Because("they have to be in the cluster before they can run"));
    draft.needs(&running, &view.id(network::NODES_READY), Reason::Because("it has a pod on every node"));
    for host in hosts {
        draft.needs(&running, &images::ECHO.on(&host.name), Reason::StartsImage);
    }
    let answered = draft.add("answers", stage(NetworkCheckStage::Answer));
    draft.within(Duration::from_secs(180));
    draft.needs(&answered, &running, Reason::TalksTo);
    for step in network::running_steps(view) {
        draft.needs(&answered, &view.id(step), Reason::TalksTo);
    }
    if node_dns::is_on(view) {
        draft.needs(&answered, &view.id(node_dns::RUNNING), Reason::TalksTo);
    }
    let record = draft.add("record", stage(NetworkCheckStage::Record));
    draft.needs(&record, &answered, Reason::Because("only a proof that was given is recorded"));
    Ok(())
}
