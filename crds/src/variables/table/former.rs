//! Variables that Kubespray once had, since 2.21.

use crate::variables::read::kubelet;
use crate::variables::row::{Variable, flag, number, text, value, word};

const GONE: &str = "Kubespray has removed it";
const STORAGE: &str = "pods that ask for such storage could not start";
const CEPH: &str = "it belongs to storage that Kubespray has removed";
const NETCHECKER: &str = "Kubespray has removed it; kokctl checks the network itself at the end of each run";
const COMPUTED: &str = "Kubespray computed it itself for its own use";

// What to do as long as it is not done.
const DRIVER: &str = "leave it out, and install the driver of that storage into the cluster yourself";

pub(super) static ROWS: &[Variable] = &[
    flag("cephfs_provisioner_enabled", "false", "Storage of Ceph as folders.").needed(STORAGE).instead(DRIVER),
    value("cephfs_provisioner_*", "none", "none", "A setting of that storage.").moot(CEPH).hidden(),
    flag("rbd_provisioner_enabled", "false", "Storage of Ceph as disks.").needed(STORAGE).instead(DRIVER),
    value("rbd_provisioner_*", "none", "none", "A setting of that storage.").moot(CEPH).hidden(),
    value("netchecker_*", "none", "none", "A setting of a check of the network.").moot(NETCHECKER),
    value("netcheck_*", "none", "none", "A setting of a check of the network.").moot(NETCHECKER),
    number("agent_report_interval", "none", "A setting of a check of the network.").moot(NETCHECKER),
    text("krew_version", "none", "Which krew.").moot(GONE),
    text("krew_default_index_uri", "none", "Where krew finds plugins.").moot(GONE),
    text("krew_no_upgrade_check", "none", "Whether krew looks for a newer one.").moot(GONE),
    value("podsecuritypolicy_*", "none", "none", "Policies of pods that Kubernetes has removed.")
        .moot("it was read with podsecuritypolicy_enabled only"),
    word(
        "kube_master_cpu_reserved",
        "amount",
        "none",
        "Processor time for the kubelet of control planes, where it is another than elsewhere.",
    )
    .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.kube_reserved.amounts, "cpu")),
    word("kube_master_memory_reserved", "amount", "none", "Memory for the kubelet of control planes, where it is another than elsewhere.")
        .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.kube_reserved.amounts, "memory")),
    word(
        "kube_master_ephemeral_storage_reserved",
        "amount",
        "none",
        "Disk for the kubelet of control planes, where it is another than elsewhere.",
    )
    .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.kube_reserved.amounts, "ephemeral-storage")),
    word("kube_master_pid_reserved", "amount", "none", "Processes of the kubelet of control planes, where it is another than elsewhere.")
        .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.kube_reserved.amounts, "pid")),
    word(
        "system_master_cpu_reserved",
        "amount",
        "none",
        "Processor time for the programs of control planes, where it is another than elsewhere.",
    )
    .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.system_reserved.amounts, "cpu")),
    word(
        "system_master_memory_reserved",
        "amount",
        "none",
        "Memory for the programs of control planes, where it is another than elsewhere.",
    )
    .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.system_reserved.amounts, "memory")),
    word(
        "system_master_ephemeral_storage_reserved",
        "amount",
        "none",
        "Disk for the programs of control planes, where it is another than elsewhere.",
    )
    .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.system_reserved.amounts, "ephemeral-storage")),
    word(
        "system_master_pid_reserved",
        "amount",
        "none",
        "Processes of the programs of control planes, where it is another than elsewhere.",
    )
    .reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet_of_control_planes.system_reserved.amounts, "pid")),
    flag("disable_swap", "true", "Whether swap is switched off.").only(
        &["true"],
        "swap is switched off with `kubelet_fail_swap_on: true`, the default, and left alone with false",
        "write `kubelet_fail_swap_on: false` to keep swap",
    ),
    value("conntrack_modules", "list of names", "none", "Kernel modules of ipvs.").moot("kube-proxy does not use ipvs here"),
    word("kube_proxy_udp_idle_timeout", "time", "none", "How long kube-proxy once knew what UDP had sent.")
        .moot("no Kubernetes of today reads it"),
    text("containerd_repo_info", "none", "Where containerd's packages come from.").moot("the bundle has containerd"),
    flag("coredns_host_network", "false", "Whether CoreDNS is on the host's network.")
        .needed("CoreDNS would be on the pods' network")
        .instead("leave it out: pods ask it by the address of the DNS service"),
    number("coredns_port", "53", "The port of CoreDNS.")
        .needed("CoreDNS would listen at port 53")
        .instead("leave it out: pods ask the DNS service, which has port 53 as well"),
    text("coredns_image_is_namespaced", "none", "How the image of CoreDNS is called.").moot("the bundle has it"),
    value("crictl_supported_versions", "map", "none", "Which crictl belongs to which Kubernetes.").moot("the bundle has it"),
    text("crun_bin_dir", "none", "Where crun lies.").moot("this version does not install crun"),
    value("debian_os_family_extensions", "list", "computed", "Distributions that are like Debian.").moot(COMPUTED),
    value("etc_hosts_localhost_entries", "map", "none", "Lines of /etc/hosts about localhost.")
        .moot("kokctl leaves the lines about localhost as they are"),
    flag("populate_localhost_entries_to_hosts_file", "none", "Writes those lines.")
        .moot("kokctl leaves the lines about localhost as they are"),
    text("etcd_cert_dir_mode", "none", "Who may read etcd's certificates.").moot("only root may"),
    flag("growpart_azure_enabled", "false", "Makes the root partition larger on Azure."),
    text("is_etcd_master", "computed", "Whether the host has etcd.").moot(COMPUTED),
    text("is_kube_master", "computed", "Whether the host is a control plane.").moot(COMPUTED),
    text("kube_apiserver_count", "computed", "How many control planes there are.").moot(COMPUTED),
    text("kubeadm_config_api_version", "computed", "The form of kubeadm's configuration.").moot(COMPUTED),
    text("kubeadm_version", "that of Kubernetes", "Which kubeadm.").moot("it is that of Kubernetes"),
    text("namespace", "none", "Where Kubespray writes objects.").moot(COMPUTED),
    text("reset_restart_network_service_name", "none", "What a reset restarts.").moot("kokctl leaves the host's network as it is"),
    text("ssh_bastion_confing__name", "none", "Where Kubespray writes the way by the bastion.")
        .moot("it steers Ansible, which kokctl is not"),
];
