//! What an address that moves between the control planes can't be.

use std::net::{IpAddr, Ipv4Addr};

use crate::decode::Decoder;
use crate::model::{Network, Settings};
use crate::read::ReadHost;
use crate::words::quote;
use crate::{Position, Problem};

/// Where it may be written.
const ADDRESS: [&str; 4] =
    ["spec.apiEndpoint.vip", "spec.vars.api_virtual_address", "spec.vars.kube_vip_address", "spec.vars.kube_vip_enabled"];
const ROUTER: [&str; 2] = ["spec.apiEndpoint.routerId", "spec.vars.api_virtual_router_id"];

pub(crate) fn virtual_address(
    decoder: &mut Decoder,
    settings: &Settings,
    network: Option<&Network>,
    hosts: &[ReadHost<'_>],
    spec: &Position,
) {
    let endpoint = &settings.api_endpoint;
    let at = |paths: &[&str]| paths.iter().find_map(|path| decoder.position(path)).unwrap_or(spec).clone();
    let (place, router) = (at(&ADDRESS), at(&ROUTER));
    let Some(address) = endpoint.virtual_address else {
        if endpoint.virtual_router.is_some() {
            let problem = Problem::new("there is no virtual address that a router would have").at(&router);
            decoder.report(problem.because("`routerId` is the number of the virtual router of `vip`").hint("write `vip`, or leave it out"));
        }
        return;
    };
    if let Some(external) = &endpoint.external {
        decoder.report(
            Problem::new("the API cannot have both a virtual address and a load balancer of your own")
                .at(&place)
                .because(format!("clients would be sent to one of the two, {address} or {}", quote(&external.address)))
                .hint("leave one of `vip` and `address` out"),
        );
    }
    if let Some((because, hint)) = taken(address, network, hosts) {
        let problem = Problem::new(format!("the virtual address cannot be {address}")).at(&place);
        decoder.report(problem.because(because).hint(hint));
    }
}

/// Who has the address anyway.
fn taken(address: Ipv4Addr, network: Option<&Network>, hosts: &[ReadHost<'_>]) -> Option<(String, &'static str)> {
    const FREE: &str = "write an address of the control planes' network that nobody has";
    let is_same = |host: &&ReadHost<'_>| host.address.as_ref().is_some_and(|(own, _)| *own == IpAddr::V4(address));
    if let Some(host) = hosts.iter().find(is_same) {
        let name = host.name.as_ref().map(|(name, _)| quote(name)).unwrap_or_default();
        return Some((format!("the host {name} has it, and it is to move"), FREE));
    }
    let network = network?;
    let ranges = [("pods", network.pod_cidr), ("services", network.service_cidr)];
    let (what, range) = ranges.into_iter().find(|(_, range)| range.contains(&address))?;
    Some((format!("the {what} have {range}, and nobody outside would reach it"), FREE))
}
