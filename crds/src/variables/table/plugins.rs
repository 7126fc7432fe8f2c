//! Variables of other network plugins.

use crate::variables::row::{Variable, number, text, value, word};

const OVN: &str = "it is of Kube-OVN, which this version does not install";
const ROUTER: &str = "it is of kube-router, which this version does not install";
const MACVLAN: &str = "it is of macvlan, which this version does not install";
const INTERFACE: (&str, &str) =
    ("flannel uses the interface that has the host's address", "leave it out, and give the host the address of that interface as `ip`");

pub(super) static ROWS: &[Variable] = &[
    word("flannel_backend_type", "vxlan, host-gw or wireguard", "vxlan", "How flannel carries packets from host to host.")
        .field_of("spec.network.backend"),
    number(
        "flannel_mtu",
        "what the host's interface and the backend leave",
        "Bytes of the largest packet of a pod, also with the bridge; Kubespray has no variable for it.",
    )
    .field_of("spec.network.mtu"),
    text("flannel_public_ip", "the host's address", "The address at which flannel of other hosts reaches this one.")
        .moot("nothing reads it, in Kubespray neither"),
    text("flannel_interface", "the one with the host's address", "Which interface flannel uses.").refused(INTERFACE.0, INTERFACE.1),
    text("flannel_interface_regexp", "the one with the host's address", "Which interface flannel uses.").refused(INTERFACE.0, INTERFACE.1),
    number("flannel_vxlan_vni", "1", "The number of flannel's network."),
    number("flannel_vxlan_port", "8472", "The UDP port of flannel."),
    text("flannel_vxlan_direct_routing", "false", "Whether flannel does without VXLAN where it can."),
    text("flannel_cpu_*", "100m asked for", "Processor time for flannel."),
    text("flannel_memory_*", "50Mi asked for", "Memory for flannel."),
    text("flannel_cni_version", "that of the bundle", "Which CNI plugin of flannel."),
    text("cni_bin_owner", "root", "Who owns the CNI plugins."),
    text("flannel_version", "that of the bundle", "Which flannel."),
    text("kube_ovn_network_type", "none", "How Kube-OVN carries packets.").moot(OVN),
    value("kube_ovn_*", "none", "none", "A setting of Kube-OVN.").moot(OVN),
    value("kube_router_*", "none", "none", "A setting of kube-router.").moot(ROUTER),
    value("macvlan_*", "none", "none", "A setting of macvlan.").moot(MACVLAN),
    value("enable_nat_default_gateway", "boolean", "none", "A setting of macvlan.").moot(MACVLAN),
    value(
        "custom_cni_manifests",
        "list of paths",
        "[]",
        "Manifests of a network plugin of the user's own, with `kube_network_plugin: custom_cni`.",
    )
    .field_of("spec.network.manifests"),
    value("custom_cni_chart_*", "text", "none", "A chart of a network plugin of the user's own.")
        .moot("kokctl installs no charts: name what `helm template` prints in custom_cni_manifests"),
    value("weave_*", "none", "none", "A setting of Weave.").moot("Weave is gone, from Kubespray as well"),
    value("canal_*", "none", "none", "A setting of Canal.").moot("Canal is gone, from Kubespray as well"),
];
