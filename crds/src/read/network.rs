//! Address ranges and the network plugin.

use std::net::Ipv4Addr;

use ipnet::{IpNet, Ipv4Net};

use crate::Problem;
use crate::decode::{Decoder, Field, Form, Wording};
use crate::model::{FlannelBackend, Network, NetworkPlugin};
use crate::syntax::address;
use crate::syntax::name::dns_name;
use crate::words::{quote, with_nearest};

pub(crate) const NETWORK: Form = Form {
    what: "the network of a cluster",
    fields: &["plugin", "backend", "podCIDR", "serviceCIDR", "nodePrefix", "clusterDomain"],
    refused: &[
        ("flannelBackend", "write it as `backend`"),
        ("dnsDomain", "write it as `clusterDomain`"),
        ("podSubnet", "write it as `podCIDR`"),
        ("serviceSubnet", "write it as `serviceCIDR`"),
    ],
};

/// Kubespray's ranges: 64 nodes of 256 addresses, and 16384 services.
const DEFAULT_PODS: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 233, 64, 0), 18);
const DEFAULT_SERVICES: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 233, 0, 0), 18);
/// Room for Kubernetes' 110 pods of a node, and for as many that are just going.
const DEFAULT_NODE_PREFIX: u8 = 24;

/// Plugins that people ask for; this version installs none of them.
const OTHER_PLUGINS: [&str; 7] = ["calico", "canal", "cilium", "kube-ovn", "kube-router", "macvlan", "weave"];

/// What holds where nothing is said.
fn defaults() -> Network {
    Network {
        plugin: NetworkPlugin::Flannel,
        backend: FlannelBackend::Vxlan,
        pod_cidr: DEFAULT_PODS,
        service_cidr: DEFAULT_SERVICES,
        node_prefix: DEFAULT_NODE_PREFIX,
        cluster_domain: "cluster.local".into(),
    }
}

pub(super) fn read(decoder: &mut Decoder, field: Option<Field<'_>>) -> Option<Network> {
    let mut network = defaults();
    let Some(field) = field else {
        return Some(network);
    };
    let fields = decoder.fields(&field, &NETWORK)?;
    let mut good = true;
    let mut keep = |read: Option<()>| good &= read.is_some();
    if let Some(field) = fields.get("plugin") {
        keep(read_plugin(decoder, &field).map(|plugin| network.plugin = plugin));
    }
    if let Some(field) = fields.get("backend") {
        let backends = FlannelBackend::ALL.map(|backend| (backend.as_str(), backend));
        keep(decoder.choice(&field, &backends).map(|backend| network.backend = backend));
        if network.plugin == NetworkPlugin::None {
            keep(None);
            decoder.report(
                Problem::new(format!("`{}` says something about flannel, and no network plugin is installed", field.name()))
                    .at(field.position())
                    .because(format!("the network plugin is `{}`", network.plugin.as_str()))
                    .hint("leave it out, or let flannel be installed"),
            );
        }
    }
    if let Some(field) = fields.get("podCIDR") {
        keep(read_range(decoder, &field).map(|range| network.pod_cidr = range));
    }
    if let Some(field) = fields.get("serviceCIDR") {
        keep(read_range(decoder, &field).map(|range| network.service_cidr = range));
    }
    if let Some(field) = fields.get("nodePrefix") {
        let prefix = decoder.integer(&field, 0..=32).and_then(|prefix| u8::try_from(prefix).ok());
        keep(prefix.map(|prefix| network.node_prefix = prefix));
    }
    if let Some(field) = fields.get("clusterDomain") {
        keep(read_domain(decoder, &field).map(|domain| network.cluster_domain = domain));
    }
    good.then_some(network)
}

fn read_plugin(decoder: &mut Decoder, field: &Field<'_>) -> Option<NetworkPlugin> {
    let text = decoder.text(field)?;
    if let Some(plugin) = NetworkPlugin::ALL.into_iter().find(|plugin| plugin.as_str() == text) {
        return Some(plugin);
    }
    let problem = Problem::new(format!("this version cannot install the network plugin {}", quote(text)))
        .at(field.position())
        .because("so far it installs flannel only");
    decoder.report(if OTHER_PLUGINS.contains(&text) {
        problem.hint(match decoder.wording() {
            Wording::Cluster => "write `flannel`, or leave the field out",
            // Left out, it is Calico there.
            Wording::Inventory => "write `kube_network_plugin: flannel`",
        })
    } else {
        with_nearest(problem, text, &NetworkPlugin::ALL.map(NetworkPlugin::as_str))
    });
    None
}

fn read_range(decoder: &mut Decoder, field: &Field<'_>) -> Option<Ipv4Net> {
    let text = decoder.text(field)?;
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text))).at(field.position());
    let problem = match text.parse::<IpNet>() {
        Err(_) => problem
            .because("it is no range of addresses")
            .hint(format!("write an address and a prefix length, for example `{DEFAULT_PODS}`")),
        Ok(IpNet::V6(_)) => problem.because("this version builds clusters that talk over IPv4"),
        Ok(IpNet::V4(range)) if range.trunc() != range => problem
            .because(format!("{} is not the first address of a /{}", range.addr(), range.prefix_len()))
            .hint(format!("did you mean `{}`?", range.trunc())),
        Ok(IpNet::V4(range)) => match address::reserved(&range) {
            None => return Some(range),
            Some(reason) => problem.because(reason),
        },
    };
    decoder.report(problem);
    None
}

fn read_domain(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let text = decoder.text(field)?;
    let Some(reason) = dns_name(text) else {
        return Some(text.to_owned());
    };
    decoder.report(
        Problem::new(format!("`{}` cannot be {}", field.name(), quote(text)))
            .at(field.position())
            .because(format!("it is a DNS name without a dot at its end, but {reason}")),
    );
    None
}
