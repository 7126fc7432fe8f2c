//! Variables of hosts.

use crate::variables::read::{host, load_balancing};
use crate::variables::row::{Variable, flag, text, value, word};

pub(super) static ROWS: &[Variable] = &[
    word("ip", "IPv4 address", "`ansible_host`", "The host's own address, at which its node talks to the others.")
        .field_of("spec.hosts[].address"),
    word("access_ip", "IPv4 address", "`ip`", "The address at which others reach the host; it has to be its own address here.")
        .field_of("spec.hosts[].address"),
    word("ip6", "IPv6 address", "the one beside `ip`", "The host's own IPv6 address, with dual stack.")
        .field_of("spec.hosts[].addressIPv6"),
    word("access_ip6", "IPv6 address", "`ip6`", "The IPv6 address at which others reach the host; it has to be its own here.")
        .field_of("spec.hosts[].addressIPv6"),
    text("main_ip", "computed", "An address that Kubespray computes.").moot("Kubespray computes it itself and reads it from nobody"),
    text("main_access_ip", "computed", "An address that Kubespray computes.").moot("Kubespray computes it itself and reads it from nobody"),
    value("node_labels", "map of keys to texts", "{}", "Labels of the node.").field_of("spec.hosts[].labels"),
    value("node_taints", "list of key=value:Effect", "[]", "Taints of the node.").field_of("spec.hosts[].taints"),
    text("kube_override_hostname", "the host's name", "The name of the node, which is the host's name here.")
        .follows("a node has the name of its host here; another name is an error"),
    flag("override_system_hostname", "true", "Whether each host gets the name that it has in the file.").reads(
        |decoder, field, settings| {
            settings.host.override_system_hostname = decoder.boolean(field).unwrap_or(settings.host.override_system_hostname);
        },
    ),
    flag(
        "populate_inventory_to_hosts_file",
        "true",
        "Whether /etc/hosts of each host names all hosts of the cluster, in a block of its own.",
    )
    .reads(|decoder, field, settings| {
        let value = decoder.boolean(field);
        settings.host.populate_inventory_to_hosts_file = value.unwrap_or(settings.host.populate_inventory_to_hosts_file);
    }),
    flag(
        "populate_loadbalancer_apiserver_to_hosts_file",
        "false",
        "Whether hosts know by /etc/hosts where loadbalancer_apiserver is by the name of apiserver_loadbalancer_domain_name.",
    )
    .reads(load_balancing::name_in_hosts_file),
    flag("populate_localhost_to_hosts_file", "true", "Names localhost in /etc/hosts.")
        .moot("kokctl leaves the lines about localhost as they are"),
    value(
        "additional_kernel_modules",
        "list of names",
        "[]",
        "Kernel modules that are loaded besides those that Kubernetes needs, now and at every start.",
    )
    .reads(host::additional_kernel_modules),
    value(
        "additional_sysctl",
        "list of name and value",
        "[]",
        "Kernel parameters that are set besides those that Kubernetes needs, now and at every start.",
    )
    .reads(host::additional_sysctl),
    text("sysctl_file_path", "/etc/sysctl.d/99-zz-kokctl.conf", "Where kernel parameters are written.")
        .moot("kokctl has a file of its own"),
    word(
        "firewall",
        "refuse, open or ignore",
        "refuse",
        "What to do where firewalld or ufw is active: refuse the host while it closes needed ports, open them, or take no notice.",
    )
    .reads(host::firewall),
    word(
        "preinstall_selinux_state",
        "permissive or disabled",
        "unset: hosts where SELinux enforces are refused",
        "What SELinux is set to where it is there.",
    )
    .reads(host::preinstall_selinux_state),
    value(
        "trusted_certificates",
        "map of names to certificates in PEM",
        "{}",
        "Certificate authorities that programs of the hosts trust besides.",
    )
    .reads(host::trusted_certificates),
    flag("disable_ipv6_dns", "false", "Switches IPv6 off in the name resolution of hosts."),
    flag("ping_access_ip", "true", "Whether the hosts' addresses have to answer a ping.")
        .moot("`kokctl check` connects to every host, which says more"),
    flag("allow_unsupported_distribution_setup", "false", "Goes on with a distribution that Kubespray does not know.")
        .moot("kokctl warns of such a distribution and goes on"),
    flag("ignore_minimal_memory", "false", "Goes on with too little memory.")
        .moot("name the check `Mem` under kubeadm_ignore_preflight_errors"),
    word("minimal_master_memory_mb", "megabytes", "1700", "How much memory a control plane needs.")
        .moot("kubeadm's own limit holds; name the check `Mem` under kubeadm_ignore_preflight_errors to pass it"),
    word("minimal_node_memory_mb", "megabytes", "none", "How much memory a worker needs.").moot("kokctl has no limit for workers"),
    flag(
        "kubelet_fail_swap_on",
        "true",
        "Whether the kubelet refuses to start with swap; then swap is switched off for good, otherwise it is left alone.",
    )
    .reads(|decoder, field, settings| {
        settings.host.kubelet_fail_swap_on = decoder.boolean(field).unwrap_or(settings.host.kubelet_fail_swap_on);
    }),
    flag("sysctl_ignore_unknown_keys", "false", "Goes on where the kernel does not know a parameter."),
    flag("disable_fapolicyd", "false", "Switches off what keeps unknown programs from being started."),
    flag("leave_etc_backup_files", "none", "Keeps copies of files that are changed.")
        .moot("kokctl changes no files of others but by blocks of its own"),
    value("adduser", "map", "none", "Users that Kubespray makes.").moot("kokctl makes no users on hosts"),
    value("addusers", "map", "none", "Users that Kubespray makes.").moot("kokctl makes no users on hosts"),
    text("host_os", "that of the host", "The kernel of the host.").moot("kokctl finds it out"),
    flag("is_fedora_coreos", "found out", "Whether the host runs CoreOS.").moot("kokctl finds out what each host runs"),
    text("cluster_id", "none", "An identifier of a route reflector of Calico.")
        .moot("it is of Calico, which this version does not install"),
    text("inventory_dir", "the folder of the inventory", "Where the inventory lies.").moot("Ansible sets it itself"),
];
