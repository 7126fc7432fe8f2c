//! The API of the model's cluster: its nodes and objects, and how they come to be Ready.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::{NETWORK_ADDON, ObjectName};
use kok_tasks::drain::{Budget, Pod};
use kok_tasks::observe::{
    ApiServerState, BootstrapTokenState, ETCD, EtcdData, EtcdMember, EtcdPeer, EtcdState, KubernetesObject, KubernetesState, LiveObject,
    NodeState,
};
use kok_tasks::operations::{ApplyAddon, FOUNDERS_LINK, MEMBER_DATA, RemoveAddons};
use serde_json::{Value, json};

use super::encryption::Stored;
use super::host::Host;

/// What is stored in etcd.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Api {
    /// How many values there are in etcd.
    pub(crate) stored: Stored,
    pub(crate) nodes: BTreeMap<String, NodeState>,
    pub(crate) objects: BTreeMap<String, Value>,
    /// Names of bootstrap tokens, and how many seconds each has left.
    pub(crate) tokens: BTreeMap<String, u64>,
    /// What nodes are annotated with.
    pub(crate) annotations: BTreeMap<String, BTreeMap<String, String>>,
    /// What runs on nodes, besides what the model needs.
    pub(crate) pods: BTreeMap<String, Vec<Pod>>,
    /// What protects it.
    pub(crate) budgets: Vec<Budget>,
    /// Objects of addons.
    pub(crate) addons: BTreeMap<ObjectName, LiveObject>,
    /// The hosts on which etcd is meant to run.
    pub(crate) members: Vec<String>,
    /// The hosts whose member was announced, and has no vote yet.
    pub(crate) learners: Vec<String>,
    /// Whether it is a unit there.
    pub(crate) etcd_units: bool,
    /// Those whose member was started once and has told the others.
    pub(crate) started: BTreeSet<String>,
}

/// Says in the model that a host has the data of another cluster's member.
pub(crate) const FOREIGN_DATA: &str = "/var/lib/etcd/member/foreign";

/// Manifests of the static pods.
pub(crate) const MANIFESTS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

impl Api {
    /// Time passes: a token that has ended is removed.
    pub(crate) fn pass(&mut self, seconds: u64) {
        self.tokens.values_mut().for_each(|left| *left = left.saturating_sub(seconds));
        self.tokens.retain(|_, left| *left > 0);
    }

    pub(crate) fn object(&mut self, kind: &str, namespace: &str, name: &str, annotation: &str) {
        let object = json!({
            "kind": kind,
            "metadata": {"namespace": namespace, "name": name, "annotations": {"kokctl.io/source-sha256": annotation}},
        });
        self.objects.insert(format!("{kind}/{namespace}/{name}"), object);
    }

    /// What is applied is there with the addon's label; what its manifest has no longer goes, if it has it.
    pub(crate) fn apply_addon(&mut self, addon: &ApplyAddon) {
        let sum = |name: &ObjectName| format!("{name}-{}", addon.source).replace(' ', "-");
        let live = |name: &ObjectName| LiveObject { addon: addon.name.clone(), is_going: false, sum: sum(name) };
        self.addons.extend(addon.objects.iter().map(|name| (name.clone(), live(name))));
        self.remove(&addon.name, &addon.gone);
        let line = |name: &ObjectName| {
            let namespace = name.namespace.as_deref().unwrap_or(if name.kind == "Namespace" { "" } else { "default" });
            format!("{} {} {namespace}/{} {}  {}\n", name.api_version, name.kind, name.name, addon.name, sum(name))
        };
        let lines: String = addon.objects.iter().chain(&addon.kept).map(line).collect();
        self.record(&addon.name, Some(format!("source {}\n{lines}", addon.source)));
    }

    pub(crate) fn remove_addons(&mut self, addons: &RemoveAddons) {
        for (name, gone) in &addons.gone {
            self.remove(name, gone);
            let kept = addons.kept.get(name).map(Vec::as_slice).unwrap_or_default();
            let lines: String = kept.iter().map(|name| format!("{} {} /{} addon  0\n", name.api_version, name.kind, name.name)).collect();
            self.record(name, (!kept.is_empty()).then(|| format!("source kept\n{lines}")));
        }
    }

    fn remove(&mut self, addon: &str, gone: &[ObjectName]) {
        let is_same = |one: &ObjectName, other: &ObjectName| {
            let namespace = |name: &ObjectName| name.namespace.clone().unwrap_or("default".into());
            (&one.kind, &one.name) == (&other.kind, &other.name) && (one.kind == "Namespace" || namespace(one) == namespace(other))
        };
        self.addons.retain(|name, live| live.addon != addon || !gone.iter().any(|gone| is_same(gone, name)));
    }

    /// The cluster's record of an addon.
    pub(crate) fn record(&mut self, addon: &str, text: Option<String>) {
        let empty = || json!({"kind": "ConfigMap", "metadata": {"namespace": "kube-system", "name": "kokctl-addons"}, "data": {}});
        let map = self.objects.entry("ConfigMap/kube-system/kokctl-addons".to_owned()).or_insert_with(empty);
        let data = map["data"].as_object_mut().unwrap();
        match text {
            Some(text) => drop(data.insert(addon.to_owned(), text.into())),
            None => drop(data.remove(addon)),
        }
    }

    /// Whether a network of the user's own was applied.
    fn has_own_network(&self) -> bool {
        self.objects.get("ConfigMap/kube-system/kokctl-addons").is_some_and(|map| map["data"].get(NETWORK_ADDON).is_some())
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
    let is_it = |path: &str| path.strip_suffix(name).is_some_and(|before| before.ends_with('/'));
    host.images.keys().any(|reference| reference.rsplit_once(':').is_some_and(|(path, _)| is_it(path)))
}

/// Whether the static pods of these names run on a host.
fn runs(host: &Host, names: &[&str]) -> bool {
    // This is asked more often than anything else: what is soon known comes first.
    let units = host.is_active("kubelet.service") && host.is_active("containerd.service");
    if !units || names.iter().any(|name| host.down.contains(*name)) {
        return false;
    }
    let there = |name: &&str| host.has(&format!("/etc/kubernetes/manifests/{name}.yaml")) && has_image(host, name);
    names.iter().all(there) && has_image(host, "pause") && (!names.contains(&"etcd") || etcd_begins(host))
}

/// Whether etcd does not end at once, by what its manifest says: without data it joins nobody, and without a file that it is to read it ends.
fn etcd_begins(host: &Host) -> bool {
    let says = |part: &str| host.text("/etc/kubernetes/manifests/etcd.yaml").contains(part);
    let reads_all = || host.has(FOUNDERS_LINK) || !says(FOUNDERS_LINK);
    let begins = || host.has(MEMBER_DATA) || says("--initial-cluster=") || !says("--initial-cluster-state=existing");
    reads_all() && begins()
}

/// Whether a unit's member does what it is to do when it is started first: it joins those that expect it, by the list that they have, and founds nothing
/// beside others that work.
pub(crate) fn unit_begins(api: &Api, host: &Host) -> bool {
    let text = host.text("/etc/etcd/etcd.yaml");
    let is_listed = |name: &String| text.contains(&format!("{name}={}", peer_url(name)));
    let all = api.members.iter().chain(&api.learners);
    match text.contains("initial-cluster-state: existing") {
        _ if host.has(MEMBER_DATA) => true,
        true => api.learners.contains(&host.name) && all.clone().all(is_listed) && text.matches(":2380").count() == all.count() + 2,
        false => {
            api.members.contains(&host.name) && !api.started.contains(&host.name) && text.matches(":2380").count() == api.members.len() + 2
        }
    }
}

/// Whether etcd runs on a host, alone or not.
pub(crate) fn runs_etcd(host: &Host) -> bool {
    runs(host, &["etcd"]) || (host.is_active("etcd.service") && !host.down.contains("etcd"))
}

/// The manifests that a control plane has.
pub(crate) fn manifests(api: &Api) -> &'static [&'static str] {
    if api.etcd_units { &MANIFESTS[1..] } else { &MANIFESTS }
}

/// Whether the host's member has a vote; a unit's is asked from elsewhere.
fn votes(api: &Api, host: &Host) -> bool {
    api.etcd_units || api.members.contains(&host.name)
}

/// Whether more than half of etcd's members run.
pub(crate) fn has_quorum(api: &Api, hosts: &BTreeMap<String, Host>) -> bool {
    api.members.iter().filter(|name| runs_etcd(&hosts[*name])).count() * 2 > api.members.len()
}

/// More than half of the members write down of each that runs that it was started.
pub(crate) fn members_find_each_other(api: &mut Api, hosts: &BTreeMap<String, Host>) {
    if has_quorum(api, hosts) {
        api.started.extend(api.members.iter().filter(|name| runs_etcd(&hosts[*name])).cloned());
    }
}

/// Whether the API server of a control plane answers.
pub(crate) fn answers(api: &Api, host: &Host, hosts: &BTreeMap<String, Host>) -> bool {
    runs(host, manifests(api)) && votes(api, host) && has_quorum(api, hosts)
}

/// Whether the API server of any control plane answers.
pub(crate) fn any_answers(api: &Api, hosts: &BTreeMap<String, Host>) -> bool {
    hosts.values().any(|host| answers(api, host, hosts))
}

pub(crate) fn api_server(api: &Api, host: &Host, hosts: &BTreeMap<String, Host>) -> ApiServerState {
    match state(api, host, hosts) {
        KubernetesState::Absent => ApiServerState::Absent,
        KubernetesState::NotReady(said) => ApiServerState::NotReady(said),
        KubernetesState::Unanswered(_) | KubernetesState::Ready { .. } => ApiServerState::Ready,
    }
}

/// What there is of a member's data.
pub(crate) fn etcd_data(host: &Host) -> EtcdData {
    EtcdData { bytes: host.has(MEMBER_DATA).then_some(1 << 20), free: 1 << 40, last_write: Some(1_780_000_000), revision: Some(7) }
}

/// What a member says of itself.
pub(crate) fn etcd(api: &Api, host: &Host, hosts: &BTreeMap<String, Host>) -> EtcdState {
    let asks = if api.etcd_units {
        ["/etc/etcd/etcd.yaml", "/usr/local/bin/etcdctl"]
    } else {
        ["/etc/kubernetes/manifests/etcd.yaml", "/usr/local/bin/kubectl"]
    };
    let set_up = ["/etc/kubernetes/pki/etcd/healthcheck-client.key"].into_iter().chain(asks).collect::<Vec<_>>();
    if !set_up.iter().all(|path| host.has(path)) {
        return EtcdState::Absent;
    }
    if !runs_etcd(host) {
        return EtcdState::NotReady("The connection to the server 127.0.0.1:2379 was refused".into());
    }
    let id = member_id(&host.name);
    if api.learners.contains(&host.name) {
        let learner =
            EtcdMember { cluster_id: "7".into(), id, is_learner: true, has_leader: has_quorum(api, hosts), ..EtcdMember::default() };
        return EtcdState::Ready(learner);
    }
    let peer = |name: &String, is_learner: bool| {
        let is_started = api.started.contains(name);
        let named = if is_learner && !is_started { String::new() } else { name.clone() };
        EtcdPeer { id: member_id(name), is_learner, name: named, peer_url: peer_url(name), is_started }
    };
    let learners = api.learners.iter().map(|name| peer(name, true));
    let mut members: Vec<_> = api.members.iter().map(|name| peer(name, false)).chain(learners).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    let has_leader = has_quorum(api, hosts);
    let runs = host.versions.get(ETCD).and_then(|installed| installed.running.as_ref()).map(ToString::to_string);
    let image = host.images.keys().find_map(|image| image.split_once("/etcd:"));
    // Of the bundle's archive for Kubernetes 1.37.1, where it is a unit.
    let version = runs.unwrap_or_else(|| image.map_or("3.7.0", |(_, tag)| tag.split('-').next().unwrap()).to_owned());
    let leader = api.members.iter().find(|name| runs_etcd(&hosts[*name])).filter(|_| has_leader).map_or(0, |name| member_id(name));
    let cluster_id = if host.has(FOREIGN_DATA) { "8" } else { "7" }.to_owned();
    EtcdState::Ready(EtcdMember { cluster_id, id, leader, version, has_leader, members, revision: 7, ..EtcdMember::default() })
}

/// What a member with data says of another one's URL.
pub(crate) fn etcd_peer(api: &Api, hosts: &BTreeMap<String, Host>, url: &str) -> String {
    let member = api.members.iter().find(|name| peer_url(name).replace("2380", "2379") == url);
    let works = member.is_some_and(|name| runs_etcd(&hosts[name])) && has_quorum(api, hosts);
    if works { "healthy".into() } else { "connection refused".into() }
}

/// The ids of the fixtures' members: by the last part of their addresses.
fn member_id(name: &str) -> u64 {
    peer_url(name).trim_end_matches(":2380").rsplit('.').next().unwrap().parse().unwrap()
}

/// What a member at a URL says to a control plane.
pub(crate) fn etcd_endpoint(api: &Api, host: &Host, hosts: &BTreeMap<String, Host>, url: &str) -> String {
    if !["/etc/kubernetes/pki/apiserver-etcd-client.key", "/usr/local/bin/kubectl"].iter().all(|path| host.has(path)) {
        return "nothing can ask it yet".into();
    }
    if etcd_peer(api, hosts, url) == "healthy" { "healthy".into() } else { "The connection to the server was refused".into() }
}

/// Where the fixtures have the members.
fn peer_url(name: &str) -> String {
    let number = |name: &str, before: u8| name.parse::<u8>().unwrap() + before;
    let last = name.strip_prefix("etcd").map_or_else(|| number(name.trim_start_matches("cp"), 10), |rest| number(rest, 13));
    // Behind the workers.
    let last = if name.starts_with("cp") && last > 13 { last + 2 } else { last };
    format!("https://10.20.0.{last}:2380")
}

/// Load balancers of nodes: whether they have found an API server.
pub(crate) fn load_balancers(api: &Api, hosts: &BTreeMap<String, Host>) -> BTreeMap<String, bool> {
    let is_on = |host: &&Host| host.has("/etc/kubernetes/manifests/kokctl-haproxy.yaml") && has_image(host, "haproxy") && runs(host, &[]);
    let on = hosts.values().filter(is_on).filter(|host| api.nodes.contains_key(&host.name));
    on.map(|host| (host.name.clone(), any_answers(api, hosts))).collect()
}

/// What comes back from a URL: of an API server itself where it is that of a control plane, else from a load balancer before all of them.
pub(crate) fn endpoint(api: &Api, hosts: &BTreeMap<String, Host>, at: Option<&str>) -> ApiServerState {
    if at.map_or_else(|| any_answers(api, hosts), |name| answers(api, &hosts[name], hosts)) {
        ApiServerState::Ready
    } else {
        ApiServerState::NotReady("connection refused".to_owned())
    }
}

/// Whether flannel's daemon runs on a host: it is on the host's own network.
pub(crate) fn has_subnet(api: &Api, host: &Host) -> bool {
    api.has("DaemonSet/kube-flannel/kube-flannel-ds") && has_image(host, "flannel") && api.nodes.contains_key(&host.name)
}

/// Whether Calico's daemon runs on a host, which installs its plugins itself.
fn has_calico(api: &Api, host: &Host) -> bool {
    let images = ["node", "cni"].iter().all(|image| has_image(host, &format!("calico/{image}")));
    api.has("DaemonSet/kube-system/calico-node") && images && api.nodes.contains_key(&host.name)
}

/// Whether containerd can give a pod an address and the kubelet calls the node Ready.
pub(crate) fn is_ready(api: &Api, host: &Host) -> bool {
    let flannel = ["/opt/cni/bin/flannel", "/etc/cni/net.d/10-flannel.conflist"].iter().all(|path| host.has(path));
    let bridge = host.has("/etc/cni/net.d/10-kokctl-bridge.conflist");
    let network = host.has("/opt/cni/bin/bridge") && (flannel || bridge || has_calico(api, host) || api.has_own_network());
    network && host.is_active("kubelet.service") && host.is_active("containerd.service") && api.nodes.contains_key(&host.name)
}

/// What the administrator is told on this host.
pub(crate) fn state(api: &Api, host: &Host, hosts: &BTreeMap<String, Host>) -> KubernetesState {
    if !host.has("/etc/kubernetes/admin.conf") || !host.has("/usr/local/bin/kubectl") {
        return KubernetesState::Absent;
    }
    if !answers(api, host, hosts) {
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
    let tokens = api
        .tokens
        .iter()
        .map(|(name, left)| BootstrapTokenState { name: name.clone(), ends_seconds: Some(host.clock_seconds() + *left as i64) });
    KubernetesState::Ready { nodes: nodes.clone(), objects: objects.collect(), bootstrap_tokens: tokens.collect() }
}

/// Pods with an address of their own run on Ready nodes with a subnet, those on the host's network on any node.
fn with_status(api: &Api, hosts: &BTreeMap<String, Host>, object: &Value) -> Value {
    let mut object = object.clone();
    let name = object["metadata"]["name"].as_str().unwrap();
    let has_network =
        |host: &Host| has_subnet(api, host) || has_calico(api, host) || !host.pod_network.masquerades.is_empty() || api.has_own_network();
    let runs = |host: &Host| match name {
        "kube-proxy" => has_image(host, "kube-proxy"),
        "nodelocaldns" => has_image(host, "coredns") && host.is_active("kubelet.service") && host.has("/sys/class/net/nodelocaldns"),
        "kube-flannel-ds" => has_subnet(api, host),
        "calico-node" => has_calico(api, host),
        "calico-kube-controllers" => has_image(host, "calico/kube-controllers") && has_calico(api, host),
        "calico-typha" => has_image(host, "calico/typha"),
        "network-check" => has_image(host, "echo") && is_ready(api, host) && has_network(host),
        "coredns" => has_image(host, "coredns") && is_ready(api, host) && has_network(host),
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

/// What the pods of the network check report: every pod, at its addresses, and the service answers every pod that runs.
pub(crate) fn reports(api: &Api, hosts: &BTreeMap<String, Host>, families: u64) -> BTreeMap<String, String> {
    let services = (api.has("DaemonSet/kube-system/kube-proxy") || api.has_own_network()) && api.has("Deployment/kube-system/coredns");
    let check = api.objects.get("DaemonSet/kokctl-network-check/network-check").map(|check| with_status(api, hosts, check));
    let running = check.map_or(0, |check| check["status"]["numberAvailable"].as_u64().unwrap());
    let answers: Vec<Value> = (0..=running * families)
        .map(|target| json!({"target": format!("http://10.244.{target}.2:8080/"), "ok": services, "status": 200}))
        .collect();
    let names = api.nodes.keys().take(usize::try_from(running).unwrap());
    names.map(|name| (name.clone(), Value::from(answers.clone()).to_string())).collect()
}
