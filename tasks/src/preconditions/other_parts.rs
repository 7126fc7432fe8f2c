//! Parts of a running cluster that its uploaded configuration shows in other words than the file.

use kok_crds::model::Cluster;

use super::needed;
use super::running::{MANIFEST, ON_HOST};
use crate::documents::{NO_SHARES, SHARES_OF_BRIDGE, shares as wanted_shares};
use crate::network_plugins::plugin;
use crate::observe::{Observations, PathState};
use crate::plan::Refusal;
use crate::uploaded::{self, ClusterConfiguration};

/// Another port of the API servers. What is uploaded names no host's; the file of the host comes along where it is another one than the
/// desired.
pub(super) fn port(cluster: &Cluster, seen: &Observations) -> Option<Refusal> {
    let set_up = matches!(seen.paths.get(MANIFEST), Some(PathState::Present(_)));
    let on_host = String::from_utf8_lossy(seen.contents.get(ON_HOST).filter(|_| set_up)?);
    let (is, wanted) = (uploaded::read(&on_host).ok()?.init?.local_api_endpoint.bind_port?, cluster.api_server_port());
    let written = ["spec.vars.kube_apiserver_port", "spec.vars.loadbalancer_apiserver_port"];
    let place = written.into_iter().find_map(|path| cluster.position_of(path)).or_else(|| cluster.position_of("spec.hosts"));
    (is != wanted).then(|| {
        Refusal::new(format!("the API servers of the running cluster listen at port {is}, the file asks for {wanted}"))
            .at(place.map_or_else(|| "spec.vars.kube_apiserver_port".to_owned(), ToString::to_string))
            .because(needed::ENDPOINT.because())
            .hint(format!("set kube_apiserver_port back to {is}"))
    })
}

/// With the bridge it is kokctl that gives nodes their shares of the pods' range; with others the controller manager, unless the owner wants
/// none.
pub(super) fn shares(cluster: &Cluster, is: &ClusterConfiguration) -> Option<Refusal> {
    let is = is.controller_manager.extra_args.get("allocate-node-cidrs");
    let wanted = wanted_shares(cluster);
    let has_bridge = is == Some(SHARES_OF_BRIDGE);
    // A network with ranges of its own needs none, and takes no notice of those that are there.
    if is == wanted || (!has_bridge && !plugin(&cluster.network).takes_shares) {
        return None;
    }
    if !has_bridge && wanted != Some(SHARES_OF_BRIDGE) {
        let (is, wanted) = if is == Some(NO_SHARES) { ("has none", "them") } else { ("has them", "none") };
        let field = "spec.vars.kube_controller_manager_allocate_node_cidrs";
        return Some(
            Refusal::new(format!("the running cluster {is}, shares of the pods' range for nodes, and the file asks for {wanted}"))
                .at(cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string))
                .because(needed::SHARE_OF_NODES.because())
                .hint("set it back to what it was; with Calico it was the network plugin that said so"),
        );
    }
    let field = "spec.network.plugin";
    let (is, back) = if has_bridge { ("bridge", "bridge") } else { ("another one than bridge", "what it was") };
    Some(
        Refusal::new(format!("the network plugin of the running cluster is {is}, the file asks for {}", cluster.network.plugin.as_str()))
            .at(cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string))
            .because("taking a network away from under its pods is no part of apply")
            .hint(format!("set {field} back to {back}; a cluster with another network has to be made anew")),
    )
}
