//! Variables of kube-proxy.

use std::net::{IpAddr, SocketAddr};

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{KubeProxyMode, Settings};
use crate::variables::Switch;
use crate::words::quote;

pub(crate) fn mode(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let modes = [KubeProxyMode::Nftables, KubeProxyMode::Iptables, KubeProxyMode::Ipvs].map(|mode| (mode.as_str(), mode));
    settings.kube_proxy_mode = decoder.choice(field, &modes).unwrap_or(settings.kube_proxy_mode);
}

/// What it has of IPVS counts in that mode alone.
pub(crate) const IPVS: Switch = ("kube_proxy_mode: ipvs", |settings| settings.kube_proxy_mode == KubeProxyMode::Ipvs);

pub(crate) fn remove(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.kube_proxy_remove = decoder.boolean(field).unwrap_or(settings.kube_proxy_remove);
}

pub(crate) fn conntrack_max_per_core(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let value = decoder.integer(field, 0..=i64::from(i32::MAX));
    settings.kube_proxy_conntrack_max_per_core = value.and_then(|value| u32::try_from(value).ok());
}

/// Addresses of a node that answer for node ports: ranges, or `primary`.
pub(crate) fn nodeport_addresses(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(names) = super::values::names(decoder, field) else { return };
    let is_range = |name: &&String| *name != "primary" && name.parse::<ipnet::IpNet>().is_err();
    if let Some(wrong) = names.iter().find(is_range) {
        let problem = Problem::new(format!("{} is no range of addresses", quote(wrong))).at(field.position());
        return decoder.report(
            problem
                .because("an entry is a range like `10.0.0.0/8`, or `primary` for the node's own address")
                .hint("write the range with its prefix length, for example `192.0.2.0/24`"),
        );
    }
    if !names.is_empty() {
        super::values::put(decoder, field, &mut settings.components.kube_proxy, "nodePortAddresses", names.into());
    }
}

/// An address with a port; the port may be left out.
pub(crate) fn bind(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings, name: &str, port: u16) {
    let Some(text) = super::values::scalar(decoder, field) else { return };
    let address = text.trim_matches(['[', ']']).parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, port));
    match address.or_else(|| text.parse().ok()) {
        Some(address) => super::values::put(decoder, field, &mut settings.components.kube_proxy, name, address.to_string().into()),
        None => {
            let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
            decoder.report(
                problem.because(format!("it is an address with a port, like `127.0.0.1:{port}`")).hint("write it so, or leave it out"),
            );
        }
    }
}
