//! What the network of a cluster says of IPv6.

use std::net::Ipv6Addr;

use ipnet::{IpNet, Ipv6Net};

use crate::Problem;
use crate::decode::{Decoder, Field, Fields};
use crate::model::{Ipv6Network, NetworkPlugin};
use crate::syntax::address;
use crate::words::quote;

/// Fields that count with dual stack only.
pub(crate) const OF_IPV6: [&str; 4] = ["podCIDRIPv6", "serviceCIDRIPv6", "nodePrefixIPv6", "masqueradeIPv6"];

/// Kubespray's ranges: 256 nodes of 256 addresses, and 4096 services.
const DEFAULT_PODS: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xfd85, 0xee78, 0xd8a6, 0x8607, 0, 0, 1, 0), 112);
const DEFAULT_SERVICES: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xfd85, 0xee78, 0xd8a6, 0x8607, 0, 0, 0, 0x1000), 116);
const DEFAULT_NODE_PREFIX: u8 = 120;

/// The IPv6 part of the network, if the cluster has one.
pub(super) fn read(decoder: &mut Decoder, fields: &Fields<'_>, plugin: NetworkPlugin) -> Option<Option<Ipv6Network>> {
    let is_on = fields.get("dualStack").map_or(Some(false), |field| decoder.boolean(&field))?;
    if !is_on {
        let idle = OF_IPV6.into_iter().find_map(|name| fields.get(name));
        idle.iter().for_each(|field| decoder.report(idle_problem(field)));
        return idle.is_none().then_some(None);
    }
    let mut ipv6 =
        Ipv6Network { pod_cidr: DEFAULT_PODS, service_cidr: DEFAULT_SERVICES, node_prefix: DEFAULT_NODE_PREFIX, masquerade: true };
    let mut good = true;
    let mut keep = |read: Option<()>| good &= read.is_some();
    if let Some(field) = fields.get("podCIDRIPv6") {
        keep(read_range(decoder, &field, DEFAULT_PODS).map(|range| ipv6.pod_cidr = range));
    }
    if let Some(field) = fields.get("serviceCIDRIPv6") {
        keep(read_range(decoder, &field, DEFAULT_SERVICES).map(|range| ipv6.service_cidr = range));
    }
    if let Some(field) = fields.get("nodePrefixIPv6") {
        let prefix = decoder.integer(&field, 0..=128).and_then(|prefix| u8::try_from(prefix).ok());
        keep(prefix.map(|prefix| ipv6.node_prefix = prefix));
    }
    if let Some(field) = fields.get("masqueradeIPv6") {
        keep(read_masquerade(decoder, &field, plugin).map(|masquerade| ipv6.masquerade = masquerade));
    }
    good.then_some(Some(ipv6))
}

fn idle_problem(field: &Field<'_>) -> Problem {
    Problem::new(format!("`{}` says something of IPv6, which the cluster does not have", field.name()))
        .at(field.position())
        .because("it has IPv4 alone, for nothing asks for both")
        .hint("write `dualStack: true` beside it, or leave it out")
}

fn read_range(decoder: &mut Decoder, field: &Field<'_>, example: Ipv6Net) -> Option<Ipv6Net> {
    let text = decoder.text(field)?;
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text))).at(field.position());
    let problem = match text.parse::<IpNet>() {
        Err(_) => {
            problem.because("it is no range of addresses").hint(format!("write an address and a prefix length, for example `{example}`"))
        }
        Ok(IpNet::V4(_)) => problem.because("it is a range of IPv4").hint(format!("write one of IPv6, for example `{example}`")),
        Ok(IpNet::V6(range)) if range.trunc() != range => problem
            .because(format!("{} is not the first address of a /{}", range.addr(), range.prefix_len()))
            .hint(format!("did you mean `{}`?", range.trunc())),
        Ok(IpNet::V6(range)) => match address::reserved_ipv6(&range) {
            None => return Some(range),
            Some(reason) => problem.because(reason).hint(format!("write a range of unique local addresses, for example `{example}`")),
        },
    };
    decoder.report(problem);
    None
}

/// flannel has one switch for both families; the bridge's rules are kokctl's own.
fn read_masquerade(decoder: &mut Decoder, field: &Field<'_>, plugin: NetworkPlugin) -> Option<bool> {
    let masquerade = decoder.boolean(field)?;
    let problem = Problem::new(format!("`{}` cannot be `{masquerade}` with the network plugin `{}`", field.name(), plugin.as_str()));
    let problem = match plugin {
        NetworkPlugin::Bridge | NetworkPlugin::Calico => return Some(masquerade),
        NetworkPlugin::Flannel if masquerade => return Some(masquerade),
        NetworkPlugin::Flannel => problem
            .because("flannel gives the packets of pods that leave the cluster the node's address, those of IPv6 as those of IPv4")
            .hint("leave it out, or let the plugin `bridge` carry the pods' traffic"),
        NetworkPlugin::Manifest | NetworkPlugin::None => {
            problem.because("that network decides it by itself").hint("leave it out, and tell your network itself")
        }
    };
    decoder.report(problem.at(field.position()));
    None
}
