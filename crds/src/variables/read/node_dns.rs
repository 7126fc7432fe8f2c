//! Variables of the DNS cache of each node.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::values;
use crate::Problem;
use crate::decode::{Decoder, Field, Form};
use crate::model::{DnsZone, NodeDns, Settings};
use crate::syntax::name::dns_name;
use crate::words::quote;

/// Where DNS is asked (RFC 1035).
const DNS_PORT: u16 = 53;

/// Kubespray's, for zones that say nothing else.
const CACHE_SECONDS: u32 = 30;

/// Longer than any answer lives (RFC 2181: a week is what resolvers take at most).
const MOST_CACHE_SECONDS: i64 = 7 * 24 * 3600;

/// Zones that the cache has of its own, besides the cluster's domain.
const OWN_ZONES: [&str; 2] = ["in-addr.arpa", "ip6.arpa"];

pub(crate) fn enable(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.node_dns.enabled = decoder.boolean(field).unwrap_or(settings.node_dns.enabled);
}

pub(crate) fn metrics_at_host(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.node_dns.metrics_at_host = decoder.boolean(field).unwrap_or(settings.node_dns.metrics_at_host);
}

/// It becomes an address of each host, so that none that means something else will do.
pub(crate) fn address(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = values::scalar(decoder, field) else { return };
    let is_free = |address: &Ipv4Addr| {
        let [first, ..] = address.octets();
        !(address.is_loopback() || first == 0 || address.is_multicast() || address.is_broadcast())
    };
    match text.parse::<Ipv4Addr>().ok().filter(is_free) {
        Some(address) => settings.node_dns.address = address,
        None => {
            let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
            let because = "it is an IPv4 address that each node gets for its cache; a loopback address would be the pod that asks";
            decoder.report(problem.because(because).hint("leave it out for 169.254.25.10, or write another one of 169.254.0.0/16"));
        }
    }
}

/// A port of the cache's own.
pub(crate) fn port(decoder: &mut Decoder, field: &Field<'_>, to: &mut u16) {
    let Some(port) = values::integer(decoder, field, 1..=65535).and_then(|port| u16::try_from(port).ok()) else { return };
    if port == DNS_PORT {
        let problem = Problem::new(format!("`{}` cannot be {port}", field.name())).at(field.position());
        return decoder.report(problem.because("there the cache answers for names").hint("write another port, or leave it out"));
    }
    *to = port;
}

const ZONES: Form = Form {
    what: "an entry of `nodelocaldns_external_zones`",
    fields: &["zones", "nameservers", "cache"],
    refused: &[("rewrite", "this version rewrites no names: the servers of the zone have to know them")],
};

pub(crate) fn zones(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let mut seen: BTreeSet<String> = OWN_ZONES.map(str::to_owned).into();
    for item in decoder.list(field, "it is a list of zones with their name servers").unwrap_or_default() {
        let Some(fields) = decoder.fields(&item, &ZONES) else { continue };
        let names = decoder.required(&fields, "zones").map(|field| names(decoder, &field, &mut seen));
        let servers = decoder.required(&fields, "nameservers").map(|field| servers(decoder, &field));
        let cache = fields.get("cache").and_then(|field| values::integer(decoder, &field, 0..=MOST_CACHE_SECONDS));
        let cache_seconds = cache.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(CACHE_SECONDS);
        if let (Some(names), Some(servers)) = (names, servers) {
            settings.node_dns.zones.push(DnsZone { names, servers, cache_seconds });
        }
    }
}

fn names(decoder: &mut Decoder, field: &Field<'_>, seen: &mut BTreeSet<String>) -> Vec<String> {
    let texts = decoder.texts(field, "it is a list of DNS names");
    if texts.is_empty() {
        let problem = Problem::new("an entry has no zone").at(field.position()).because("it says who answers for which zones");
        decoder.report(problem.hint("name its zones, for example `zones: [corp.example]`, or leave the entry out"));
    }
    let mut names = Vec::new();
    for (text, item) in texts {
        let name = text.trim_end_matches('.').to_lowercase();
        let problem = Problem::new(format!("{} cannot be a zone here", quote(text))).at(item.position());
        if let Some(reason) = dns_name(&name) {
            decoder.report(
                problem
                    .because(format!("{reason}; it is a plain DNS name, for pods ask the cache at port 53"))
                    .hint("write it like `corp.example`"),
            );
        } else if !seen.insert(name.clone()) {
            decoder.report(problem.because("the cache has that zone already").hint("name each zone once"));
        } else {
            names.push(name);
        }
    }
    names
}

fn servers(decoder: &mut Decoder, field: &Field<'_>) -> Vec<SocketAddr> {
    let texts = decoder.texts(field, "it is a list of addresses of name servers");
    if texts.is_empty() {
        let problem = Problem::new("an entry has no name server").at(field.position()).because("somebody has to answer for its zones");
        decoder.report(problem.hint("name one, for example `nameservers: [192.0.2.53]`, or leave the entry out"));
    }
    let mut servers = Vec::new();
    for (text, item) in texts {
        let address = text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, DNS_PORT));
        match address.or_else(|| text.parse().ok()) {
            Some(server) => servers.push(server),
            None => {
                let problem = Problem::new(format!("{} is no name server", quote(text))).at(item.position());
                decoder.report(
                    problem
                        .because("it is an address, perhaps with a port, like `192.0.2.53` or `192.0.2.53:5353`")
                        .hint("write its address: a name could only be asked of itself"),
                );
            }
        }
    }
    servers
}

/// Whether the cache counts, for variables that say something of it.
pub(crate) fn is_on(settings: &Settings) -> bool {
    settings.node_dns.enabled
}

/// Two of its ports can't be one.
pub(crate) fn same_ports(dns: &NodeDns) -> Option<Problem> {
    (dns.enabled && dns.health_port == dns.metrics_port).then(|| {
        Problem::new(format!("`nodelocaldns_health_port` and `nodelocaldns_prometheus_port` are both {}", dns.health_port))
            .because("the cache listens at both")
            .hint("write two ports, or leave one of them out")
    })
}
