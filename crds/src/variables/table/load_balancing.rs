//! Variables of the way to the API server.

use crate::model::API_ENDPOINT_NAME;
use crate::variables::read::{load_balancing, virtual_address};
use crate::variables::row::{Remark, Variable, flag, number, text, value, word};

const PLACE: &str = "each host has it there";
/// The same address by another program.
const BY_KEEPALIVED: Remark = Remark {
    message: "the address of `kube_vip_address` moves by keepalived, and not by kube-vip",
    because: "keepalived is a package of every distribution, and needs no API server that works",
    hint: "for clients outside it is the same; nodes reach the API servers by load balancers of their own, also where \
           `loadbalancer_apiserver` has that address; `apiEndpoint: {vip: …}` says it in kokctl's words",
};

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
    word("api_virtual_address", "address", "none", "An address that moves between the control planes, for clients outside.")
        .reads(virtual_address::address),
    number("api_virtual_router_id", "the last number of that address", "Its virtual router's number in the hosts' network (VRRP).")
        .reads(virtual_address::router),
    flag("kube_vip_enabled", "false", "An address that moves between control planes.").reads(virtual_address::kube_vip),
    flag("kube_vip_controlplane_enabled", "false", "That address for the API server.")
        .reads(virtual_address::kube_vip_of_control_plane)
        .beside("kube_vip_enabled: true", |settings| settings.api_endpoint.kube_vip.enabled),
    flag("kube_vip_arp_enabled", "false", "That address by ARP.").moot("the address moves by ARP in any case"),
    flag("kube_vip_bgp_enabled", "false", "That address by BGP.")
        .needed("no router would learn where the address is")
        .instead("leave it out: the address moves by ARP, within the network of the control planes"),
    word("kube_vip_address", "address", "none", "That address.")
        .reads(virtual_address::kube_vip_address)
        .beside("kube_vip_controlplane_enabled", virtual_address::is_on)
        .noting(BY_KEEPALIVED),
    text("kube_vip_interface", "none", "The interface that has it.")
        .moot("it is the one that has the host's own address, and the address has to be of a network of that one"),
    flag("kube_vip_lb_enable", "false", "Whether clients who are sent to it are spread over all API servers."),
    flag("kube_vip_ddns_enabled", "false", "An address of DHCP, by whose name clients find it.")
        .needed("nobody would ask for an address")
        .instead("leave it out, and write a fixed one in `kube_vip_address`"),
    flag("kube_vip_services_enabled", "false", "Such addresses for services.").needed("services of type LoadBalancer would get no address"),
    value("kube_vip_*", "none", "none", "A setting of kube-vip.").moot("the address moves by keepalived, and there is no kube-vip"),
    value("nginx_*", "none", "none", "A setting of the load balancer on each node.")
        .moot("that load balancer is haproxy here, and there is no nginx"),
    value("haproxy_*", "none", "none", "A setting of the load balancer on each node."),
];
