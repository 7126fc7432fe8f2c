//! Variables of the way to the API server.

use std::net::IpAddr;

use super::values::{integer, names};
use crate::Problem;
use crate::decode::{Decoder, Field, Form};
use crate::model::{ExternalEndpoint, Settings};
use crate::syntax::name::dns_name;
use crate::words::quote;

/// Where the address of an external endpoint may be written.
pub(crate) const ADDRESS_OF_EXTERNAL: [&str; 2] = ["spec.apiEndpoint.address", "spec.vars.loadbalancer_apiserver.address"];

/// Words of `spec.apiEndpoint.loadBalancer`, which says the same.
pub(crate) const LOAD_BALANCERS: [&str; 2] = ["none", "localhost"];

const EXTERNAL: Form = Form { what: "a load balancer before the API servers", fields: &["address", "port"], refused: &[] };

/// The field of a Cluster that says the same; what else it holds is read elsewhere.
pub(crate) const FIELD: &str = "spec.apiEndpoint";
const OF_FIELD: Form = Form { fields: &["address", "port", "loadBalancer", "vip", "routerId"], ..EXTERNAL };

pub(crate) fn localhost(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let words = LOAD_BALANCERS.map(|word| (word, word == "localhost"));
    let is_word = LOAD_BALANCERS.into_iter().any(|word| field.is_text(word));
    let wanted = if is_word { decoder.choice(field, &words) } else { decoder.boolean(field) };
    settings.api_endpoint.local_load_balancers = wanted.or(settings.api_endpoint.local_load_balancers);
}

pub(crate) fn external(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let form = if field.path == FIELD { &OF_FIELD } else { &EXTERNAL };
    let Some(fields) = decoder.fields(field, form) else { return };
    let Some(address) = decoder.required(&fields, "address") else { return };
    let Some(address) = place(decoder, &address) else { return };
    let port = fields.get("port").map(|port| integer(decoder, &port, 1..=65535).and_then(|port| u16::try_from(port).ok()));
    let Ok(port) = port.map_or(Ok(None), |port| port.map(Some).ok_or(())) else { return };
    settings.api_endpoint.external = Some(ExternalEndpoint { address, port });
}

/// Ports that hosts need for something else: SSH, etcd, the load balancers' health, kubelet and kube-proxy, the other components.
pub(super) const OTHERS: [u16; 10] = [22, 2379, 2380, 2381, 8081, 10248, 10250, 10256, 10257, 10259];

/// Where API servers listen, or the load balancers of nodes, which have the same port.
pub(crate) fn server_port(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(port) = integer(decoder, field, 1..=65535).and_then(|port| u16::try_from(port).ok()) else { return };
    let problem = Problem::new(format!("`{}` cannot be `{port}`", field.name())).at(field.position());
    if OTHERS.contains(&port) {
        return decoder.report(problem.because("the hosts themselves need that port").hint("write `6443`, or another free one"));
    }
    let server_port = *settings.api_endpoint.server_port.get_or_insert(port);
    if server_port != port {
        let because =
            format!("`kube_apiserver_port` and `loadbalancer_apiserver_port` are the same here, and the other one says `{server_port}`");
        decoder.report(problem.because(because).hint("write one of the two"));
    }
}

/// An address or a DNS name, in the spelling that certificates have.
fn place(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let text = decoder.text(field)?;
    decoder.place(field);
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_string());
    }
    // What has nothing but digits and dots was meant to be an address.
    let numeric = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if let Some(wrong) = dns_name(text).or(numeric.then_some("an address has four numbers up to 255")) {
        let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text))).at(field.position());
        decoder.report(problem.because(format!("it is an IP address or a DNS name, and {wrong}")).hint("the port is a field of its own"));
        return None;
    }
    Some(text.to_owned())
}

/// The name of the API. `localhost` is what Kubespray says of a load balancer on each host, and names nothing.
pub(crate) fn name(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = place(decoder, field).filter(|text| text != "localhost") else { return };
    if text.parse::<IpAddr>().is_ok() {
        let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
        decoder.report(problem.because("it is the name of the API; an address needs none").hint("leave it out"));
        return;
    }
    let endpoint_name = settings.api_endpoint.name.get_or_insert_with(|| text.clone());
    if *endpoint_name != text {
        let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
        let because = format!(
            "`apiserver_loadbalancer_domain_name` and `kubeadm_config_api_fqdn` are the same here, and the other one says `{endpoint_name}`"
        );
        decoder.report(problem.because(because).hint("write one of the two"));
    }
}

pub(crate) fn name_in_hosts_file(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    decoder.place(field);
    settings.api_endpoint.name_in_hosts_file = decoder.boolean(field).unwrap_or_default();
}

/// Further names in certificates of servers. Each is an address or a DNS name, which may begin with `*.` (RFC 6125 §6.4.3).
pub(crate) fn certificate_names(decoder: &mut Decoder, field: &Field<'_>, to: &mut Vec<String>) {
    let Some(given) = names(decoder, field) else { return };
    for name in &given {
        let label = name.strip_prefix("*.").unwrap_or(name);
        if let Some(wrong) = dns_name(label).filter(|_| name.parse::<IpAddr>().is_err()) {
            let problem = Problem::new(format!("no certificate can have the name {}", quote(name))).at(field.position());
            decoder.report(
                problem.because(format!("it is an IP address or a DNS name, and {wrong}")).hint("write such a name, or leave it out"),
            );
        }
    }
    for name in given {
        if !to.contains(&name) {
            to.push(name);
        }
    }
}
