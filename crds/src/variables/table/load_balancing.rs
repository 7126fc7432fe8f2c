//! Variables of the way to the API server.

use crate::variables::row::{Variable, flag, number, text, value, word};

const ONE: &str = "this version builds clusters with one control plane, which every node reaches directly";
const VIP: &str = "it is of kube-vip, which this version does not install";

pub(super) static ROWS: &[Variable] = &[
    value("loadbalancer_apiserver", "map of address and port", "none", "A load balancer before the API servers.")
        .needed("nodes and users would reach the API server by another address than that"),
    flag("loadbalancer_apiserver_localhost", "false", "A load balancer on each node.").moot(ONE),
    word("loadbalancer_apiserver_type", "nginx or haproxy", "none", "Which program that is.").moot(ONE),
    number("loadbalancer_apiserver_port", "6443", "Its port.").moot(ONE),
    number("loadbalancer_apiserver_healthcheck_port", "none", "The port at which it tells whether it is well.").moot(ONE),
    text("apiserver_loadbalancer_domain_name", "none", "A name of the API server.")
        .needed("the API server's certificate would not have that name"),
    value("loadbalancer_apiserver_*", "none", "none", "A setting of that load balancer.").moot(ONE),
    flag("use_localhost_as_kubeapi_loadbalancer", "false", "Whether a load balancer of the user's own listens on each node.")
        .needed("nodes would reach the API server directly"),
    flag("kube_vip_enabled", "false", "An address that moves between control planes.").needed("the API server would not have that address"),
    flag("kube_vip_controlplane_enabled", "false", "That address for the API server.").needed("the API server would not have that address"),
    flag("kube_vip_arp_enabled", "false", "That address by ARP.").moot(VIP),
    word("kube_vip_address", "address", "none", "That address.").moot(VIP),
    text("kube_vip_interface", "none", "The interface that has it.").moot(VIP),
    flag("kube_vip_services_enabled", "false", "Such addresses for services.").needed("services of type LoadBalancer would get no address"),
    value("kube_vip_*", "none", "none", "A setting of kube-vip.").moot(VIP),
    value("nginx_*", "none", "none", "A setting of the load balancer on each node.").moot(ONE),
    value("haproxy_*", "none", "none", "A setting of the load balancer on each node.").moot(ONE),
];
