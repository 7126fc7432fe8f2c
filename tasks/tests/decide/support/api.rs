//! The API of the model's cluster: its nodes and objects, and how they come to be Ready.

use std::collections::{BTreeMap, BTreeSet};

use kok_tasks::observe::{KubernetesObject, KubernetesState, NodeState};
use serde_json::{Value, json};

use super::host::Host;

/// What is stored in etcd.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Api {
    pub(crate) nodes: BTreeMap<String, NodeState>,
    pub(crate) objects: BTreeMap<String, Value>,
    pub(crate) tokens: BTreeSet<String>,
}

/// Manifests of the static pods.
pub(crate) const MANIFESTS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

impl Api {
    pub(crate) fn object(&mut self, kind: &str, namespace: &str, name: &str, annotation: &str) {
        let object = json!({
            "kind": kind,
            "metadata": {"namespace": namespace, "name": name, "annotations": {"kokctl.io/source-sha256": annotation}},
        });
        self.objects.insert(format!("{kind}/{namespace}/{name}"), object);
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.objects.contains_key(key)
    }

    pub(crate) fn has_administrators(&self) -> bool {
        self.has("ClusterRoleBinding//kubeadm:cluster-admins")
    }
}

/// Whether the host has an image of that name.
fn has_image(host: &Host, name: &str) -> bool {
    host.images.keys().any(|reference| reference.contains(&format!("/{name}:")))
}

/// Whether the API server of a control plane answers.
pub(crate) fn answers(host: &Host) -> bool {
    let manifests = MANIFESTS.iter().all(|name| host.has(&format!("/etc/kubernetes/manifests/{name}.yaml")));
    let images = MANIFESTS.iter().chain(&["pause"]).all(|name| has_image(host, name));
    manifests && images && host.is_active("kubelet.service") && host.is_active("containerd.service")
}

/// Whether flannel's daemon runs on a host: it is on the host's own network.
pub(crate) fn has_subnet(api: &Api, host: &Host) -> bool {
    api.has("DaemonSet/kube-flannel/kube-flannel-ds") && has_image(host, "flannel") && api.nodes.contains_key(&host.name)
}

/// Whether containerd can give a pod an address and the kubelet calls the node Ready.
pub(crate) fn is_ready(api: &Api, host: &Host) -> bool {
    let plugins = ["/opt/cni/bin/flannel", "/opt/cni/bin/bridge", "/etc/cni/net.d/10-flannel.conflist"].iter().all(|path| host.has(path));
    plugins && host.is_active("kubelet.service") && host.is_active("containerd.service") && api.nodes.contains_key(&host.name)
}

/// What the administrator is told on this host.
pub(crate) fn state(api: &Api, host: &Host, hosts: &BTreeMap<String, Host>) -> KubernetesState {
    if !host.has("/etc/kubernetes/admin.conf") || !host.has("/usr/local/bin/kubectl") {
        return KubernetesState::Absent;
    }
    if !answers(host) {
        return KubernetesState::NotReady(
            "The connection to the server 10.20.0.11:6443 was refused - did you specify the right host or port?".into(),
        );
    }
    if !api.has_administrators() {
        return KubernetesState::Unanswered("Error from server (Forbidden): nodes is forbidden".into());
    }
    let mut nodes = api.nodes.clone();
    for (name, node) in &mut nodes {
        node.ready = is_ready(api, &hosts[name]);
    }
    let objects = api.objects.iter().map(|(key, object)| (key.clone(), KubernetesObject(with_status(api, hosts, object))));
    KubernetesState::Ready { nodes: nodes.clone(), objects: objects.collect(), bootstrap_tokens: api.tokens.iter().cloned().collect() }
}

/// Pods with an address of their own run on Ready nodes with a subnet, those on the host's network on any node.
fn with_status(api: &Api, hosts: &BTreeMap<String, Host>, object: &Value) -> Value {
    let mut object = object.clone();
    let name = object["metadata"]["name"].as_str().unwrap();
    let runs = |host: &Host| match name {
        "kube-proxy" => has_image(host, "kube-proxy"),
        "kube-flannel-ds" => has_subnet(api, host),
        "network-check" => has_image(host, "echo") && is_ready(api, host) && has_subnet(api, host),
        "coredns" => has_image(host, "coredns") && is_ready(api, host) && has_subnet(api, host),
        _ => false,
    };
    let running = hosts.values().filter(|host| api.nodes.contains_key(&host.name) && runs(host)).count();
    let (nodes, any) = (api.nodes.len(), running.min(1) * 2);
    match object["kind"].as_str().unwrap() {
        "DaemonSet" => {
            object["status"] = json!({"desiredNumberScheduled": nodes, "updatedNumberScheduled": running, "numberAvailable": running})
        }
        "Deployment" => {
            object["spec"] = json!({"replicas": 2});
            object["status"] = json!({"updatedReplicas": any, "availableReplicas": any});
        }
        _ => {}
    }
    object
}

/// What the pods of the network check report: every pod and the service answers every pod that runs.
pub(crate) fn reports(api: &Api, hosts: &BTreeMap<String, Host>) -> BTreeMap<String, String> {
    let services = api.has("DaemonSet/kube-system/kube-proxy") && api.has("Deployment/kube-system/coredns");
    let check = api.objects.get("DaemonSet/kokctl-network-check/network-check").map(|check| with_status(api, hosts, check));
    let running = check.map_or(0, |check| check["status"]["numberAvailable"].as_u64().unwrap());
    let answers: Vec<Value> =
        (0..=running).map(|target| json!({"target": format!("http://10.244.{target}.2:8080/"), "ok": services, "status": 200})).collect();
    let names = api.nodes.keys().take(usize::try_from(running).unwrap());
    names.map(|name| (name.clone(), Value::from(answers.clone()).to_string())).collect()
}
