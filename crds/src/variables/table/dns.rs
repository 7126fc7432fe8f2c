//! Variables of DNS.

use crate::variables::row::{Variable, flag, number, text, value, word};

const CACHE: &str = "it is of the node-local DNS cache, which this version does not install";

pub(super) static ROWS: &[Variable] = &[
    word("dns_mode", "coredns", "coredns", "What answers DNS in the cluster.").only(
        &["coredns"],
        "kokctl installs CoreDNS",
        "write `coredns`, or leave it out",
    ),
    text("dns_domain", "cluster.local", "The DNS domain of services.").field_of("spec.network.clusterDomain"),
    text(
        "cluster_name",
        "cluster.local",
        "The DNS domain of services, by Kubespray's other name for it; the cluster's name is `metadata.name`.",
    )
    .field_of("spec.network.clusterDomain"),
    word("resolvconf_mode", "none", "none", "Whether hosts ask the cluster's DNS.")
        .moot("kokctl leaves the name resolution of hosts as it is; pods ask the cluster's DNS all the same"),
    flag("enable_nodelocaldns", "false", "A DNS cache on each node."),
    flag("enable_nodelocaldns_secondary", "false", "A second DNS cache on each node.").moot(CACHE),
    word("nodelocaldns_ip", "address", "none", "Address of the DNS cache.").moot(CACHE),
    text("nodelocaldns_*", "none", "A setting of the DNS cache.").moot(CACHE),
    text("enable_nodelocaldns_*", "none", "A setting of the DNS cache.").moot(CACHE),
    flag("enable_dns_autoscaler", "false", "More CoreDNS for more nodes."),
    text("dns_autoscaler_*", "none", "A setting of that.").moot("this version does not scale CoreDNS by itself"),
    value("upstream_dns_servers", "list of addresses", "those of the host", "Where CoreDNS asks for names outside."),
    value("nameservers", "list of addresses", "those of the host", "Name servers of hosts.")
        .moot("kokctl leaves the name resolution of hosts as it is"),
    value("searchdomains", "list of domains", "those of the host", "Search domains of hosts.")
        .moot("kokctl leaves the name resolution of hosts as it is"),
    number("ndots", "5 in pods", "How many dots make a name complete.").moot("kokctl leaves the name resolution of hosts as it is"),
    flag("disable_host_nameservers", "false", "Keeps the hosts' name servers from being asked.")
        .moot("kokctl leaves the name resolution of hosts as it is"),
    flag("remove_default_searchdomains", "false", "Leaves the hosts' search domains out.")
        .moot("kokctl leaves the name resolution of hosts as it is"),
    value("coredns_external_zones", "list", "[]", "Zones that CoreDNS asks other servers for."),
    text("dns_etchosts", "none", "Names that CoreDNS knows by itself."),
    text("coredns_k8s_external_zone", "none", "The zone under which services are known outside.")
        .moot("it is read with enable_coredns_k8s_external only"),
    flag("enable_coredns_k8s_external", "false", "Makes services known under a zone of their own."),
    flag("enable_coredns_k8s_endpoint_pod_names", "false", "Names of pods in DNS."),
    flag("kube_dns_*", "none", "A setting of kube-dns.").moot("no Kubernetes of today has kube-dns"),
    value("manual_dns_server", "address", "none", "A DNS server of the user's own.").moot("it is read with dns_mode manual only"),
];
