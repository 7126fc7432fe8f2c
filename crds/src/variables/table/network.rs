//! Variables of the network.

use crate::variables::read::kube_proxy::{self, IPVS};
use crate::variables::read::{calico, values};
use crate::variables::row::{Variable, flag, number, text, value, word};

const IPV4: &str = "this version builds clusters whose first family is IPv4";
const COMPUTED: &str = "Kubespray computes it itself and reads it from nobody";

pub(super) static ROWS: &[Variable] = &[
    word(
        "kube_network_plugin",
        "flannel, calico, bridge, custom_cni, cni or none",
        "flannel in a Cluster; an inventory that says nothing means calico",
        "The network plugin; bridge is kokctl's own, with none, or cni, you install one yourself. Others come by their manifests (docs/cluster.md).",
    )
    .field_of("spec.network.plugin"),
    word("kube_pods_subnet", "IPv4 range", "10.233.64.0/18", "The range of the pods' addresses.").field_of("spec.network.podCIDR"),
    word("kube_service_addresses", "IPv4 range", "10.233.0.0/18", "The range of the services' addresses.")
        .field_of("spec.network.serviceCIDR"),
    number("kube_network_node_prefix", "24", "The prefix length of each node's share of the pods' range.")
        .field_of("spec.network.nodePrefix"),
    flag("ipv4_stack", "true", "Whether the cluster talks over IPv4.").only(&["true"], IPV4, "write `true`, or leave it out"),
    flag("ipv6_stack", "false", "Whether the cluster talks over IPv6 beside IPv4: dual stack.").field_of("spec.network.dualStack"),
    flag("enable_dual_stack_networks", "false", "The former name of `ipv6_stack`, which counts where both are set.")
        .field_of("spec.network.dualStack"),
    word("kube_pods_subnet_ipv6", "IPv6 range", "fd85:ee78:d8a6:8607::1:0/112", "The range of the pods' IPv6 addresses.")
        .field_of("spec.network.podCIDRIPv6"),
    word("kube_service_addresses_ipv6", "IPv6 range", "fd85:ee78:d8a6:8607::1000/116", "The range of the services' IPv6 addresses.")
        .field_of("spec.network.serviceCIDRIPv6"),
    number("kube_network_node_prefix_ipv6", "120", "The prefix length of each node's share of the pods' IPv6 range.")
        .field_of("spec.network.nodePrefixIPv6"),
    flag("kube_network_plugin_multus", "false", "Adds multus, for several networks in one pod.")
        .needed("pods that ask for further networks would not get them")
        .instead("leave it out, and install Multus into the cluster with its own manifest"),
    text("multus_*", "none", "A setting of multus.").moot("this version does not install multus"),
    flag("enable_network_policy", "false", "Whether network policies are enforced; flannel enforces none, Calico always does.")
        .moot("Calico enforces them in any case, and flannel in none"),
    word("kube_proxy_mode", "nftables, iptables or ipvs", "nftables", "How kube-proxy programs the kernel; ipvs is deprecated.").reads(kube_proxy::mode),
    number(
        "kube_proxy_conntrack_max_per_core",
        "unset: kube-proxy's 32768",
        "Connections that the kernel tracks per CPU core; 0 leaves its limit alone, as on hosts that may not change it.",
    )
    .reads(kube_proxy::conntrack_max_per_core),
    flag("kube_proxy_strict_arp", "false", "Keeps hosts from answering for the addresses of services.")
        .reads(|d, f, s| values::flag(d, f, &mut s.components.kube_proxy, "ipvs.strictARP"))
        .beside(IPVS.0, IPVS.1),
    word("kube_proxy_scheduler", "word", "rr", "How ipvs chooses among the pods of a service.")
        .reads(|d, f, s| values::text(d, f, &mut s.components.kube_proxy, "ipvs.scheduler"))
        .beside(IPVS.0, IPVS.1),
    value("kube_proxy_exclude_cidrs", "list of ranges", "[]", "Ranges that ipvs leaves alone.")
        .reads(|d, f, s| values::list(d, f, &mut s.components.kube_proxy, "ipvs.excludeCIDRs"))
        .beside(IPVS.0, IPVS.1),
    flag("kube_proxy_masquerade_all", "false", "Whether all traffic to services gets the node's address.")
        .reads(|d, f, s| values::flag(d, f, &mut s.components.kube_proxy, "MODE.masqueradeAll")),
    text("kube_proxy_masquerade_bit", "14", "Which mark of a packet kube-proxy uses.")
        .reads(|d, f, s| values::number(d, f, &mut s.components.kube_proxy, "MODE.masqueradeBit", 0..=31)),
    value("kube_proxy_nodeport_addresses", "list of ranges", "[]", "Which addresses of a node answer for node ports.")
        .reads(kube_proxy::nodeport_addresses),
    text("kube_proxy_nodeport_addresses_cidr", "none", "Which addresses of a node answer for node ports.")
        .reads(kube_proxy::nodeport_addresses),
    word("kube_proxy_bind_address", "address", "0.0.0.0", "Where kube-proxy listens.").only(
        &["0.0.0.0", "::"],
        "this version lets it listen at all addresses of the host",
        "leave it out",
    ),
    word("kube_proxy_healthz_bind_address", "address", "0.0.0.0", "Where kube-proxy tells whether it is well.")
        .reads(|d, f, s| kube_proxy::bind(d, f, s, "healthzBindAddress", 10256)),
    word("kube_proxy_metrics_bind_address", "address", "127.0.0.1:10249", "Where kube-proxy tells numbers about itself.")
        .reads(|d, f, s| kube_proxy::bind(d, f, s, "metricsBindAddress", 10249)),
    flag("kube_proxy_enable_profiling", "false", "Whether kube-proxy tells where it spends its time.")
        .reads(|d, f, s| values::flag(d, f, &mut s.components.kube_proxy, "enableProfiling")),
    text("kube_proxy_client_accept_content_types", "kube-proxy's own", "In which forms kube-proxy takes answers of the API server.")
        .reads(|d, f, s| values::text(d, f, &mut s.components.kube_proxy, "clientConnection.acceptContentTypes")),
    text("kube_proxy_client_content_type", "application/vnd.kubernetes.protobuf", "In which form it asks.")
        .reads(|d, f, s| values::text(d, f, &mut s.components.kube_proxy, "clientConnection.contentType")),
    text("kube_proxy_client_kubeconfig", "kubeadm's own", "Where kube-proxy finds the API server.").moot("kubeadm tells it"),
    number("kube_proxy_client_burst", "10", "How many requests it sends at once.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.kube_proxy, "clientConnection.burst")),
    number("kube_proxy_client_qps", "5", "How many requests it sends a second.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.kube_proxy, "clientConnection.qps")),
    word("kube_proxy_config_sync_period", "time", "15m0s", "How often kube-proxy reads everything again.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "configSyncPeriod")),
    word("kube_proxy_sync_period", "time", "30s", "How often kube-proxy writes everything again.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "MODE.syncPeriod")),
    word("kube_proxy_min_sync_period", "time", "1s", "How often kube-proxy writes changes at most.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "MODE.minSyncPeriod")),
    number("kube_proxy_conntrack_min", "131072", "Connections that the kernel tracks at least.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.kube_proxy, "conntrack.min")),
    word("kube_proxy_conntrack_tcp_close_wait_timeout", "time", "1h0m0s", "How long half-closed connections are tracked.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "conntrack.tcpCloseWaitTimeout")),
    word("kube_proxy_conntrack_tcp_established_timeout", "time", "24h0m0s", "How long silent connections are tracked.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "conntrack.tcpEstablishedTimeout")),
    number("kube_proxy_oom_score_adj", "-999", "How late the kernel kills kube-proxy.")
        .reads(|d, f, s| values::number(d, f, &mut s.components.kube_proxy, "oomScoreAdj", -1000..=1000)),
    word("kube_proxy_port_range", "range of ports", "none", "Ports that kube-proxy once used.").moot("no Kubernetes of today reads it"),
    word("kube_proxy_tcp_timeout", "time", "the kernel's", "How long ipvs knows connections.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "ipvs.tcpTimeout"))
        .beside(IPVS.0, IPVS.1),
    word("kube_proxy_tcp_fin_timeout", "time", "the kernel's", "How long ipvs knows closed connections.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "ipvs.tcpFinTimeout"))
        .beside(IPVS.0, IPVS.1),
    word("kube_proxy_udp_timeout", "time", "the kernel's", "How long ipvs knows what UDP has sent.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.kube_proxy, "ipvs.udpTimeout"))
        .beside(IPVS.0, IPVS.1),
    value("kube_proxy_ipvs_modules", "list of names", "none", "Kernel modules of ipvs.").moot("kokctl loads those that kube-proxy needs"),
    text("kube_proxy_nodeselector", "none", "Where kube-proxy runs.").moot("there are no nodes with Windows"),
    flag("kube_proxy_remove", "false", "Leaves kube-proxy out; the network plugin then has to carry Services, which flannel does not.")
        .reads(kube_proxy::remove),
    flag("kube_proxy_deployed", "true", "Whether kube-proxy is installed.").only(
        &["true"],
        "Kubespray computes it from `kube_proxy_remove`",
        "leave it out, and write `kube_proxy_remove: true` where there is to be none",
    ),
    flag("nat_outgoing", "true", "Whether packets of pods leave the cluster with the node's address; `false` is for Calico.")
        .reads(|d, f, s| calico::flag(d, f, &mut s.calico.nat_outgoing)),
    text("kube_apiserver_ip", "the first address of the services' range", "Address of the service `kubernetes`.")
        .moot("it is the first of the services' range, as the API server chooses it"),
    text("skydns_server", "the tenth address of the services' range", "Address of the DNS service.")
        .follows("it is the tenth of the services' range, as kubeadm chooses it; of others Kubespray's default, the third, is no error"),
    flag("nat_outgoing_ipv6", "true", "Whether packets of pods leave the cluster with the node's IPv6 address; `false` is for Calico and the bridge.")
        .field_of("spec.network.masqueradeIPv6"),
    value("kube_pods_subnets", "text", "kube_pods_subnet", "The ranges of the pods' addresses.").moot(COMPUTED),
    value("kube_service_subnets", "text", "kube_service_addresses", "The ranges of the services' addresses.").moot(COMPUTED),
    text("skydns_server_secondary", "none", "Address of a second DNS service.").moot("there is one DNS service"),
];
