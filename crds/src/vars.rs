//! The variables that a user can set under `spec.vars`, by the names that Kubespray uses.
//!
//! Adding one is a field of [`Settings`] and a row of [`VARIABLES`].

mod containerd;
mod host;
mod kubelet;

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{FirewallPolicy, KubeProxyMode, Settings};
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
        name: "additional_kernel_modules",
        kind: "list of names",
        default: "[]",
        about: "Kernel modules that are loaded besides those that Kubernetes needs, now and at every start.",
        read: host::additional_kernel_modules,
    },
    Variable {
        name: "additional_no_proxy",
        kind: "text with commas",
        default: "unset",
        about: "Names, addresses and ranges that are reached without the proxy, besides those of the cluster.",
        read: |decoder, field, settings| settings.host.additional_no_proxy = host::without_proxy(decoder, field).unwrap_or_default(),
    },
    Variable {
        name: "additional_sysctl",
        kind: "list of name and value",
        default: "[]",
        about: "Kernel parameters that are set besides those that Kubernetes needs, now and at every start.",
        read: host::additional_sysctl,
    },
    Variable {
        name: "containerd_extra_runtime_args",
        kind: "map of names to texts, whole numbers or booleans",
        default: "{}",
        about: "Further options of containerd's CRI runtime plugin (io.containerd.cri.v1.runtime).",
        read: containerd::containerd_extra_runtime_args,
    },
    Variable {
        name: "containerd_limit_open_file_num",
        kind: "whole number",
        default: "1048576",
        about: "Most files that containerd, and a container that says nothing else, may have open.",
        read: |decoder, field, settings| {
            // Below the lower limit containerd itself runs out of files on a full host; above the upper one the kernel refuses.
            let value = decoder.integer(field, 65_536..=1_073_741_816).and_then(|value| u64::try_from(value).ok());
            settings.containerd_limit_open_file_num = value.unwrap_or(settings.containerd_limit_open_file_num);
        },
    },
    Variable {
        name: "containerd_registries_mirrors",
        kind: "list of prefix and mirrors (host, capabilities, skip_verify, override_path, ca)",
        default: "[]",
        about: "Where containerd fetches images instead of their own registries.",
        read: containerd::containerd_registries_mirrors,
    },
    Variable {
        name: "eviction_hard",
        kind: "map of eviction signals to what must be left: an amount (1Gi) or a share (10%)",
        default: "{}: the kubelet's own, among them 10 % of its file system and 15 % of containerd's",
        about: "When the kubelet evicts pods and takes no more; a signal that is not named has no threshold.",
        read: kubelet::eviction_hard,
    },
    Variable {
        name: "firewall",
        kind: "refuse, open or ignore",
        default: "refuse",
        about: "What to do where firewalld or ufw is active: refuse the host while it closes needed ports, open them, or take no notice.",
        read: |decoder, field, settings| {
            let policies = [FirewallPolicy::Refuse, FirewallPolicy::Open, FirewallPolicy::Ignore].map(|policy| (policy.as_str(), policy));
            settings.host.firewall = decoder.choice(field, &policies).unwrap_or(settings.host.firewall);
        },
    },
    Variable {
        name: "http_proxy",
        kind: "URL",
        default: "unset",
        about: "Proxy for HTTP of containerd, the kubelet and the package manager.",
        read: |decoder, field, settings| settings.host.http_proxy = host::proxy(decoder, field),
    },
    Variable {
        name: "https_proxy",
        kind: "URL",
        default: "unset",
        about: "Proxy for HTTPS of containerd, the kubelet and the package manager.",
        read: |decoder, field, settings| settings.host.https_proxy = host::proxy(decoder, field),
    },
    Variable {
        name: "install_packages",
        kind: "boolean",
        default: "true",
        about: "Whether packages that a host lacks are installed from its own repositories; otherwise the host is refused.",
        read: |decoder, field, settings| {
            settings.host.install_packages = decoder.boolean(field).unwrap_or(settings.host.install_packages);
        },
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
    Variable {
        name: "kubelet_fail_swap_on",
        kind: "boolean",
        default: "true",
        about: "Whether the kubelet refuses to start with swap; then swap is switched off for good, otherwise it is left alone.",
        read: |decoder, field, settings| {
            settings.host.kubelet_fail_swap_on = decoder.boolean(field).unwrap_or(settings.host.kubelet_fail_swap_on);
        },
    },
    Variable {
        name: "no_proxy",
        kind: "text with commas",
        default: "unset: the cluster's names, addresses and ranges",
        about: "Names, addresses and ranges that are reached without the proxy, instead of those of the cluster.",
        read: |decoder, field, settings| settings.host.no_proxy = host::without_proxy(decoder, field),
    },
    Variable {
        name: "override_system_hostname",
        kind: "boolean",
        default: "true",
        about: "Whether each host gets the name that it has in the file.",
        read: |decoder, field, settings| {
            settings.host.override_system_hostname = decoder.boolean(field).unwrap_or(settings.host.override_system_hostname);
        },
    },
    Variable {
        name: "populate_inventory_to_hosts_file",
        kind: "boolean",
        default: "true",
        about: "Whether /etc/hosts of each host names all hosts of the cluster, in a block of its own.",
        read: |decoder, field, settings| {
            let value = decoder.boolean(field);
            settings.host.populate_inventory_to_hosts_file = value.unwrap_or(settings.host.populate_inventory_to_hosts_file);
        },
    },
    Variable {
        name: "preinstall_selinux_state",
        kind: "permissive or disabled",
        default: "unset: hosts where SELinux enforces are refused",
        about: "What SELinux is set to where it is there.",
        read: host::preinstall_selinux_state,
    },
    Variable {
        name: "trusted_certificates",
        kind: "map of names to certificates in PEM",
        default: "{}",
        about: "Certificate authorities that programs of the hosts trust besides.",
        read: host::trusted_certificates,
    },
];

/// Variables of Kubespray that are fields of a Cluster here.
const FIELDS_INSTEAD: [(&str, &str); 11] = [
    ("kube_version", "spec.kubernetesVersion"),
    ("kube_network_plugin", "spec.network.plugin"),
    ("kube_pods_subnet", "spec.network.podCIDR"),
    ("kube_service_addresses", "spec.network.serviceCIDR"),
    ("kube_network_node_prefix", "spec.network.nodePrefix"),
    ("dns_domain", "spec.network.clusterDomain"),
    ("cluster_name", "spec.network.clusterDomain"),
    ("ntp_enabled", "spec.time"),
    ("ntp_manage_config", "spec.time"),
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
    with_nearest(problem.because("this version does not know it; docs/cluster.md lists those that it knows"), name, &names)
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
