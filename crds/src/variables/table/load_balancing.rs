//! Variables of the way to the API server.

use crate::model::API_ENDPOINT_NAME;
use crate::variables::read::load_balancing;
use crate::variables::row::{Variable, flag, number, text, value, word};

const PLACE: &str = "each host has it there";
const VIP: &str = "it is of kube-vip, which this version does not install";
const INSTEAD_OF_VIP: &str = "leave it out: workers have load balancers of their own; for clients elsewhere, put one of yours before the API servers (`loadbalancer_apiserver`)";

pub(super) static ROWS: &[Variable] = &[
    value(
        "loadbalancer_apiserver",
        "map of address and port",
        "none",
        "A load balancer before the API servers, or an address that moves between them, that the user runs.",
    )
    .reads(load_balancing::external),
    value(
        "loadbalancer_apiserver_localhost",
        "boolean",
        "true, unless loadbalancer_apiserver is set",
        "Whether, with several control planes, each host without an API server has a load balancer before theirs.",
    )
    .reads(load_balancing::localhost),
    word("loadbalancer_apiserver_type", "nginx or haproxy", "haproxy", "Which program that is."),
    number("loadbalancer_apiserver_port", "that of the API servers", "Its port.").reads(load_balancing::server_port),
    number("loadbalancer_apiserver_healthcheck_port", "8081", "The port at which it tells whether it is well.").only(
        &["8081"],
        PLACE,
        "leave it out",
    ),
    text(
        "apiserver_loadbalancer_domain_name",
        API_ENDPOINT_NAME,
        "The name of the API: of loadbalancer_apiserver, if that is set; without it, hosts of several control planes know it themselves.",
    )
    .reads(load_balancing::name),
    text("kubeadm_config_api_fqdn", API_ENDPOINT_NAME, "Another name of apiserver_loadbalancer_domain_name, for what kubeadm is told.")
        .reads(load_balancing::name),
    value("loadbalancer_apiserver_*", "none", "none", "A setting of that load balancer."),
    flag("use_localhost_as_kubeapi_loadbalancer", "false", "Whether a load balancer of the user's own listens on each node.")
        .needed("nodes would reach the API server directly"),
    flag("kube_vip_enabled", "false", "An address that moves between control planes.")
        .needed("the API server would not have that address")
        .instead(INSTEAD_OF_VIP),
    flag("kube_vip_controlplane_enabled", "false", "That address for the API server.")
        .needed("the API server would not have that address")
        .instead(INSTEAD_OF_VIP),
    flag("kube_vip_arp_enabled", "false", "That address by ARP.").moot(VIP),
    flag("kube_vip_bgp_enabled", "false", "That address by BGP.").moot(VIP),
    word("kube_vip_address", "address", "none", "That address.").moot(VIP),
    text("kube_vip_interface", "none", "The interface that has it.").moot(VIP),
    flag("kube_vip_services_enabled", "false", "Such addresses for services.").needed("services of type LoadBalancer would get no address"),
    value("kube_vip_*", "none", "none", "A setting of kube-vip.").moot(VIP),
    value("nginx_*", "none", "none", "A setting of the load balancer on each node.")
        .moot("that load balancer is haproxy here, and there is no nginx"),
    value("haproxy_*", "none", "none", "A setting of the load balancer on each node."),
];
