//! A cluster as it has to be after `apply`, by what its hosts and its API server say.

use kok_tests::lab::{Host, Lab, Power};
use serde_json::Value;

use super::{authorities, each, hosts, node_dns, ok, workload};
use crate::lab_support::wait_for;

/// Images that only a control plane needs.
const CONTROL_PLANE_IMAGES: [&str; 4] = ["/etcd:", "/kube-apiserver:", "/kube-controller-manager:", "/kube-scheduler:"];
/// What a run needs only for a while, with secrets in it.
const SHORT_LIVED: [&str; 7] = [
    "/etc/kubernetes/super-admin.conf",
    "/run/kokctl/super-admin.conf",
    "/etc/kubernetes/bootstrap-kubelet.conf",
    "/run/kokctl/join.yaml",
    "/run/kokctl/discovery.conf",
    "/run/kokctl/bootstrap-token.yaml",
    "/run/kokctl/jobs/*",
];

/// Output of kubectl on the first control plane that is on, as administrator.
pub fn kubectl(lab: &Lab, arguments: &str) -> String {
    let on = control_planes(lab).into_iter().find(|host| host.power().unwrap() == Power::On).unwrap();
    ok(&on, &format!("kubectl --kubeconfig /etc/kubernetes/admin.conf {arguments}"))
}

/// The hosts that a lab calls so.
pub fn control_planes(lab: &Lab) -> Vec<Host> {
    hosts(lab).into_iter().filter(is_control_plane).collect()
}

/// The hosts that are nodes: those of etcd alone are none.
pub fn node_hosts(lab: &Lab) -> Vec<Host> {
    hosts(lab).into_iter().filter(|host| !has_etcd_alone(host)).collect()
}

pub fn has_etcd_alone(host: &Host) -> bool {
    host.name().starts_with("etcd")
}

/// Whether etcd runs elsewhere than on the control planes.
pub fn has_own_etcd(lab: &Lab) -> bool {
    hosts(lab).iter().any(|host| host.power().unwrap() == Power::On && has_etcd_unit(host))
}

/// By what the host says: a worker may have one too.
fn has_etcd_unit(host: &Host) -> bool {
    !ok(host, "ls /etc/etcd/etcd.yaml 2>/dev/null || :").is_empty()
}

fn is_control_plane(host: &Host) -> bool {
    host.name().starts_with("cp")
}

/// The same as JSON.
pub fn kubectl_json(lab: &Lab, arguments: &str) -> Value {
    serde_json::from_str(&kubectl(lab, &format!("{arguments} -o json"))).unwrap()
}

/// The items of a list.
pub fn items(list: &Value) -> &Vec<Value> {
    list["items"].as_array().unwrap()
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
}

/// The DNS domain of Services where nobody says another one.
const DOMAIN: &str = "cluster.local";

/// What clusters differ in.
pub struct Kind<'a> {
    pub version: &'a str,
    /// The DNS domain of Services.
    pub domain: &'a str,
    /// Whether each worker has a way of its own to several API servers.
    pub has_load_balancers: bool,
    /// The nodes that not every pod may run on, where these are not the control planes.
    pub tainted: Option<&'a [&'a str]>,
}

/// Everything that has to hold of a finished cluster.
pub fn assert_complete(lab: &Lab, version: &str) {
    is_complete(lab, &Kind { version, domain: DOMAIN, has_load_balancers: control_planes(lab).len() > 1, tainted: None });
}

/// The same of one that is not of the usual kind.
pub fn is_complete(lab: &Lab, kind: &Kind<'_>) {
    let daemons = daemons(lab);
    let own_etcd = has_own_etcd(lab);
    control_planes(lab).iter().for_each(|host| certificates_are_valid(host, own_etcd));
    let load_balancer = if kind.has_load_balancers { "kokctl-haproxy.yaml" } else { "" };
    for host in node_hosts(lab) {
        host_is_as_it_should_be(&host, load_balancer, own_etcd, daemons);
    }
    serves(lab, kind);
}

/// What its users have of it, whoever has signed for it.
pub fn assert_serves(lab: &Lab, version: &str) {
    serves(lab, &Kind { version, domain: DOMAIN, has_load_balancers: false, tainted: None });
}

fn serves(lab: &Lab, kind: &Kind<'_>) {
    nodes_are_ready(lab, kind);
    pods_run(lab, daemons(lab));
    no_check_is_left(lab);
    no_token_is_left(lab);
    hosts(lab).iter().filter(|host| is_control_plane(host) || has_etcd_unit(host)).for_each(authorities::verify);
    workload::everybody_answers_everybody(lab, kind.domain);
}

fn nodes_are_ready(lab: &Lab, kind: &Kind<'_>) {
    let version = kind.version;
    let nodes = kubectl_json(lab, "get nodes");
    let mut names: Vec<&str> = items(&nodes).iter().map(|node| node["metadata"]["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, node_hosts(lab).iter().map(|host| host.name().to_owned()).collect::<Vec<_>>());
    for node in items(&nodes) {
        assert_eq!(condition(node, "Ready"), Some("True"), "{node}");
        assert_eq!(node["status"]["nodeInfo"]["kubeletVersion"], format!("v{version}"));
        assert!(node["status"]["nodeInfo"]["containerRuntimeVersion"].as_str().unwrap().starts_with("containerd://2."));
        let host = lab.host(node["metadata"]["name"].as_str().unwrap()).unwrap();
        assert_eq!(node["status"]["nodeInfo"]["machineID"], host.machine_id().unwrap());
        let control_plane = is_control_plane(&host);
        assert_eq!(node["metadata"]["labels"].get("node-role.kubernetes.io/control-plane").is_some(), control_plane);
        // Whoever is alone does all work.
        let usual = || control_plane && node_hosts(lab).len() > 1;
        let tainted = kind.tainted.map_or_else(usual, |tainted| tainted.contains(&host.name()));
        assert_eq!(node["spec"].get("taints").is_some(), tainted, "{}", node["spec"]);
    }
    let server = kubectl_json(lab, "version");
    assert_eq!(server["serverVersion"]["gitVersion"], format!("v{version}"));
}

/// What runs on every node from an image of its own: kube-proxy, and flannel or Calico where that is the network.
fn daemons(lab: &Lab) -> usize {
    let all = kubectl_json(lab, "get daemonsets --all-namespaces");
    let names = items(&all).iter().filter_map(|daemon| daemon["metadata"]["name"].as_str());
    names.filter(|name| ["kube-proxy", "kube-flannel-ds", "calico-node"].contains(name)).count()
}

fn pods_run(lab: &Lab, daemons: usize) {
    let mut waits = Vec::new();
    let everywhere = daemons + usize::from(node_dns::is_on(lab));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let pods = kubectl_json(lab, "get pods --all-namespaces");
        let own = items(&pods).iter().filter(|pod| pod["metadata"]["namespace"] != "kokctl-network-check");
        let own: Vec<&Value> = own.collect();
        // The three of the control plane, and etcd where it is no unit; kube-proxy, flannel and the DNS cache, where they are, everywhere; CoreDNS.
        assert!(own.len() > 3 + everywhere * node_hosts(lab).len(), "{} pods", own.len());
        waits.clear();
        for pod in own {
            if pod["status"]["phase"] != "Running" || condition(pod, "Ready") != Some("True") {
                waits.push(format!("{} {}", pod["metadata"]["name"], pod["status"]["phase"]));
            }
        }
        if waits.is_empty() {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "these do not run: {waits:?}");
    }
}

fn no_check_is_left(lab: &Lab) {
    wait_for("the namespace of the network check is gone", 60, || {
        kubectl(lab, "get namespace kokctl-network-check --ignore-not-found").is_empty()
    });
}

fn no_token_is_left(lab: &Lab) {
    assert_eq!(kubectl(lab, "-n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name"), "");
}

fn certificates_are_valid(control_plane: &Host, own_etcd: bool) {
    let said = ok(control_plane, "kubeadm certs check-expiration 2>/dev/null");
    let of_etcd: &[&str] = if own_etcd { &[] } else { &["etcd-peer", "etcd-server", "apiserver-etcd-client"] };
    for name in ["admin.conf", "apiserver", "front-proxy-client", "scheduler.conf"].iter().chain(of_etcd) {
        let line = said.lines().find(|line| line.split(' ').next() == Some(*name)).unwrap_or_else(|| panic!("no {name} in {said}"));
        assert!(line.contains(" 364d ") || line.contains(" 365d "), "{line}");
    }
    for name in ["ca", "etcd-ca", "front-proxy-ca"].into_iter().filter(|name| !own_etcd || *name != "etcd-ca") {
        assert!(said.lines().any(|line| line.starts_with(&format!("{name} ")) && line.contains(" 9y ")), "no {name} in {said}");
    }
}

/// What the hosts say, a line of shell each.
fn host_is_as_it_should_be(host: &Host, load_balancer: &str, own_etcd: bool, daemons: usize) {
    let name = host.name();
    let short_lived = format!("ls -d {}", SHORT_LIVED.join(" "));
    let [left, halves, jobs, failed, open, images, keys, kubeconfigs, manifests, credential] = each(
        host,
        [
            &short_lived,
            // Half-written files of a run that was killed.
            "find /etc /usr/local /opt /run/kokctl /var/lib/kokctl -name '.kokctl-*'",
            // But for those that make a part of the network at each start of the host.
            "systemctl list-units --all --plain --no-legend 'kokctl-*' | grep -v -e '^kokctl-pod-network.service ' -e '^kokctl-node-dns.service ' -e '^kokctl-keepalived'",
            "systemctl --failed --plain --no-legend",
            "find /etc/kubernetes /var/lib/kubelet/pki \\( -name '*.key' -o -name '*.conf' \\) -type f ! -perm 0600",
            "ctr -n k8s.io images ls | grep -v -e ^REF -e ^sha256:",
            "find /etc/kubernetes/pki -type f",
            "find /etc/kubernetes -name '*.conf'",
            "ls -A /etc/kubernetes/manifests",
            "sed -n 's/^ *client-[a-z]*: //p' /etc/kubernetes/kubelet.conf | sort -u",
        ],
    );
    for (what, found) in [("secrets", left), ("half-written files", halves), ("jobs", jobs), ("failed units", failed), ("open keys", open)]
    {
        assert_eq!(found, "", "{what} on {name}");
    }
    // The one that the kubelet renews, on a control plane too, where kubeadm's own order begins with another one.
    assert_eq!(credential, "/var/lib/kubelet/pki/kubelet-client-current.pem", "{name}");
    // Those of the daemons, of CoreDNS, of the network check, and the one that holds a pod's namespaces.
    assert!(images.lines().count() >= 3 + daemons, "{images}");
    for line in images.lines() {
        assert!(line.contains("io.cri-containerd.pinned=pinned"), "{name}: {line}");
    }
    let of_control_plane = CONTROL_PLANE_IMAGES.iter().filter(|image| images.contains(*image)).count();
    if !is_control_plane(host) {
        assert_eq!(of_control_plane, 0, "{name}: {images}");
        let of_etcd = |path: &&str| !path.starts_with("/etc/kubernetes/pki/etcd/") || !has_etcd_unit(host);
        assert_eq!(keys.lines().filter(of_etcd).collect::<Vec<_>>(), ["/etc/kubernetes/pki/ca.crt"], "{name}");
        assert_eq!(kubeconfigs, "/etc/kubernetes/kubelet.conf", "{name}");
        assert_eq!(manifests, load_balancer, "{name}");
    } else {
        assert_eq!(of_control_plane, CONTROL_PLANE_IMAGES.len() - usize::from(own_etcd), "{name}: {images}");
        let etcd = if own_etcd { "" } else { "etcd.yaml\n" };
        assert_eq!(manifests, format!("{etcd}kube-apiserver.yaml\nkube-controller-manager.yaml\nkube-scheduler.yaml"));
    }
}
