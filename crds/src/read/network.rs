//! Address ranges and the network plugin.

use std::net::Ipv4Addr;

use ipnet::{IpNet, Ipv4Net};

use super::addons::{read_prune, read_source};
use super::dual_stack;
use super::parts::{NODE_LOCAL_DNS, read_part};
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form, Wording};
use crate::model::{Addon, FlannelBackend, LEAST_MTU, MOST_MTU, NETWORK_ADDON, Network, NetworkPlugin};
use crate::syntax::address;
use crate::syntax::name::dns_name;
use crate::variables::{FieldValue, field_called};
use crate::words::{quote, with_nearest};

pub(crate) const NETWORK: Form = Form {
    what: "the network of a cluster",
    fields: &[
        "plugin",
        "backend",
        "mtu",
        "manifest",
        "manifests",
        "contents",
        "url",
        "sha256",
        "prune",
        "podCIDR",
        "serviceCIDR",
        "nodePrefix",
        "clusterDomain",
        "nodeLocalDNS",
        "dualStack",
        "podCIDRIPv6",
        "serviceCIDRIPv6",
        "nodePrefixIPv6",
        "masqueradeIPv6",
    ],
    refused: &[
        ("flannelBackend", "write it as `backend`"),
        ("dnsDomain", "write it as `clusterDomain`"),
        ("nodelocaldns", "write it as `nodeLocalDNS`"),
        ("podSubnet", "write it as `podCIDR`"),
        ("serviceSubnet", "write it as `serviceCIDR`"),
        ("ipv6_stack", "write it as `dualStack`"),
    ],
};

/// Kubespray's ranges: 64 nodes of 256 addresses, and 16384 services.
const DEFAULT_PODS: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 233, 64, 0), 18);
const DEFAULT_SERVICES: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 233, 0, 0), 18);
/// Room for Kubernetes' 110 pods of a node, and for as many that are just going.
const DEFAULT_NODE_PREFIX: u8 = 24;

/// Plugins that people ask for; kokctl brings none of them, and installs each that has a manifest.
const OTHER_PLUGINS: [&str; 6] = ["canal", "cilium", "kube-ovn", "kube-router", "macvlan", "weave"];

/// Fields that name a manifest, and what becomes of what leaves it.
const OF_MANIFEST: [&str; 6] = ["manifest", "manifests", "contents", "url", "sha256", "prune"];

/// What holds where nothing is said.
fn defaults() -> Network {
    Network {
        plugin: NetworkPlugin::Flannel,
        backend: FlannelBackend::Vxlan,
        mtu: None,
        pod_cidr: DEFAULT_PODS,
        service_cidr: DEFAULT_SERVICES,
        node_prefix: DEFAULT_NODE_PREFIX,
        cluster_domain: "cluster.local".into(),
        ipv6: None,
    }
}

/// The network, with what installs it if that is a manifest.
pub(crate) fn read<'a>(
    decoder: &mut Decoder,
    field: Option<Field<'a>>,
    values: &mut Vec<FieldValue<'a>>,
) -> Option<(Network, Option<Addon>)> {
    let Some(field) = field else {
        return Some((defaults(), None));
    };
    let fields = decoder.fields(&field, &NETWORK)?;
    let network = read_fields(decoder, &fields);
    if let Some(field) = fields.get("nodeLocalDNS") {
        read_part(decoder, &field, &NODE_LOCAL_DNS, values);
    }
    let is_known = fields.get("plugin").is_none_or(|field| NetworkPlugin::ALL.iter().any(|plugin| field.is_text(plugin.as_str())));
    let by_manifest = fields.get("plugin").is_some_and(|field| field.is_text(NetworkPlugin::Manifest.as_str()));
    let addon = if by_manifest { Some(read_manifest(decoder, &fields)?) } else { None };
    let idle = OF_MANIFEST.into_iter().filter_map(|name| fields.get(name)).next();
    if let Some(field) = idle.filter(|_| is_known && !by_manifest) {
        let problem = Problem::new(format!("`{}` belongs to `plugin: manifest`", field.name())).at(field.position());
        decoder.report(problem.hint("write `plugin: manifest` if the manifest is to install the network, or leave this out"));
    }
    Some((network?, addon))
}

fn read_manifest(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<Addon> {
    let prune = read_prune(decoder, fields);
    let (manifest, sha256, origin) = read_source(decoder, fields, "the network")?;
    Some(Addon { name: NETWORK_ADDON.to_owned(), namespace: None, manifest, sha256, prune, origin, objects: Vec::new() })
}

fn read_fields(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<Network> {
    let mut network = defaults();
    let mut good = true;
    let mut keep = |read: Option<()>| good &= read.is_some();
    if let Some(field) = fields.get("plugin") {
        keep(read_plugin(decoder, &field).map(|plugin| network.plugin = plugin));
    }
    if let Some(field) = fields.get("backend") {
        let backends = FlannelBackend::ALL.map(|backend| (backend.as_str(), backend));
        keep(decoder.choice(&field, &backends).map(|backend| network.backend = backend));
        keep(of_flannel(decoder, &field, network.plugin));
    }
    if let Some(field) = fields.get("mtu") {
        let mtu = decoder.integer(&field, i64::from(LEAST_MTU)..=i64::from(MOST_MTU)).and_then(|mtu| u16::try_from(mtu).ok());
        keep(mtu.map(|mtu| network.mtu = Some(mtu)));
        keep(of_ours(decoder, &field, network.plugin));
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
    keep(dual_stack::read(decoder, fields, network.plugin).map(|ipv6| network.ipv6 = ipv6));
    good.then_some(network)
}

/// What is said of flannel counts where flannel is installed.
fn of_flannel(decoder: &mut Decoder, field: &Field<'_>, plugin: NetworkPlugin) -> Option<()> {
    if plugin == NetworkPlugin::Flannel {
        return Some(());
    }
    decoder.report(
        Problem::new(format!("`{}` says something about flannel, and flannel is not installed", field.name()))
            .at(field.position())
            .because(format!("the network plugin is `{}`", plugin.as_str()))
            .hint("leave it out, or let flannel be installed"),
    );
    None
}

/// What a manifest installs, or somebody else, knows its packets by itself.
fn of_ours(decoder: &mut Decoder, field: &Field<'_>, plugin: NetworkPlugin) -> Option<()> {
    if plugin.is_ours() {
        return Some(());
    }
    decoder.report(
        Problem::new(format!("`{}` is for flannel, Calico and the bridge, and none of them is installed", field.name()))
            .at(field.position())
            .because(format!("the network plugin is `{}`", plugin.as_str()))
            .hint("leave it out, and tell your network itself"),
    );
    None
}

fn read_plugin(decoder: &mut Decoder, field: &Field<'_>) -> Option<NetworkPlugin> {
    let text = decoder.text(field)?;
    if let Some(plugin) = NetworkPlugin::ALL.into_iter().find(|plugin| plugin.as_str() == text) {
        return Some(plugin);
    }
    let problem = Problem::new(format!("this version cannot install the network plugin {}", quote(text)))
        .at(field.position())
        .because("it brings flannel, Calico and a plain bridge, and installs others by their manifests");
    decoder.report(if OTHER_PLUGINS.contains(&text) {
        problem.hint(match decoder.wording() {
            Wording::Cluster => format!(
                "write `network: {{plugin: manifest, manifest: {text}.yaml}}`, with the manifest in that file beside this one; or `flannel` or `calico`"
            ),
            // Left out, it is Calico there.
            Wording::Inventory => by_convert(text),
        })
    } else {
        let otherwise = match decoder.wording() {
            // Kubespray's name for one of the user's own.
            Wording::Inventory => by_convert(text),
            _ => "write one of these".to_owned(),
        };
        with_nearest(problem, text, &NetworkPlugin::ALL.map(NetworkPlugin::as_str), &otherwise)
    });
    None
}

/// An inventory has no manifests; what `convert` makes of it has.
pub(crate) fn by_convert(plugin: &str) -> String {
    format!(
        "for a new cluster write `kube_network_plugin: flannel`, or try `-e kube_network_plugin=flannel`; or write `none`, and name a \
         manifest of {plugin} in what `kokctl convert` makes of this: `network: {{plugin: manifest, manifest: {plugin}.yaml}}`"
    )
}

fn read_range(decoder: &mut Decoder, field: &Field<'_>) -> Option<Ipv4Net> {
    let text = decoder.text(field)?;
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text))).at(field.position());
    let problem = match text.parse::<IpNet>() {
        Err(_) => problem
            .because("it is no range of addresses")
            .hint(format!("write an address and a prefix length, for example `{DEFAULT_PODS}`")),
        Ok(IpNet::V6(_)) => {
            let path = format!("{}IPv6", field.path);
            problem.because("it is a range of IPv6, and the first family is IPv4").hint(match decoder.wording() {
                Wording::Cluster => format!("write it as `{}`, with `dualStack: true`", path.rsplit('.').next().unwrap_or_default()),
                Wording::Inventory => format!("write it as `{}`, with `ipv6_stack: true`", field_called(Wording::Inventory, &path)),
            })
        }
        Ok(IpNet::V4(range)) if range.trunc() != range => problem
            .because(format!("{} is not the first address of a /{}", range.addr(), range.prefix_len()))
            .hint(format!("did you mean `{}`?", range.trunc())),
        Ok(IpNet::V4(range)) => match address::reserved(&range) {
            None => return Some(range),
            Some(reason) => problem.because(reason).hint("write a private range, for example one of `10.0.0.0/8`"),
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
            .because(format!("it is a DNS name without a dot at its end, but {reason}"))
            .hint("write one like `cluster.local`, or leave it out"),
    );
    None
}
