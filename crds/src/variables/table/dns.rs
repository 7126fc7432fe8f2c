//! Variables of DNS.

use crate::variables::read::{kubelet, node_dns};
use crate::variables::row::{Variable, flag, number, text, value, word};

const HOSTS: &str = "kokctl leaves the name resolution of hosts as it is";
const ANSWERS: &str = "CoreDNS would answer otherwise than asked for";
const SCALES: &str = "this version does not scale CoreDNS by itself";
const SECOND: &str = "it is of the second DNS cache, which this version does not run";
const OF_COREDNS: &str = "the cache is CoreDNS, which the bundle has";

// What to do as long as it is not done.
const COREFILE: &str = "leave it out; by hand it goes into the ConfigMap `coredns` of kube-system, which later runs leave as it is";
const ZONES_INSTEAD: &str = "leave it out; who answers for a zone is said in nodelocaldns_external_zones";
const ON_HOSTS: &str = "leave it out, and set this up on the hosts";

pub(super) static ROWS: &[Variable] = &[
    word("dns_mode", "coredns", "coredns", "What answers DNS in the cluster.").only(
        &["coredns"],
        "kokctl installs CoreDNS, one with two pods, and no second one with a service of its own",
        "write `coredns`, or leave it out",
    ),
    text("dns_domain", "cluster.local", "The DNS domain of services.").field_of("spec.network.clusterDomain"),
    text(
        "cluster_name",
        "cluster.local",
        "The DNS domain of services, by Kubespray's other name for it; the cluster's name is `metadata.name`.",
    )
    .field_of("spec.network.clusterDomain"),
    word("resolvconf_mode", "none", "none", "Whether hosts ask the cluster's DNS; pods do in any case."),
    flag("enable_nodelocaldns", "false", "A DNS cache on each node, which pods ask.").reads(node_dns::enable),
    flag("enable_nodelocaldns_secondary", "false", "A second DNS cache on each node.")
        .needed("while a cache is replaced, its node has no other one")
        .instead("leave it out, or write `false`; the cache of a node is away for a second or two when it is replaced"),
    word("nodelocaldns_ip", "IPv4 address", "169.254.25.10", "Where the DNS cache of a node answers.")
        .reads(node_dns::address)
        .beside("enable_nodelocaldns", node_dns::is_on),
    number("nodelocaldns_health_port", "9254", "At which port of that address the DNS cache says that it works.")
        .reads(|d, f, s| node_dns::port(d, f, &mut s.node_dns.health_port))
        .beside("enable_nodelocaldns", node_dns::is_on),
    number("nodelocaldns_prometheus_port", "9253", "At which port the DNS cache has its metrics.")
        .reads(|d, f, s| node_dns::port(d, f, &mut s.node_dns.metrics_port))
        .beside("enable_nodelocaldns", node_dns::is_on),
    flag("nodelocaldns_bind_metrics_host_ip", "false", "Whether metrics are served at the node's address alone; else at all of them.")
        .reads(node_dns::metrics_at_host)
        .beside("enable_nodelocaldns", node_dns::is_on),
    text("nodelocaldns_cpu_requests", "100m", "Processor time for the DNS cache.")
        .reads(|d, f, s| kubelet::reserved(d, f, &mut s.node_dns.requests, "cpu"))
        .beside("enable_nodelocaldns", node_dns::is_on),
    text("nodelocaldns_memory_requests", "70Mi", "Memory for the DNS cache.")
        .reads(|d, f, s| kubelet::reserved(d, f, &mut s.node_dns.requests, "memory"))
        .beside("enable_nodelocaldns", node_dns::is_on),
    text("nodelocaldns_memory_limit", "200Mi", "Most memory of the DNS cache.")
        .reads(|d, f, s| kubelet::reserved(d, f, &mut s.node_dns.limits, "memory"))
        .beside("enable_nodelocaldns", node_dns::is_on),
    value("nodelocaldns_external_zones", "list", "[]", "Zones that the DNS cache asks other servers for.")
        .reads(node_dns::zones)
        .beside("enable_nodelocaldns", node_dns::is_on),
    text("nodelocaldns_additional_configs", "none", "Further configuration of the DNS cache.")
        .needed("the cache would answer otherwise than asked for")
        .instead(ZONES_INSTEAD),
    text("nodelocaldns_ds_nodeselector", "kubernetes.io/os: linux", "Which nodes have a DNS cache; here all of them.").only(
        &["kubernetes.io/os: linux", "{kubernetes.io/os: linux}"],
        "every kubelet gives pods the cache's address, so every node needs one",
        "leave it out",
    ),
    number("nodelocaldns_second_health_port", "none", "The health of the second DNS cache.").moot(SECOND),
    number("nodelocaldns_secondary_prometheus_port", "none", "The metrics of the second DNS cache.").moot(SECOND),
    number("nodelocaldns_secondary_skew_seconds", "none", "How long the second DNS cache outlives the first.").moot(SECOND),
    text("nodelocaldns_version", "that of the bundle", "Which program the DNS cache is.").moot(OF_COREDNS),
    text("nodelocaldns_image_repo", "that of the bundle", "The image of the DNS cache.").moot(OF_COREDNS),
    text("nodelocaldns_image_tag", "that of the bundle", "The image of the DNS cache.").moot(OF_COREDNS),
    value("nodelocaldns_manifests", "list", "none", "Which manifests Kubespray installs.")
        .moot("Kubespray works it out itself for its own use"),
    flag("enable_dns_autoscaler", "false", "More CoreDNS for more nodes."),
    text("dns_autoscaler_*", "none", "A setting of that.").moot(SCALES),
    value("upstream_dns_servers", "list of addresses", "those of the host", "Where CoreDNS asks for names outside.")
        .needed("CoreDNS would ask the name servers of the hosts")
        .instead(COREFILE),
    value("nameservers", "list of addresses", "those of the host", "Name servers of hosts, which CoreDNS asks too.")
        .needed("hosts and CoreDNS would ask the name servers that the hosts have")
        .instead(ON_HOSTS),
    value("searchdomains", "list of domains", "those of the host", "Search domains of hosts.")
        .needed("hosts would have the search domains that they have")
        .instead(ON_HOSTS),
    number("ndots", "5 in pods", "How many dots make a name complete.").moot(HOSTS),
    number("dns_timeout", "none", "How many seconds hosts wait for a name server.").moot(HOSTS),
    number("dns_attempts", "none", "How often hosts ask a name server.").moot(HOSTS),
    flag("dns_late", "false", "When Kubespray changes the name resolution of hosts.").moot(HOSTS),
    value("cloud_resolver", "list of addresses", "[]", "Name servers of a cloud.").needed("hosts would not ask them").instead(ON_HOSTS),
    text("resolveconf_cloud_init_conf", "none", "Where Kubespray tells cloud-init of name servers.").moot(HOSTS),
    flag("systemd_resolved_disable_stub_listener", "false", "Switches a part of systemd-resolved off."),
    flag("disable_host_nameservers", "false", "Keeps the hosts' name servers from being asked."),
    flag("remove_default_searchdomains", "false", "Leaves the hosts' search domains out."),
    value("coredns_external_zones", "list", "[]", "Zones that CoreDNS asks other servers for.").needed(ANSWERS).instead(COREFILE),
    text("coredns_rewrite_block", "none", "Names that CoreDNS takes for others.").needed(ANSWERS).instead(COREFILE),
    value("coredns_additional_configs", "text", "none", "Further configuration of CoreDNS.").needed(ANSWERS).instead(COREFILE),
    value("coredns_additional_error_config", "text", "none", "Which errors CoreDNS tells less often of."),
    text("coredns_default_zone_cache_block", "30 seconds", "How long CoreDNS remembers answers."),
    text("coredns_kubernetes_extra_opts", "none", "Further configuration of CoreDNS for services.").needed(ANSWERS).instead(COREFILE),
    text("coredns_kubernetes_extra_domains", "none", "Further domains of services.").needed(ANSWERS).instead(COREFILE),
    value("dns_upstream_forward_extra_opts", "map", "{}", "How CoreDNS asks for names outside.").needed(ANSWERS).instead(COREFILE),
    value("old_dns_domains", "list of domains", "[]", "Further domains of services, which they had before.")
        .needed(ANSWERS)
        .instead(COREFILE),
    flag("enable_coredns_reverse_dns_lookups", "true", "Whether CoreDNS knows names of addresses.").only(
        &["true"],
        "this version sets CoreDNS up so",
        "leave it out",
    ),
    flag("deploy_coredns", "true", "Whether CoreDNS is installed.").only(&["true"], "pods need it", "leave it out"),
    number("coredns_replicas", "2", "How many CoreDNS there are."),
    value("dns_extra_tolerations", "list", "[]", "Further taints of nodes that CoreDNS runs on.")
        .needed("CoreDNS could not run where all nodes have such taints")
        .instead("leave it out; by hand they go into the Deployment `coredns` of kube-system, which later runs leave as it is"),
    number("dns_replicas", "2", "How many CoreDNS there are, by a name that only Kubespray's documentation has.")
        .moot("nothing reads it, in Kubespray neither"),
    value("coredns_affinity", "map", "none", "Where CoreDNS runs."),
    text("coredns_deployment_nodeselector", "kubernetes.io/os: linux", "Where CoreDNS runs.").or(&["{kubernetes.io/os: linux}"]),
    text("coredns_svc_name", "kube-dns", "How the service is called."),
    text("coredns_ordinal_suffix", "none", "Which of two CoreDNS it is.").moot("Kubespray works it out itself for its own use"),
    flag("coredns_pod_disruption_budget", "false", "Keeps all CoreDNS from being evicted at once."),
    text("coredns_pod_disruption_budget_max_unavailable", "none", "How many may be.")
        .moot("it is read with coredns_pod_disruption_budget only"),
    text("coredns_version", "that of the bundle", "Which CoreDNS."),
    text("dns_cpu_requests", "100m", "Processor time for CoreDNS."),
    text("dns_cpu_limit", "none", "Most processor time of CoreDNS."),
    text("dns_memory_requests", "70Mi", "Memory for CoreDNS."),
    text("dns_memory_limit", "170Mi", "Most memory of CoreDNS."),
    number("dns_min_replicas", "none", "How few CoreDNS there are.").moot(SCALES),
    number("dns_nodes_per_replica", "none", "For how many nodes there is one.").moot(SCALES),
    number("dns_cores_per_replica", "none", "For how many processors there is one.").moot(SCALES),
    text("dns_prevent_single_point_failure", "none", "Whether there are two at least.").moot(SCALES),
    text("dnsautoscaler_version", "none", "Which program counts them.").moot(SCALES),
    text("dns_etchosts", "none", "Names that CoreDNS knows by itself.").needed(ANSWERS).instead(COREFILE),
    text("coredns_k8s_external_zone", "none", "The zone under which services are known outside.")
        .moot("it is read with enable_coredns_k8s_external only"),
    flag("enable_coredns_k8s_external", "false", "Makes services known under a zone of their own.").needed(ANSWERS).instead(COREFILE),
    flag("enable_coredns_k8s_endpoint_pod_names", "false", "Names of pods in DNS.").needed(ANSWERS).instead(COREFILE),
    flag("kube_dns_*", "none", "A setting of kube-dns.").moot("no Kubernetes of today has kube-dns"),
    value("manual_dns_server", "address", "none", "A DNS server of the user's own.").moot("it is read with dns_mode manual only"),
];
