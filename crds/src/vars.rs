//! The variables that a user can set under `spec.vars`, by the names that Kubespray uses.
//!
//! Adding one is a field of [`Settings`] and a row of [`VARIABLES`].

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{KubeProxyMode, Settings, TomlScalar};
use crate::tree::Value;
use crate::words::{quote, with_nearest};

/// A variable.
pub struct Variable {
    /// Name of the variable.
    pub name: &'static str,
    /// What its value looks like.
    pub kind: &'static str,
    /// Value that it has when nobody sets it.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
    read: fn(&mut Decoder, &Field<'_>, &mut Settings),
}

/// Every variable, in the order of their names.
pub static VARIABLES: &[Variable] = &[
    Variable {
        name: "containerd_extra_runtime_args",
        kind: "map of names to texts, whole numbers or booleans",
        default: "{}",
        about: "Further options of containerd's CRI runtime plugin (io.containerd.cri.v1.runtime).",
        read: containerd_extra_runtime_args,
    },
    Variable {
        name: "kube_proxy_conntrack_max_per_core",
        kind: "whole number",
        default: "unset: kube-proxy's 32768",
        about: "Connections that the kernel tracks per CPU core; 0 leaves its limit alone, as on hosts that may not change it.",
        read: |decoder, field, settings| {
            let value = decoder.integer(field, 0..=i64::from(i32::MAX));
            settings.kube_proxy_conntrack_max_per_core = value.and_then(|value| u32::try_from(value).ok());
        },
    },
    Variable {
        name: "kube_proxy_mode",
        kind: "nftables or iptables",
        // kube-proxy itself still defaults to iptables, whose updates take longer with every service.
        default: "nftables",
        about: "How kube-proxy programs the kernel.",
        read: |decoder, field, settings| {
            let modes = [KubeProxyMode::Nftables, KubeProxyMode::Iptables].map(|mode| (mode.as_str(), mode));
            settings.kube_proxy_mode = decoder.choice(field, &modes).unwrap_or(settings.kube_proxy_mode);
        },
    },
    Variable {
        name: "kubeadm_ignore_preflight_errors",
        kind: "list of names of checks",
        default: "[]",
        about: "Checks of kubeadm before it begins whose failure is only a warning.",
        read: kubeadm_ignore_preflight_errors,
    },
    Variable {
        name: "kubelet_fail_cgroup_v1",
        kind: "boolean",
        default: "true",
        about: "Whether the kubelet refuses to start on a host with version 1 control groups.",
        read: |decoder, field, settings| {
            let value = decoder.boolean(field);
            settings.kubelet_fail_cgroup_v1 = value.unwrap_or(settings.kubelet_fail_cgroup_v1);
        },
    },
];

/// Variables of Kubespray that are fields of a Cluster here.
const FIELDS_INSTEAD: [(&str, &str); 9] = [
    ("kube_version", "spec.kubernetesVersion"),
    ("kube_network_plugin", "spec.network.plugin"),
    ("kube_pods_subnet", "spec.network.podCIDR"),
    ("kube_service_addresses", "spec.network.serviceCIDR"),
    ("kube_network_node_prefix", "spec.network.nodePrefix"),
    ("dns_domain", "spec.network.clusterDomain"),
    ("cluster_name", "spec.network.clusterDomain"),
    ("ntp_servers", "spec.time.servers"),
    ("ansible_user", "spec.ssh.user"),
];

/// Reads `spec.vars`.
pub(crate) fn read_vars(decoder: &mut Decoder, field: &Field<'_>) -> Settings {
    let mut settings = Settings::default();
    for entry in decoder.entries(field, "the vars of a cluster").unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        match VARIABLES.iter().find(|variable| variable.name == entry.key) {
            // As with fields: a name without a value leaves the default.
            Some(_) if matches!(entry.node.value, Value::Null) => {}
            Some(variable) => (variable.read)(decoder, &item, &mut settings),
            None => decoder.report(unknown(&entry.key).at(&entry.key_position)),
        }
    }
    settings
}

fn unknown(name: &str) -> Problem {
    let problem = Problem::new(format!("unknown variable {}", quote(name)));
    if let Some((_, field)) = FIELDS_INSTEAD.iter().find(|(variable, _)| *variable == name) {
        return problem.because("that is a field of a Cluster here").hint(format!("write it as `{field}`"));
    }
    let names: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
    with_nearest(problem.because(format!("this version knows {}", names.join(", "))), name, &names)
}

fn kubeadm_ignore_preflight_errors(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let rule = "it is a list of names of kubeadm's checks";
    for (text, item) in decoder.texts(field, rule) {
        // kubeadm names checks like `Swap` and `FileContent--proc-sys-net-ipv4-ip_forward`; a comma would make two of one.
        let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != ',');
        if is_name {
            settings.kubeadm_ignore_preflight_errors.push(text.to_owned());
        } else {
            let problem = Problem::new(format!("{} is no name of a check of kubeadm", quote(text)));
            decoder.report(problem.at(item.position()).because(rule).hint("`kubeadm init` prints the names in brackets"));
        }
    }
}

fn containerd_extra_runtime_args(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let what = "`containerd_extra_runtime_args`";
    for entry in decoder.entries(field, what).unwrap_or_default() {
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if entry.key.is_empty() || !entry.key.chars().all(is_key) {
            decoder.report(
                Problem::new(format!("{} is no name of an option of containerd", quote(&entry.key)))
                    .at(&entry.key_position)
                    .because("it may only have letters, digits, `_` and `-`"),
            );
        }
        let value = match &entry.node.value {
            Value::Bool(value) => TomlScalar::Bool(*value),
            Value::Integer(value) => TomlScalar::Integer(*value),
            Value::Text(text) => TomlScalar::String(text.clone()),
            Value::Null | Value::Float | Value::List(_) | Value::Map(_) => {
                decoder.report(
                    Problem::new(format!("{} cannot have that value", quote(&entry.key)))
                        .at(&entry.node.position)
                        .because("an option of a runtime is text, a whole number or a boolean"),
                );
                continue;
            }
        };
        settings.containerd_extra_runtime_args.insert(entry.key.clone(), value);
    }
}
