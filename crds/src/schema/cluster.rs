//! The schema of a Cluster.

use serde_json::{Value, json};

use super::property::{Property, described, fields, integer, map, property, text, texts, time, word};
use super::{Kind, column, hooks, object, operator, parts, pools, rule, wide_column};
use crate::model::{Delivery, FlannelBackend, LEAST_MTU, MOST_MTU, NetworkPlugin, TaintEffect};
use crate::objects::{DATA_REF, REFERENCES};
use crate::read::SPEC;
use crate::read::hosts::{HOST, TAINT};
use crate::read::network::NETWORK;
use crate::read::parts::{CERTIFICATES, CONTAINER_RUNTIME, ETCD, NODE_LOCAL_DNS};
use crate::read::ssh::{DEFAULTS, OF_HOST};
use crate::read::time::{MOST_SKEW_SECONDS, TIME};

/// More than any cluster has, and few enough for the API server to check rules about each.
const MOST_HOSTS: u32 = 5000;

const DELIVERY: &str = "Whether kokctl sends what is installed (`push`, the default), or the hosts fetch it from upstream or a mirror.";
const DELIVERY_OF_HOST: &str = "The same for this host, where that differs from the cluster's `delivery`.";

pub(super) fn kind() -> Kind {
    let about = "A Kubernetes cluster on hosts that are reached over SSH.";
    Kind {
        name: "Cluster",
        plural: "clusters",
        short: "kok",
        columns: vec![
            column("Version", "string", ".spec.kubernetesVersion"),
            column("Phase", "string", ".status.phase"),
            column("Hosts", "string", ".status.hostSummary.text"),
            column("Operation", "string", ".status.conditions[0].clusterOps"),
            column("Status", "string", ".status.conditions[0].status"),
            column("Age", "date", ".metadata.creationTimestamp"),
            json!({"name": "Drift", "type": "integer", "jsonPath": ".status.drift.changes", "priority": 1}),
            wide_column("Certificates", ".status.certificates.earliestEnd"),
            wide_column("Message", ".status.lastError.what"),
        ],
        schema: object(about, &spec(), &status(), &[]),
    }
}

fn spec() -> Value {
    let own = fields(&SPEC).into_iter().filter(|name| !REFERENCES.fields.contains(name));
    let names: Vec<&str> = own.chain(fields(&REFERENCES)).collect();
    let mut spec = map(&names, &[], inline().into_iter().chain(references()).chain([operator::of_cluster()]).collect());
    if let Value::Object(schema) = &mut spec {
        schema.insert("description".to_owned(), json!("What the cluster is: by fields of its own, or by an inventory and its variables."));
        schema.insert("x-kubernetes-validations".to_owned(), rules().into());
    }
    spec
}

fn rules() -> Vec<Value> {
    let any = |names: &[&str]| names.iter().map(|name| format!("has(self.{name})")).collect::<Vec<_>>().join(" || ");
    let others: Vec<&str> = SPEC.fields.iter().copied().filter(|name| *name != "hosts" && !REFERENCES.fields.contains(name)).collect();
    vec![
        rule("has(self.hosts) != has(self.hostsConfRef)", "a Cluster has either `hosts` or `hostsConfRef`"),
        rule("!has(self.hosts) || has(self.kubernetesVersion)", "`kubernetesVersion` is missing beside `hosts`"),
        rule(
            &format!("!has(self.hostsConfRef) || !({})", any(&others)),
            &format!("`hostsConfRef` excludes {}: they stand in the inventory and its variables", others.join(", ")),
        ),
        rule("!has(self.hosts) || !has(self.varsConfRef)", "`hosts` excludes `varsConfRef`: write `vars`"),
        rule(
            &format!("{} || {} || self.{HOSTS}.{SPACE} == self.{LOGIN}.{SPACE}", says_none("self", HOSTS), says_none("self", LOGIN)),
            "`hostsConfRef` and `sshAuthRef` are of one namespace, in which everything of the cluster is",
        ),
        rule(
            &[HOSTS, LOGIN].map(stays).join(" && "),
            "the namespace of `hostsConfRef` and `sshAuthRef` can't be changed: make another Cluster",
        ),
    ]
}

/// The references that say in which namespace everything of a cluster is.
const HOSTS: &str = "hostsConfRef";
const LOGIN: &str = "sshAuthRef";
/// Their field `namespace`: that is a word of CEL, and an API server knows a field of this name, and how long it may be, by this spelling (KEP-2876).
const SPACE: &str = "__namespace__";

/// Whether a reference says no namespace, or is none, in CEL. Fields are compared, and nothing that is worked out: of that an API server knows no length, and
/// refuses a rule that could take long.
fn says_none(object: &str, field: &str) -> String {
    format!("!has({object}.{field}) || !has({object}.{field}.{SPACE}) || {object}.{field}.name == '' || {object}.{field}.{SPACE} == ''")
}

/// Whether the namespace that a reference said is that of one of the two still, in CEL.
fn stays(before: &str) -> String {
    let is_of = |field: &str| {
        let new = format!("self.{field}");
        format!("(has({new}) && has({new}.{SPACE}) && {new}.name != '' && {new}.{SPACE} == oldSelf.{before}.{SPACE})")
    };
    format!("({} || {} || {})", says_none("oldSelf", before), is_of(HOSTS), is_of(LOGIN))
}

fn inline() -> Vec<Property> {
    vec![
        text("kubernetesVersion", "Exact version of Kubernetes, with its patch number.")
            .with("pattern", r"^v?1\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$"),
        property("ssh", "How to log in to the hosts that say nothing themselves.", map(&fields(&DEFAULTS), &[], login())),
        property("hosts", "The hosts.", json!({"type": "array", "items": host(), "minItems": 1, "maxItems": MOST_HOSTS}))
            .with("x-kubernetes-list-type", "map")
            .with("x-kubernetes-list-map-keys", json!(["name"])),
        property(
            "removed",
            "Names of hosts that are to be gone, whether they still stand under `hosts` or not.",
            json!({"type": "array", "items": {"type": "string"}, "maxItems": MOST_HOSTS}),
        ),
        property("network", "Address ranges, and the plugin that carries the pods' traffic.", network()),
        property("apiEndpoint", "Where the API server is reached.", parts::api_endpoint()),
        property("etcd", "How etcd runs.", parts::schema(&ETCD, Vec::new())),
        property("containerRuntime", "What runs containers, and where it has images from.", parts::schema(&CONTAINER_RUNTIME, Vec::new())),
        word("delivery", DELIVERY, &Delivery::ALL.map(Delivery::as_str)),
        property("time", "Where the hosts take their time from.", time_sync()),
        property(
            "hostResources",
            "What is declared for the hosts, what is kept for them, and how much pods may take.",
            parts::host_resources(),
        ),
        hooks::list(),
        property("certificates", "How certificates are made.", parts::schema(&CERTIFICATES, Vec::new())),
        property("encryption", "Whether and how API servers encrypt what etcd holds.", parts::encryption()),
        pools::upgrade(),
        property("backup", "Where `kokctl backup create` writes to, who can read it, and which backups stay.", parts::backup()),
        property("addons", "What is installed besides.", json!({"type": "array", "items": parts::addon()})),
        property("vars", "Everything else, by the names that Kubespray uses.", json!({"type": "object"}))
            .with("x-kubernetes-preserve-unknown-fields", true),
    ]
}

fn references() -> Vec<Property> {
    vec![
        reference("hostsConfRef", "ConfigMap with an Ansible inventory under `hosts.yml`."),
        reference("varsConfRef", "ConfigMap with variables under `group_vars.yml`; they win over those of the inventory."),
        reference("sshAuthRef", "Secret with a private key under `ssh-privatekey`; without it logins need a password."),
        reference("kubeConfRef", "ConfigMap with the kubeconfig of the cluster; a result."),
        reference("kubeconfRef", "ConfigMap with the kubeconfig of the cluster; a result, as kubean spells it."),
        reference("preCheckRef", "ConfigMap with what a check found; a result."),
    ]
}

pub(super) fn reference(name: &'static str, about: &str) -> Property {
    // What rules compare has a length, or an API server takes them for too dear (KEP-2876, "resource constraints").
    let properties = vec![
        text("namespace", "Namespace of the object.").with("maxLength", 63),
        text("name", "Name of the object. An empty one is no reference.").with("maxLength", 253),
    ];
    property(name, about, map(&fields(&DATA_REF), &["name"], properties))
}

fn login() -> Vec<Property> {
    // A structural schema can't say "a map or a word", nor that a map has one of its own kind. What it lets through is checked when the
    // object is read.
    let bastion = json!({"x-kubernetes-preserve-unknown-fields": true});
    vec![
        text("address", "Address at which SSH reaches the host, where its node has another one."),
        text("user", "Login name; anyone but root needs sudo."),
        integer("port", "TCP port of the SSH server.", 1, 65535),
        text("privateKeyFile", "Path of the private key."),
        text("knownHostsFile", "Path of the known_hosts file."),
        word("hostKeyChecking", "What to do with the key of a host that known_hosts does not know.", &["strict", "accept-new"]),
        text("password", "Password of the login."),
        text("sudoPassword", "What sudo asks the login for."),
        text("hostKey", "The only host key to accept, as OpenSSH prints its fingerprint."),
        property("bastion", "SSH server through which the host is reached, with its `address` and login; or `none`.", bastion),
    ]
}

fn host() -> Value {
    let label = json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}});
    let roles = json!({"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["control-plane", "worker", "etcd"]}});
    let properties = vec![
        text("name", "Name of the host and of its node, a DNS label.").with("maxLength", 63),
        text("address", "Address at which the host is reached, and at which its node talks to the others."),
        text("addressIPv6", "The second address of its node with `dualStack`; left out, the one that the host has beside `address`."),
        property("roles", "What the host does in the cluster.", roles),
        property("ssh", "How to log in, where that differs from the cluster's `ssh`.", map(&fields(&OF_HOST), &[], login())),
        property("labels", "Labels of the node.", label),
        property("annotations", "Annotations of the node.", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        property("taints", "Taints of the node.", json!({"type": "array", "items": taint()})),
        word("delivery", DELIVERY_OF_HOST, &Delivery::ALL.map(Delivery::as_str)),
        property("vars", "Variables of the host; a setting is the same on all hosts.", json!({"type": "object"}))
            .with("x-kubernetes-preserve-unknown-fields", true),
    ];
    map(&fields(&HOST), &["name", "address", "roles"], properties)
}

fn taint() -> Value {
    let effects = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute].map(TaintEffect::as_str);
    let properties = vec![
        text("key", "Key of the taint."),
        text("value", "Value of the taint; may be left out."),
        word("effect", "What happens to pods that do not tolerate it.", &effects),
    ];
    map(&fields(&TAINT), &["key", "effect"], properties)
}

fn network() -> Value {
    let properties = vec![
        word(
            "plugin",
            "The network plugin; `manifest` is one of your own, with `none` you install one yourself.",
            &NetworkPlugin::ALL.map(NetworkPlugin::as_str),
        ),
        word("backend", "How flannel carries packets from host to host.", &FlannelBackend::ALL.map(FlannelBackend::as_str)),
        integer(
            "mtu",
            "Bytes of the largest packet of a pod, with flannel, Calico and the bridge.",
            i64::from(LEAST_MTU),
            i64::from(MOST_MTU),
        ),
        text("podCIDR", "Range of the pods' addresses."),
        text("serviceCIDR", "Range of the services' addresses."),
        integer("nodePrefix", "Prefix length of a node's share of `podCIDR`.", 0, 32),
        text("clusterDomain", "DNS domain of the services."),
        property("nodeLocalDNS", "A DNS cache on each node.", parts::schema(&NODE_LOCAL_DNS, Vec::new())),
        property("dualStack", "Whether pods, services and nodes have addresses of IPv6 beside those of IPv4.", json!({"type": "boolean"})),
        text("podCIDRIPv6", "Range of the pods' IPv6 addresses."),
        text("serviceCIDRIPv6", "Range of the services' IPv6 addresses."),
        integer("nodePrefixIPv6", "Prefix length of a node's share of `podCIDRIPv6`.", 0, 128),
        property(
            "masqueradeIPv6",
            "Whether packets of pods leave the cluster with the node's IPv6 address; `false` is for Calico and the bridge.",
            json!({"type": "boolean"}),
        ),
    ];
    map(&fields(&NETWORK), &[], properties.into_iter().chain(parts::manifest()).collect())
}

fn time_sync() -> Value {
    let properties = vec![
        texts("servers", "NTP servers that every host asks."),
        texts("sources", "Hosts that serve their own time to all others."),
        integer("maxSkewSeconds", "How many seconds the clocks of two hosts may be apart.", 1, MOST_SKEW_SECONDS),
    ];
    map(&fields(&TIME), &[], properties)
}

fn status() -> Value {
    let condition = vec![
        text("clusterOps", "Name of the operation."),
        text("status", "`Running`, `Succeeded`, `Failed` or `Blocked`."),
        time("startTime", "When it began."),
        time("endTime", "When it ended."),
    ];
    let condition = map(&["clusterOps", "status", "startTime", "endTime"], &["clusterOps"], condition);
    let conditions = property("conditions", "One for each operation, the newest first.", json!({"type": "array", "items": condition}));
    let (names, properties) = operator::cluster_status();
    let names: Vec<&str> = ["conditions"].into_iter().chain(names).collect();
    described(map(&names, &[], [conditions].into_iter().chain(properties).collect()), "How the cluster is.")
}
