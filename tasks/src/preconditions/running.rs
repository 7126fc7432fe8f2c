//! What a running cluster can't take over by another `apply`: each is an operation of its own.

use kok_crds::model::Cluster;

use super::Findings;
use crate::API_SERVER_PORT;
use crate::observe::{KubernetesState, Observations, PathState};
use crate::operations::FOUNDED;
use crate::plan::{Refusal, Seen};

/// kubeadm's configuration on a control plane, for when its API server does not answer.
const ON_HOST: &str = "/etc/kubernetes/kokctl/cluster.yaml";

/// Says that a control plane was set up.
const MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";

/// Checks the cluster that is there against the one that is asked for.
pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let Some(first) = cluster.control_planes().next() else { return };
    let observed = seen.observations(&first.name);
    if let Some(text) = configuration(observed) {
        changed(cluster, &text).into_iter().for_each(|refusal| found.refuse(refusal));
    }
    let Some(state @ KubernetesState::Ready { nodes, .. }) = &observed.kubernetes else { return };
    if let Some(refusal) = lost_data(state, observed) {
        found.refuse(refusal.at(format!("host {} ({})", first.name, first.address)));
    }
    for name in nodes.keys().filter(|name| cluster.host(name).is_none()) {
        found.refuse(
            Refusal::new(format!("the cluster has a node {name}, and the file has no such host"))
                .at("spec.hosts")
                .because("removing a node is an operation of its own, which this version does not have yet")
                .hint(format!("put {name} back into the file, or remove the node with `kubectl drain` and `kubectl delete node` first")),
        );
    }
}

/// From the cluster, or while that does not answer from the host. The host's file comes along only if it differs from the desired one.
fn configuration(seen: &Observations) -> Option<String> {
    let uploaded = seen.kubernetes.as_ref().and_then(|state| state.object("ConfigMap", "kube-system", "kubeadm-config"));
    let uploaded = uploaded.and_then(|map| map.text("/data/ClusterConfiguration")).map(str::to_owned);
    let set_up = matches!(seen.paths.get(MANIFEST), Some(PathState::Present(_)));
    let on_host = || seen.contents.get(ON_HOST).filter(|_| set_up).map(|text| String::from_utf8_lossy(text).into_owned());
    uploaded.or_else(on_host)
}

fn changed(cluster: &Cluster, is: &str) -> Vec<Refusal> {
    let network = &cluster.network;
    let endpoint = cluster.control_planes().next().map(|host| std::net::SocketAddr::new(host.address, API_SERVER_PORT).to_string());
    let desired = [
        ("kubernetesVersion", "spec.kubernetesVersion", format!("v{}", cluster.kubernetes_version)),
        ("podSubnet", "spec.network.podCIDR", network.pod_cidr.to_string()),
        ("serviceSubnet", "spec.network.serviceCIDR", network.service_cidr.to_string()),
        ("dnsDomain", "spec.network.clusterDomain", network.cluster_domain.clone()),
        ("controlPlaneEndpoint", "spec.hosts", endpoint.unwrap_or_default()),
    ];
    // Not a field of kubeadm's: an argument of the controller manager, which would give new nodes other shares of the range.
    let mask = is.lines().skip_while(|line| !line.ends_with("name: node-cidr-mask-size")).nth(1).and_then(|line| value_of(line, "value"));
    let desired = desired.map(|(key, field, desired)| (key, field, value_of(is, key), desired)).into_iter();
    let desired = desired.chain([("node-cidr-mask-size", "spec.network.nodePrefix", mask, network.node_prefix.to_string())]);
    let differing = desired.filter_map(|(key, field, is, desired)| {
        let is = is.filter(|is| *is != desired)?;
        let place = cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string);
        let refusal = Refusal::new(format!("the running cluster has {key} {is}, the file asks for {desired}"))
            .at(place)
            .because("that can't be changed by apply: it is an operation of its own, which this version does not have yet");
        Some(refusal.hint(format!("set {field} back to what the cluster has")))
    });
    differing.collect()
}

fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": ")).map(|value| value.trim_matches('"'))
}

/// A control plane that was founded once and now knows nothing has lost etcd's data. To set it up anew would bury that.
fn lost_data(state: &KubernetesState, seen: &Observations) -> Option<Refusal> {
    let founded = seen.contents.contains_key(FOUNDED);
    let objects = [("ConfigMap", "kubeadm-config"), ("DaemonSet", "kube-proxy"), ("Deployment", "coredns")];
    let empty = objects.iter().all(|(kind, name)| state.object(kind, "kube-system", name).is_none());
    (founded && empty).then(|| {
        Refusal::new("the cluster has lost its data")
            .because(format!("{FOUNDED} says that this cluster was set up, and its etcd holds nothing of it"))
            .hint("restore /var/lib/etcd from a backup; or, if the cluster can go, take it down with `kokctl reset` and make it anew")
    })
}
