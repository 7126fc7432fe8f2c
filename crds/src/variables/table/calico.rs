//! Variables of Calico.

use crate::variables::row::{Variable, flag, number, text, value, word};

const CALICO: &str = "it is of Calico, which this version does not install";

pub(super) static ROWS: &[Variable] = &[
    text("calico_version", "none", "Which Calico.").moot(CALICO),
    text("calico_cni_name", "none", "The name of the network in Calico's configuration.").moot(CALICO),
    flag("calico_felix_premetheusmetricsenabled", "none", "A misspelling of kubean's samples, which nothing reads.")
        .moot("nothing reads it, with kubean neither: it is a misspelling"),
    flag("calico_felix_prometheusmetricsenabled", "none", "Whether Calico tells numbers about itself.").moot(CALICO),
    flag("calico_felix_prometheusgometricsenabled", "none", "Whether Calico tells numbers about its own program.").moot(CALICO),
    word("calico_network_backend", "vxlan, bird or none", "none", "How Calico carries packets.").moot(CALICO),
    word("calico_vxlan_mode", "Always, Never or CrossSubnet", "none", "When Calico uses VXLAN.").moot(CALICO),
    word("calico_ipip_mode", "Always, Never or CrossSubnet", "none", "When Calico uses IP in IP.").moot(CALICO),
    number("calico_pool_blocksize", "none", "How many addresses Calico gives a node at a time.").moot(CALICO),
    word("calico_datastore", "kdd or etcd", "none", "Where Calico keeps its state.").moot(CALICO),
    flag("calico_wireguard_enabled", "none", "Whether Calico encrypts what pods send.").moot(CALICO),
    text("calico_ip_auto_method", "none", "How Calico finds a node's address.").moot(CALICO),
    text("calico_ip6_auto_method", "none", "How Calico finds a node's IPv6 address.").moot(CALICO),
    number("calico_mtu", "none", "The largest packet of Calico.").moot(CALICO),
    word("calico_iptables_backend", "Auto, Legacy or NFT", "none", "How Calico programs the kernel.").moot(CALICO),
    flag("calico_bpf_enabled", "none", "Whether Calico uses eBPF.").moot(CALICO),
    flag("typha_enabled", "none", "A component of Calico for large clusters.").moot(CALICO),
    flag("calico_advertise_cluster_ips", "none", "Whether routers learn the services' range.").moot(CALICO),
    value("calico_advertise_service_external_ips", "list of ranges", "none", "Which addresses of services routers learn.").moot(CALICO),
    text("calico_feature_detect_override", "none", "What Calico takes the kernel for.").moot(CALICO),
    text("calico_rr_id", "none", "The identifier of a route reflector.").moot(CALICO),
    value("calico_*", "none", "none", "A setting of Calico.").moot(CALICO),
    value("typha_*", "none", "none", "A setting of Calico's typha.").moot(CALICO),
    flag("peer_with_router", "none", "Whether Calico speaks BGP with routers.").moot(CALICO),
    flag("peer_with_calico_rr", "none", "Whether Calico speaks BGP with route reflectors.").moot(CALICO),
    value("peers", "list", "none", "With which routers Calico speaks BGP.").moot(CALICO),
    number("local_as", "none", "The BGP number of a node with Calico.").moot(CALICO),
    flag("ipip", "false", "An old name of `calico_ipip_mode`.").moot(CALICO),
    value("policy_controller_extra_tolerations", "list", "[]", "Further taints of nodes that Calico's controllers run on.").moot(CALICO),
    number("global_as_num", "none", "The BGP number of Calico.").moot(CALICO),
];
