//! Variables of Calico.

use crate::variables::read::calico::{self, ON};
use crate::variables::row::{Variable, flag, number, text, value, word};

const WAY_OUT: &str = "leave it out, or install Calico by its manifest: `network: {plugin: manifest, manifest: calico.yaml}` of a Cluster";
const OTHER: &str = "kokctl leaves it as Calico has it";
const WITHOUT_ROUTER: &str = "it is of BGP with others than the hosts of the cluster, which this version does not set up";

/// A setting of Calico, by who reads it.
macro_rules! setting {
    ($row:expr, $reader:expr) => {
        $row.reads($reader).beside(ON.0, ON.1)
    };
}

/// What would make another cluster, and is not set up here.
macro_rules! undone {
    ($row:expr, $because:literal) => {
        $row.needed($because).instead(WAY_OUT).beside(ON.0, ON.1)
    };
}

/// A setting of the daemon on each node.
macro_rules! environment {
    ($row:expr, $name:literal) => {
        $row.reads(|d, f, s| calico::environment(d, f, s, $name)).beside(ON.0, ON.1)
    };
}

pub(super) static ROWS: &[Variable] = &[
    text("calico_version", "that of the bundle", "Which Calico.").moot("it is the one of the bundle"),
    setting!(text("calico_cni_name", "k8s-pod-network", "The name of the network in Calico's configuration."), |d, f, s| {
        let mut name = None;
        calico::word(d, f, &mut name);
        s.calico.cni_name = name.unwrap_or_else(|| s.calico.cni_name.clone());
    }),
    flag("calico_felix_premetheusmetricsenabled", "none", "A misspelling of kubean's samples, which nothing reads.")
        .moot("nothing reads it, with kubean neither: it is a misspelling"),
    environment!(
        flag("calico_felix_prometheusmetricsenabled", "false", "Whether Calico tells numbers about itself."),
        "FELIX_PROMETHEUSMETRICSENABLED"
    ),
    environment!(number("calico_felix_prometheusmetricsport", "9091", "At which port it tells them."), "FELIX_PROMETHEUSMETRICSPORT"),
    environment!(
        flag("calico_felix_prometheusgometricsenabled", "true", "Whether Calico tells numbers about its own program."),
        "FELIX_PROMETHEUSGOMETRICSENABLED"
    ),
    environment!(
        flag("calico_felix_prometheusprocessmetricsenabled", "true", "Whether Calico tells numbers about its process."),
        "FELIX_PROMETHEUSPROCESSMETRICSENABLED"
    ),
    setting!(word("calico_network_backend", "vxlan or bird", "vxlan", "How hosts learn of each other's pods."), calico::backend),
    setting!(word("calico_vxlan_mode", "Always, Never or CrossSubnet", "Always", "When Calico uses VXLAN."), |d, f, s| {
        calico::tunnel(d, f, &mut s.calico.vxlan);
    }),
    setting!(word("calico_ipip_mode", "Always, Never or CrossSubnet", "Never", "When Calico uses IP in IP."), |d, f, s| {
        calico::tunnel(d, f, &mut s.calico.ipip);
    }),
    setting!(number("calico_vxlan_port", "4789", "The UDP port of Calico's VXLAN."), |d, f, s| {
        calico::number(d, f, 1..=65_535, &mut s.calico.vxlan_port);
    }),
    setting!(number("calico_vxlan_vni", "4096", "The number of Calico's network in packets of VXLAN."), |d, f, s| {
        calico::number(d, f, 1..=16_777_215, &mut s.calico.vxlan_vni);
    }),
    setting!(
        number("calico_pool_blocksize", "26", "The prefix length of the blocks of addresses that Calico gives to nodes."),
        |d, f, s| {
            calico::number(d, f, 20..=32, &mut s.calico.block_size);
        }
    ),
    setting!(number("calico_pool_blocksize_ipv6", "122", "The same of IPv6."), |d, f, s| {
        calico::number(d, f, 116..=128, &mut s.calico.block_size_ipv6);
    }),
    undone!(
        word("calico_datastore", "kdd", "kdd", "Where Calico keeps its state."),
        "it would keep its state in the Kubernetes API, and know nothing of what is in etcd"
    ),
    undone!(
        flag("calico_wireguard_enabled", "false", "Whether Calico encrypts what pods send."),
        "packets of pods would not be encrypted; flannel's backend wireguard encrypts them"
    ),
    setting!(text("calico_ip_auto_method", "the address of the node", "How Calico finds a node's address."), |d, f, s| {
        calico::word(d, f, &mut s.calico.ip_method);
    }),
    setting!(text("calico_ip6_auto_method", "the address of the node", "How Calico finds a node's IPv6 address."), |d, f, s| {
        calico::word(d, f, &mut s.calico.ip6_method);
    }),
    setting!(number("calico_mtu", "what the hosts' interfaces leave", "Bytes of the largest packet of a pod with Calico."), calico::mtu),
    setting!(number("calico_veth_mtu", "calico_mtu", "Bytes of the largest packet of a pod with Calico."), calico::mtu),
    setting!(
        word("calico_iptables_backend", "Auto, Legacy or NFT", "Auto", "By which programs Calico's dataplane iptables reaches the kernel."),
        calico::iptables_backend
    ),
    setting!(
        word(
            "calico_nftable_mode",
            "Enabled or Disabled",
            "as kube-proxy does",
            "Whether Calico programs nftables instead of iptables, from Calico 3.30 on."
        ),
        calico::nftables
    ),
    undone!(flag("calico_bpf_enabled", "false", "Whether Calico uses eBPF."), "chains of iptables or nftables carry what eBPF is to carry"),
    setting!(flag("typha_enabled", "false", "Whether a component of Calico for large clusters asks the API for the nodes."), |d, f, s| {
        calico::flag(d, f, &mut s.calico.typha_enabled);
    }),
    number("typha_replicas", "1", "How many of it there are.")
        .reads(|d, f, s| calico::number(d, f, 1..=100, &mut s.calico.typha_replicas))
        .beside("typha_enabled", |settings| settings.calico.is_wanted && settings.calico.typha_enabled),
    undone!(
        flag("typha_secure", "false", "Whether nodes and typha know each other by certificates."),
        "they would talk without certificates"
    ),
    undone!(
        flag("calico_advertise_cluster_ips", "false", "Whether routers learn the services' range."),
        "routers would not learn the services' range"
    ),
    undone!(
        value("calico_advertise_service_external_ips", "list of ranges", "none", "Which addresses of services routers learn."),
        "routers would not learn these addresses"
    ),
    undone!(
        value("calico_advertise_service_loadbalancer_ips", "list of ranges", "none", "Which addresses of services routers learn."),
        "routers would not learn these addresses"
    ),
    environment!(text("calico_feature_detect_override", "none", "What Calico takes the kernel for."), "FELIX_FEATUREDETECTOVERRIDE"),
    environment!(word("calico_loglevel", "word", "info", "How much Calico tells."), "FELIX_LOGSEVERITYSCREEN"),
    environment!(word("calico_felix_chaininsertmode", "Insert or Append", "Insert", "Where its rules stand."), "FELIX_CHAININSERTMODE"),
    environment!(
        text("calico_felix_mtu_iface_pattern", "Calico's own", "Which interfaces of a host Calico asks for their packet size."),
        "FELIX_MTUIFACEPATTERN"
    ),
    environment!(
        word("calico_endpoint_to_host_action", "RETURN, ACCEPT or DROP", "RETURN", "What happens to packets of pods to their own host."),
        "FELIX_DEFAULTENDPOINTTOHOSTACTION"
    ),
    environment!(
        number("calico_iptables_lock_timeout_secs", "10", "How long Calico waits for others that program iptables."),
        "FELIX_IPTABLESLOCKTIMEOUTSECS"
    ),
    environment!(
        flag("calico_node_ignorelooserpf", "false", "Whether Calico runs where the kernel checks senders loosely."),
        "FELIX_IGNORELOOSERPF"
    ),
    environment!(flag("calico_usage_reporting", "false", "Whether Calico tells its makers of the cluster."), "FELIX_USAGEREPORTINGENABLED"),
    undone!(
        flag("calico_ipam_host_local", "false", "Whether nodes give addresses of their shares of the pods' range."),
        "nodes take blocks of the whole range"
    ),
    undone!(flag("calico_apiserver_enabled", "false", "Whether kubectl knows Calico's own objects."), "kubectl would not know them"),
    undone!(text("calico_pool_cidr", "kube_pods_subnet", "The range of the pool."), "the pool has the whole range of the pods"),
    undone!(
        text("calico_pool_cidr_ipv6", "kube_pods_subnet_ipv6", "The range of the pool of IPv6."),
        "the pool has the whole range of the pods"
    ),
    text("calico_pool_name", "default-ipv4-ippool", "The name of the pool.").moot("Calico itself names it"),
    text("calico_rr_id", "none", "The identifier of a route reflector.").moot(WITHOUT_ROUTER),
    value("calico_*", "none", "none", "A setting of Calico.").moot(OTHER),
    value("typha_*", "none", "none", "A setting of Calico's typha.").moot(OTHER),
    undone!(flag("peer_with_router", "false", "Whether Calico speaks BGP with routers."), "routers would not learn of pods"),
    undone!(
        flag("peer_with_calico_rr", "false", "Whether Calico speaks BGP with route reflectors."),
        "hosts would speak BGP with each other, and not with the reflectors"
    ),
    value("peers", "list", "none", "With which routers Calico speaks BGP.").moot(WITHOUT_ROUTER),
    number("local_as", "none", "The BGP number of a node with Calico.").moot(WITHOUT_ROUTER),
    undone!(flag("ipip", "false", "An old name of `calico_ipip_mode`."), "no Kubespray of today reads it; `calico_ipip_mode` says it"),
    value("policy_controller_extra_tolerations", "list", "[]", "Further taints of nodes that Calico's controllers run on."),
    undone!(number("global_as_num", "64512", "The BGP number of Calico."), "hosts would have Calico's own number, 64512"),
];
