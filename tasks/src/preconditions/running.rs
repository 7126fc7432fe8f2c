//! What a running cluster can't take over by another `apply`: each is an operation of its own.

use std::net::SocketAddr;

use kok_crds::model::{Cluster, EtcdDeployment, FirewallPolicy, Host};
use semver::Version;

use super::needed::{self, Needed};
use super::{Findings, bootstrap, control_planes, other_parts, versions};
use crate::documents::joined;
use crate::identity;
use crate::membership::{answering, has_vote};
use crate::network_plugins;
use crate::observe::{KubernetesState, Observations, PathState};
use crate::operations::{API_SERVER_MANIFEST, FOUNDED, SOURCE_ANNOTATION};
use crate::plan::{Refusal, Seen};
use crate::speaker::speaker;
use crate::uploaded::{self, ClusterConfiguration, Unreadable};

/// kubeadm's configuration on a control plane, for when its API server does not answer.
pub(super) const ON_HOST: &str = "/etc/kubernetes/kokctl/cluster.yaml";

/// Says that a control plane was set up.
pub(super) const MANIFEST: &str = API_SERVER_MANIFEST;

/// Checks the cluster that is there against the one that is asked for.
pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let Some(speaker) = speaker(cluster, seen) else { return };
    let observed = seen.observations(&speaker.name);
    match configuration(observed) {
        Some(Ok(is)) => {
            let port = other_parts::port(cluster, observed);
            changed(cluster, &is, [port.is_some(), versions::is_mixed(cluster, seen)])
                .into_iter()
                .chain(port)
                .for_each(|refusal| found.refuse(refusal));
        }
        Some(Err(refusal)) => found.refuse(refusal),
        None => {}
    }
    even_members(cluster, seen).into_iter().for_each(|warning| found.warn(warning));
    let Some(state @ KubernetesState::Ready { nodes, .. }) = &observed.kubernetes else { return };
    let founded = cluster.control_planes().any(|host| seen.observations(&host.name).contents.contains_key(FOUNDED));
    if let Some(refusal) = lost_data(state, founded) {
        found.refuse(refusal.at(format!("host {} ({})", speaker.name, speaker.address)));
    }
    other_services(cluster, state).into_iter().for_each(|refusal| found.refuse(refusal));
    other_network(cluster, state).into_iter().for_each(|refusal| found.refuse(refusal));
    // Of a control plane with a member of etcd, the list of these has said it.
    let is_said = |name: &str| !cluster.has_etcd_units() && bootstrap::is_member(cluster, seen, name);
    for (name, node) in nodes.iter().filter(|(name, _)| cluster.host(name).is_none() && !is_said(name)) {
        let is_control_plane = control_planes::is_marked(node);
        let leaves = cluster.removed.contains(name);
        match needs_every_host(cluster) {
            Some(because) if leaves => found.refuse(still_there(cluster, name).because(because)),
            None if leaves => found.warn(still_there(cluster, name).because("only a part of the file is meant, or it could not leave yet")),
            _ if is_control_plane => found.refuse(left_out_control_plane(cluster, name)),
            Some(because) => found.refuse(left_out(cluster, name).because(because)),
            None => found.warn(left_out(cluster, name).because("a node does not leave the cluster because a line of the file is lost")),
        }
    }
}

/// A run that was cut off, or a removal, may have left it so.
fn even_members(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let (_, list) = answering(cluster, seen).next()?;
    let voters = list.members.iter().filter(|peer| has_vote(peer)).count();
    (voters % 2 == 0).then(|| {
        let because = if voters == 2 { "losing either stops the cluster" } else { "no more of them may be lost than of one less" };
        Refusal::new(format!("etcd has {voters} members")).because(because).hint(format!(
            "give the cluster another {}, or `kokctl remove` one",
            if cluster.has_etcd_units() { "host of etcd" } else { "control plane" }
        ))
    })
}

/// Where the hosts are listed.
fn place_of_hosts(cluster: &Cluster) -> String {
    cluster.position_of("spec.hosts").map_or_else(|| "spec.hosts".to_owned(), ToString::to_string)
}

/// Every list of control planes would lose it.
fn left_out_control_plane(cluster: &Cluster, name: &str) -> Refusal {
    let refusal =
        Refusal::new(format!("the cluster has a control plane {name}, and the file has no such host")).at(place_of_hosts(cluster));
    refusal.because("a control plane does not leave the cluster because a line of the file is lost").hint(or_remove(name))
}

/// How a host leaves.
fn or_remove(name: &str) -> String {
    format!(
        "put {name} back into the file; or, if it is to leave: `kokctl remove -f FILE {name}` with the file as it was, and with --dead if the host is gone \
         for good"
    )
}

/// A node whose host the file wants gone.
fn still_there(cluster: &Cluster, name: &str) -> Refusal {
    let place = cluster.position_of("spec.removed").map_or_else(|| "spec.removed".to_owned(), ToString::to_string);
    let refusal = Refusal::new(format!("the node {name} is to leave the cluster, and is still there")).at(place);
    refusal.hint(format!("`kokctl apply` of the whole file takes it out, or `kokctl remove -f FILE {name}`"))
}

/// Why no host may be missing in the file while its node works, if so: `apply` would take something away from it.
fn needs_every_host(cluster: &Cluster) -> Option<&'static str> {
    let opens = cluster.hosts.iter().any(|host| cluster.settings_of(host).host.firewall == FirewallPolicy::Open);
    match () {
        () if network_plugins::plugin(&cluster.network).gives_shares => Some("the hosts would lose their routes to its pods"),
        () if opens => Some("the firewalls of the hosts would let it in no more"),
        () => None,
    }
}

/// A node does not leave the cluster because its host is left out of the file.
fn left_out(cluster: &Cluster, name: &str) -> Refusal {
    Refusal::new(format!("the cluster has a node {name}, and the file has no such host")).at(place_of_hosts(cluster)).hint(or_remove(name))
}

/// From the cluster, or while that does not answer from the host. The host's file comes along only if it differs from the desired one; while the
/// cluster answers, a damaged one is written anew.
fn configuration(seen: &Observations) -> Option<Result<ClusterConfiguration, Refusal>> {
    if let Some(map) = seen.kubernetes.as_ref().and_then(|state| state.object("ConfigMap", "kube-system", "kubeadm-config")) {
        let read = uploaded::read_cluster(map.text("/data/ClusterConfiguration").unwrap_or_default());
        return Some(read.map_err(|error| {
            unreadable(&error).at("ConfigMap kube-system/kubeadm-config").hint(
                "correct it with `kubectl -n kube-system edit configmap kubeadm-config`: data.ClusterConfiguration is what kubeadm uploads",
            )
        }));
    }
    let set_up = matches!(seen.paths.get(MANIFEST), Some(PathState::Present(_)));
    let text = seen.contents.get(ON_HOST).filter(|_| set_up)?;
    Some(uploaded::read_cluster(&String::from_utf8_lossy(text)).map_err(|error| {
        unreadable(&error)
            .at(format!("{ON_HOST} of the first control plane"))
            .hint("start an API server first (`kokctl status` shows them): the cluster has it, too; or put back the file that was there")
    }))
}

fn unreadable(error: &Unreadable) -> Refusal {
    Refusal::new("kubeadm's configuration of the running cluster can't be read").because(error.to_string())
}

/// The version that the cluster's configuration says it has; none where nobody says it.
pub(crate) fn version(cluster: &Cluster, seen: &Seen) -> Option<Version> {
    let observed = seen.observations(&speaker(cluster, seen)?.name);
    Some(configuration(observed)?.ok()?.kubernetes_version)
}

/// With another port of the API servers, which is told of by itself, the endpoint may be another one, too; and of several versions all are told.
fn changed(cluster: &Cluster, is: &ClusterConfiguration, [is_other_port, is_mixed]: [bool; 2]) -> Vec<Refusal> {
    let network = &cluster.network;
    let (pods, services) = (joined(&network.pod_cidrs()), joined(&network.service_cidrs()));
    let networking = &is.networking;
    let field = |is: &Option<String>, desired: &str, ipv4, ipv6| other_range(is.as_deref().unwrap_or_default(), desired, [ipv4, ipv6]);
    let desired = [
        (
            "podSubnet",
            field(&networking.pod_subnet, &pods, "spec.network.podCIDR", "spec.network.podCIDRIPv6"),
            &networking.pod_subnet,
            pods,
        ),
        (
            "serviceSubnet",
            field(&networking.service_subnet, &services, "spec.network.serviceCIDR", "spec.network.serviceCIDRIPv6"),
            &networking.service_subnet,
            services,
        ),
        ("dnsDomain", "spec.network.clusterDomain", &networking.dns_domain, network.cluster_domain.clone()),
        ("controlPlaneEndpoint", endpoint_field(cluster), &is.control_plane_endpoint, identity::endpoint_text(cluster)),
    ];
    // What an upgrade has of versions is judged by the way that it goes.
    let version = Some(format!("v{}", is.kubernetes_version)).filter(|_| !is_mixed && cluster.underway.is_none());
    let version = ("kubernetesVersion", "spec.kubernetesVersion", version, format!("v{}", cluster.kubernetes_version));
    // Not a field of kubeadm's: an argument of the controller manager, which would give new nodes other shares of the range.
    let mask = |name: &str| is.controller_manager.extra_args.get(name).map(str::to_owned);
    let desired = desired.into_iter().map(|(key, field, is, desired)| (key, field, is.clone(), desired));
    // With dual stack there is one for each family; whether there is dual stack is told by the ranges.
    let of_ipv4 = ["node-cidr-mask-size", "node-cidr-mask-size-ipv4"].map(|name| (name, mask(name)));
    let of_ipv4 = of_ipv4.into_iter().map(|(name, mask)| (name, "spec.network.nodePrefix", mask, network.node_prefix.to_string()));
    let name = "node-cidr-mask-size-ipv6";
    let of_ipv6 = network.ipv6.map(|ipv6| (name, "spec.network.nodePrefixIPv6", mask(name), ipv6.node_prefix.to_string()));
    let desired = [version].into_iter().chain(desired).chain(of_ipv4).chain(of_ipv6);
    let etcd = other_deployment(cluster, is).into_iter().chain(other_parts::shares(cluster, is));
    let differing = desired.filter_map(|(key, field, is, desired)| {
        let may_differ = |is: &str| key == "controlPlaneEndpoint" && (is_other_port || gets_name(cluster, is));
        let is = is.filter(|is| *is != desired && !may_differ(is))?;
        let place = cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string);
        let refusal = Refusal::new(format!("the running cluster has {key} {is}, the file asks for {desired}"))
            .at(place)
            .because(needed_for(cluster, field, &is));
        let back = format!("set {field} back to what the cluster has");
        let is_upgrade = field == "spec.kubernetesVersion" && is_newer(cluster, &is);
        Some(refusal.hint(if is_upgrade { format!("`kokctl upgrade` brings the cluster there; or {back}") } else { back }))
    });
    differing.chain(etcd).collect()
}

/// Whether the address of what was the only control plane becomes a name that leads to several.
fn gets_name(cluster: &Cluster, is: &str) -> bool {
    let has_address = |host: &Host| identity::address(cluster, host) == is;
    cluster.api_endpoint_name().is_some() && cluster.control_planes().any(has_address)
}

/// The endpoint that the cluster says it has, or while that is silent a control plane.
pub(crate) fn endpoint(cluster: &Cluster, seen: &Seen) -> Option<String> {
    configuration(seen.observations(&speaker(cluster, seen)?.name))?.ok()?.control_plane_endpoint
}

/// Whether the file asks for a newer version than the cluster has.
fn is_newer(cluster: &Cluster, is: &str) -> bool {
    is.trim_start_matches('v').parse().is_ok_and(|is| cluster.kubernetes_version > is)
}

/// Which operation of its own would change a field of the cluster that is there.
fn needed_for(cluster: &Cluster, field: &str, is: &str) -> String {
    let is_older = || is.trim_start_matches('v').parse().is_ok_and(|is| cluster.kubernetes_version < is);
    let needed: Needed = match field {
        "spec.kubernetesVersion" if is_older() => {
            return "that is no upgrade: Kubernetes can't go back to an older version, which would not read what the newer one has stored"
                .to_owned();
        }
        "spec.kubernetesVersion" => return needed::UPGRADE.to_owned(),
        "spec.network.podCIDR" | "spec.network.podCIDRIPv6" => needed::RANGE_OF_PODS,
        "spec.network.serviceCIDR" | "spec.network.serviceCIDRIPv6" => needed::RANGE_OF_SERVICES,
        "spec.network.dualStack" => needed::SECOND_FAMILY,
        "spec.network.nodePrefix" | "spec.network.nodePrefixIPv6" => needed::SHARE_OF_NODES,
        "spec.network.clusterDomain" => needed::DOMAIN,
        // The endpoint follows from the hosts: a name where there are several control planes, the address of the only one.
        "spec.hosts" if is.parse::<SocketAddr>().is_ok() => {
            return "all ask the API at the address of what was the only control plane, and the file has none there; with others beside it `kokctl apply` gives \
                    the API a name, and it can be removed, replaced or moved then"
                .to_owned();
        }
        _ => needed::ENDPOINT,
    };
    needed.because()
}

/// The field that a range differs by: of the first family, of the second, or whether there is a second one.
fn other_range(is: &str, desired: &str, [ipv4, ipv6]: [&'static str; 2]) -> &'static str {
    let ((is, second), (desired, wanted)) = (is.split_once(',').unwrap_or((is, "")), desired.split_once(',').unwrap_or((desired, "")));
    match () {
        () if is != desired => ipv4,
        () if second.is_empty() != wanted.is_empty() => "spec.network.dualStack",
        () => ipv6,
    }
}

/// Who gives no endpoint has the one that follows from his hosts.
fn endpoint_field(cluster: &Cluster) -> &'static str {
    let written = ["spec.apiEndpoint.address", "spec.vars.loadbalancer_apiserver.address"];
    written.into_iter().find(|path| cluster.position_of(path).is_some()).unwrap_or("spec.hosts")
}

/// kubeadm's `etcd.local` is a pod, `etcd.external` one that it does not run.
fn other_deployment(cluster: &Cluster, is: &ClusterConfiguration) -> Option<Refusal> {
    let (is, wanted) = match (is.etcd.external.is_some(), is.etcd.local.is_some(), cluster.has_etcd_units()) {
        (true, _, false) => (EtcdDeployment::Host, EtcdDeployment::Kubeadm),
        (false, true, true) => (EtcdDeployment::Kubeadm, EtcdDeployment::Host),
        _ => return None,
    };
    let field = "spec.vars.etcd_deployment_type";
    let place = cluster.position_of(field).or_else(|| cluster.position_of("spec.hosts"));
    Some(
        Refusal::new(format!("the running cluster has etcd_deployment_type {}, the file asks for {}", is.as_str(), wanted.as_str()))
            .at(place.map_or_else(|| field.to_owned(), ToString::to_string))
            .because(needed::MOVE_ETCD.because())
            .hint(format!("set {field} back to {}, with the members that etcd has", is.as_str())),
    )
}

/// Its rules would stay in the kernels of all nodes beside those of whatever comes instead. One without our mark is the user's own.
fn other_services(cluster: &Cluster, state: &KubernetesState) -> Option<Refusal> {
    let ours = state.object("DaemonSet", "kube-system", "kube-proxy")?.text(SOURCE_ANNOTATION).is_some();
    (ours && cluster.settings.kube_proxy_remove).then(|| {
        let field = "spec.vars.kube_proxy_remove";
        let place = cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string);
        Refusal::new("the running cluster has kube-proxy, and the file asks for none")
            .at(place)
            .because("apply can't take it away: its rules would stay in the kernel of every node, beside those of what comes instead")
            .hint(
                "leave kube_proxy_remove out; or, once another program carries Services, delete the DaemonSet kube-system/kube-proxy and start \
                 each node anew, and apply then",
            )
    })
}

/// Another plugin, or what can't be changed of the same one.
fn other_network(cluster: &Cluster, state: &KubernetesState) -> Option<Refusal> {
    let wanted = network_plugins::plugin(&cluster.network);
    let other = network_plugins::installed(state).filter(|is| is.kind != wanted.kind);
    let Some(is) = other else { return (wanted.refused_change)(cluster, state) };
    let field = "spec.network.plugin";
    let place = cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string);
    let (is_called, wanted_called) = (is.called, wanted.called);
    Some(
        Refusal::new(format!("the network plugin of the running cluster is {is_called}, the file asks for {wanted_called}"))
            .at(place)
            .because("taking a network away from under its pods is no part of apply")
            .hint(format!("set {field} back to {}; a cluster with another network has to be made anew", is.kind.as_str())),
    )
}

/// A cluster that was founded once and now knows nothing has lost etcd's data. To set it up anew would bury that.
fn lost_data(state: &KubernetesState, founded: bool) -> Option<Refusal> {
    let objects = [("ConfigMap", "kubeadm-config"), ("DaemonSet", "kube-proxy"), ("Deployment", "coredns")];
    let empty = objects.iter().all(|(kind, name)| state.object(kind, "kube-system", name).is_none());
    (founded && empty).then(|| {
        Refusal::new("the cluster has lost its data")
            .because(format!("{FOUNDED} says that this cluster was set up, and its etcd holds nothing of it"))
            .hint("restore /var/lib/etcd from a backup; or, if the cluster can go, take it down with `kokctl reset` and make it anew")
    })
}
