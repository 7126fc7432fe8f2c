//! What the DNS cache of each node can't share with the rest of a cluster.

use std::net::IpAddr;

use crate::decode::Decoder;
use crate::model::{Network, NodeDns};
use crate::read::ReadHost;
use crate::words::quote;
use crate::{Position, Problem};

/// Where its address may be written.
const ADDRESS: [&str; 2] = ["spec.vars.nodelocaldns_ip", "spec.network.nodeLocalDNS.address"];
/// Where it may be switched on.
const ENABLED: [&str; 2] = ["spec.vars.enable_nodelocaldns", "spec.network.nodeLocalDNS.enabled"];
/// Where its zones may be written.
const ZONES: [&str; 2] = ["spec.vars.nodelocaldns_external_zones", "spec.network.nodeLocalDNS.zones"];

pub(crate) fn node_dns(decoder: &mut Decoder, network: &Network, dns: &NodeDns, hosts: &[ReadHost<'_>], spec: &Position) {
    if !dns.enabled {
        return;
    }
    let written = |paths: [&str; 2]| paths.iter().find_map(|path| decoder.position(path));
    let enabled = written(ENABLED).unwrap_or(spec);
    let (address, zones) = (written(ADDRESS).unwrap_or(enabled).clone(), written(ZONES).unwrap_or(enabled).clone());
    let ranges = [("pods", network.pod_cidr), ("services", network.service_cidr)];
    let hit = ranges.into_iter().find(|(_, range)| range.contains(&dns.address)).map(|(what, range)| format!("the {what} have {range}"));
    let is_same = |host: &&ReadHost<'_>| host.address.as_ref().is_some_and(|(address, _)| *address == IpAddr::V4(dns.address));
    let of_host = || hosts.iter().find(is_same).map(|_| "a host has it".to_owned());
    if let Some(because) = hit.or_else(of_host) {
        decoder.report(
            Problem::new(format!("the DNS cache cannot have the address {}", dns.address))
                .at(&address)
                .because(format!("{because}, and the cache is at the same address on every node"))
                .hint("leave it out for 169.254.25.10, or write another one of 169.254.0.0/16"),
        );
    }
    let domain = network.cluster_domain.to_lowercase();
    if dns.zones.iter().flat_map(|zone| &zone.names).any(|name| *name == domain) {
        decoder.report(
            Problem::new(format!("{} cannot be a zone with name servers of its own", quote(&domain)))
                .at(&zones)
                .because("that is the cluster's domain, and the cluster's DNS answers for it")
                .hint("leave it out"),
        );
    }
}
