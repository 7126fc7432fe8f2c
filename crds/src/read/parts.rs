//! Parts of a Cluster whose fields say what variables say: one row, one judge and one reader for both spellings.

mod backup;
mod certificates;
mod encryption;
mod hosts;

use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::tree::Value;
use crate::variables::{FieldValue, LOAD_BALANCERS};
use crate::words::quote;
pub(crate) use backup::{BACKUP, BACKUP_KEEP, BACKUP_S3, BACKUP_TO};
pub(crate) use certificates::CERTIFICATES;
pub(crate) use encryption::{ENCRYPTION, ENCRYPTION_KMS};
pub(crate) use hosts::{HOST_RESOURCES, KUBE_RESERVED, SYSTEM_RESERVED};

/// A part of a Cluster, or of such a part.
pub(crate) struct Part {
    pub(crate) form: Form,
    /// Those of its fields that are variables.
    pub(crate) leaves: &'static [Leaf],
    /// Parts of it, by the field that each is.
    pub(crate) inner: &'static [(&'static str, &'static Part)],
}

/// A field that says what a variable says.
pub(crate) struct Leaf {
    pub(crate) name: &'static str,
    pub(crate) variable: &'static str,
    pub(crate) kind: ValueKind,
    /// What it says, for those who read the schema.
    pub(crate) about: &'static str,
}

/// What a value looks like. Who reads a setting looks more closely.
pub(crate) enum ValueKind {
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number of this range.
    Number(i64, i64),
    Text,
    /// An amount of Kubernetes, as `500m` or `1Gi`.
    Amount,
    /// A map of names to texts.
    Texts,
    /// A map of names to anything.
    Map,
    /// A list of maps.
    List,
    /// A list of texts.
    ListOfTexts,
}

const fn leaf(name: &'static str, variable: &'static str, kind: ValueKind, about: &'static str) -> Leaf {
    Leaf { name, variable, kind, about }
}

/// Where the API server is reached. The other fields are no variables.
pub(crate) const API_ENDPOINT: Part = Part {
    form: Form {
        what: "the endpoint of the API",
        fields: &["address", "port", "loadBalancer", "vip", "routerId"],
        refused: &[
            ("host", "write it as `address`"),
            ("controlPlaneEndpoint", "write it as `address` and `port`"),
            ("virtualAddress", "write it as `vip`"),
            ("virtualRouterId", "write it as `routerId`"),
        ],
    },
    leaves: &[
        leaf("port", "kube_apiserver_port", ValueKind::Number(1, 65535), "Port of that address; without one, that of the API servers."),
        leaf(
            "loadBalancer",
            "loadbalancer_apiserver_localhost",
            ValueKind::Word(&LOAD_BALANCERS),
            "With several control planes: whether each host without an API server has a load balancer before theirs.",
        ),
        leaf("vip", "api_virtual_address", ValueKind::Text, "An address that moves between the control planes, for clients outside."),
        leaf(
            "routerId",
            "api_virtual_router_id",
            ValueKind::Number(1, 255),
            "The virtual router's number in the hosts' network (VRRP); without it the last number of `vip`.",
        ),
    ],
    inner: &[],
};

pub(crate) const ETCD: Part = Part {
    form: Form {
        what: "the etcd of a cluster",
        fields: &["deployment", "dataDir", "quotaBackendBytes", "maxRequestBytes", "extraArgs"],
        refused: &[
            ("members", "give the hosts the role `etcd`; without it each control plane has a member"),
            ("local", "write what it holds as fields of `etcd`"),
            ("external", "give hosts of the cluster the role `etcd`: an etcd that kokctl does not run is used by none"),
            ("deploymentType", "write it as `deployment`"),
            ("version", "leave it out: the bundle says which etcd runs"),
        ],
    },
    leaves: &[
        leaf(
            "deployment",
            "etcd_deployment_type",
            ValueKind::Word(&["kubeadm", "host"]),
            "How etcd runs: as a pod beside each API server, or as a unit of systemd.",
        ),
        leaf("dataDir", "etcd_data_dir", ValueKind::Text, "Where etcd keeps its data; so far /var/lib/etcd."),
        leaf("quotaBackendBytes", "etcd_quota_backend_bytes", ValueKind::Number(0, 1 << 40), "How large etcd's data may become."),
        leaf("maxRequestBytes", "etcd_max_request_bytes", ValueKind::Number(0, 1 << 30), "How large one write to etcd may be."),
        leaf("extraArgs", "etcd_extra_vars", ValueKind::Texts, "Further settings of etcd."),
    ],
    inner: &[],
};

/// The DNS cache of each node, a part of the network.
pub(crate) const NODE_LOCAL_DNS: Part = Part {
    form: Form {
        what: "the DNS cache of each node",
        fields: &["enabled", "address", "healthPort", "metricsPort", "zones"],
        refused: &[
            ("ip", "write it as `address`"),
            ("prometheusPort", "write it as `metricsPort`"),
            ("externalZones", "write them as `zones`"),
        ],
    },
    leaves: &[
        leaf("enabled", "enable_nodelocaldns", ValueKind::Flag, "Whether each node has a DNS cache that its pods ask."),
        leaf("address", "nodelocaldns_ip", ValueKind::Text, "Where it answers, on each node the same; without it 169.254.25.10."),
        leaf("healthPort", "nodelocaldns_health_port", ValueKind::Number(1, 65535), "Port of that address where it says that it works."),
        leaf("metricsPort", "nodelocaldns_prometheus_port", ValueKind::Number(1, 65535), "Port of its metrics."),
        leaf("zones", "nodelocaldns_external_zones", ValueKind::List, "Zones that it asks other name servers for."),
    ],
    inner: &[],
};

pub(crate) const CONTAINER_RUNTIME: Part = Part {
    form: Form {
        what: "the container runtime of a cluster",
        fields: &[
            "type",
            "version",
            "dataDir",
            "stateDir",
            "snapshotter",
            "cgroupDriver",
            "maxOpenFiles",
            "runtimeOptions",
            "registryMirrors",
            "registryAuth",
        ],
        refused: &[
            ("name", "write it as `type`"),
            ("containerd", "write `type: containerd`, and what it holds as fields of `containerRuntime`"),
            ("docker", "leave it out: containerd is installed"),
            ("mirrors", "write them as `registryMirrors`"),
            ("registries", "write mirrors as `registryMirrors`"),
        ],
    },
    leaves: &[
        leaf("type", "container_manager", ValueKind::Word(&["containerd", "docker", "crio"]), "What runs containers; so far containerd."),
        leaf("version", "containerd_version", ValueKind::Text, "Which containerd; without it the newest of the bundle."),
        leaf("dataDir", "containerd_storage_dir", ValueKind::Text, "Where images and containers lie; so far /var/lib/containerd."),
        leaf("stateDir", "containerd_state_dir", ValueKind::Text, "Where containerd has its sockets; so far /run/containerd."),
        leaf("snapshotter", "containerd_snapshotter", ValueKind::Text, "How layers of images become file systems; so far overlayfs."),
        leaf(
            "cgroupDriver",
            "kubelet_cgroup_driver",
            ValueKind::Word(&["systemd", "cgroupfs"]),
            "What manages control groups; so far systemd.",
        ),
        leaf(
            "maxOpenFiles",
            "containerd_limit_open_file_num",
            ValueKind::Number(65_536, 1_073_741_816),
            "Most files that containerd, and a container that says nothing else, may have open.",
        ),
        leaf("runtimeOptions", "containerd_extra_runtime_args", ValueKind::Map, "Further options of containerd's CRI runtime plugin."),
        leaf(
            "registryMirrors",
            "containerd_registries_mirrors",
            ValueKind::List,
            "Where images are fetched from instead of their registries.",
        ),
        leaf("registryAuth", "containerd_registry_auth", ValueKind::List, "Logins to registries; so far none."),
    ],
    inner: &[],
};

/// All parts that hold nothing but variables, and parts; by the field that each is.
const PARTS: [(&str, &Part); 6] = [
    ("etcd", &ETCD),
    ("containerRuntime", &CONTAINER_RUNTIME),
    ("hostResources", &HOST_RESOURCES),
    ("certificates", &CERTIFICATES),
    ("encryption", &ENCRYPTION),
    ("backup", &BACKUP),
];
/// What a spec says of variables by its fields.
pub(crate) fn read<'a>(decoder: &mut Decoder, spec: &Fields<'a>) -> Vec<FieldValue<'a>> {
    let mut values = Vec::new();
    for (name, part) in PARTS {
        // A list is of what is declared for the hosts, and says nothing of variables.
        let is_list = |field: &Field<'_>| name == "hostResources" && matches!(field.node.value, Value::List(_));
        let field = spec.get(name).filter(|field| !is_list(field));
        field.and_then(|field| read_part(decoder, &field, part, &mut values));
    }
    values
}

/// What a part says of variables, with the parts of it, and all of its fields.
pub(super) fn read_part<'a>(decoder: &mut Decoder, field: &Field<'a>, part: &Part, values: &mut Vec<FieldValue<'a>>) -> Option<Fields<'a>> {
    let fields = decoder.fields(field, &part.form)?;
    for leaf in part.leaves {
        let Some(item) = fields.get(leaf.name) else { continue };
        if FieldValue::is_setting(leaf.variable) || is_right(decoder, &item, &leaf.kind) {
            values.push(FieldValue { variable: leaf.variable, field: item });
        }
    }
    for (name, part) in part.inner {
        fields.get(name).and_then(|field| read_part(decoder, &field, part, values));
    }
    Some(fields)
}

/// Whether a value that nobody reads more closely is what it has to be.
fn is_right(decoder: &mut Decoder, item: &Field<'_>, kind: &ValueKind) -> bool {
    match kind {
        ValueKind::Word(words) => {
            let words: Vec<(&str, ())> = words.iter().map(|word| (*word, ())).collect();
            decoder.choice(item, &words).is_some()
        }
        ValueKind::Flag => decoder.boolean(item).is_some(),
        ValueKind::Number(least, most) => decoder.integer(item, *least..=*most).is_some(),
        ValueKind::Text => decoder.text(item).is_some(),
        ValueKind::Amount => is_amount(decoder, item),
        ValueKind::Texts | ValueKind::Map => decoder.entries(item, "it").is_some(),
        ValueKind::List => decoder.list(item, "it is a list").is_some(),
        ValueKind::ListOfTexts => !decoder.texts(item, "it is a list of texts").is_empty(),
    }
}

fn is_amount(decoder: &mut Decoder, item: &Field<'_>) -> bool {
    let text = match &item.node.value {
        // A number is an amount without a suffix.
        Value::Integer(_) | Value::Float => item.node.spelling.as_str(),
        _ => match decoder.text(item) {
            Some(text) => text,
            None => return false,
        },
    };
    decoder.place(item);
    let (number, suffix) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let is_known = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&suffix);
    if is_known && number.parse::<f64>().is_ok_and(|number| number >= 0.0) {
        return true;
    }
    let problem = Problem::new(format!("`{}` cannot be {}", item.name(), quote(text))).at(item.position());
    decoder.report(problem.because("it is an amount like `500m`, `2` or `1Gi`").hint("write such an amount, or leave it out"));
    false
}

#[cfg(test)]
mod tests;
