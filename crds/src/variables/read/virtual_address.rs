//! An address that moves between the control planes, in our words and in Kubespray's.

use std::net::{IpAddr, Ipv4Addr};

use super::load_balancing::ADDRESS_OF_EXTERNAL;
use super::security::at;
use super::values::integer;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::Given;
use crate::model::{API_SERVER_PORT, Settings};
use crate::words::quote;

const CONTROL_PLANE: &str = "kube_vip_controlplane_enabled";
const ADDRESS: &str = "kube_vip_address";

pub(crate) fn address(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.api_endpoint.virtual_address = ipv4(decoder, field);
}

pub(crate) fn router(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.api_endpoint.virtual_router = integer(decoder, field, 1..=255).and_then(|number| u8::try_from(number).ok());
}

pub(crate) fn kube_vip(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.api_endpoint.kube_vip.enabled = decoder.boolean(field).unwrap_or_default();
}

pub(crate) fn kube_vip_of_control_plane(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.api_endpoint.kube_vip.control_plane = decoder.boolean(field).unwrap_or_default();
}

pub(crate) fn kube_vip_address(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    // With Kubespray's samples comes one that is empty.
    let is_empty = field.is_text("");
    settings.api_endpoint.kube_vip.address = if is_empty { None } else { ipv4(decoder, field) };
}

/// Whether Kubespray would have an address that leads to the API servers.
pub(crate) fn is_on(settings: &Settings) -> bool {
    settings.api_endpoint.kube_vip.enabled && settings.api_endpoint.kube_vip.control_plane
}

/// The hosts know each other by IPv4, and the address moves within their network.
fn ipv4(decoder: &mut Decoder, field: &Field<'_>) -> Option<Ipv4Addr> {
    let text = decoder.text(field)?;
    decoder.place(field);
    let because = match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address))
            if !(address.is_loopback() || address.is_multicast() || address.is_unspecified() || address.is_broadcast()) =>
        {
            return Some(address);
        }
        Ok(IpAddr::V4(_)) => "no host can have that one",
        Ok(IpAddr::V6(_)) => "it moves within the network of the hosts' addresses, which are of IPv4",
        Err(_) => "it is an IPv4 address, without a port or a prefix",
    };
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text))).at(field.position()).because(because);
    decoder.report(problem.hint("write a free address of the control planes' network"));
    None
}

/// What Kubespray's variables come to, now that all are read.
pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &mut Settings) {
    let is_on = is_on(settings);
    let endpoint = &mut settings.api_endpoint;
    match (is_on, endpoint.kube_vip.address, endpoint.virtual_address) {
        (true, Some(asked), Some(own)) if asked != own => {
            let problem = Problem::new(format!("`{ADDRESS}` cannot be {}", quote(&asked.to_string())));
            let problem = at(given, ADDRESS, problem).because(format!("`apiEndpoint.vip` says the same, and that is {own}"));
            decoder.report(problem.hint("write one of the two"));
        }
        (true, Some(asked), _) => endpoint.virtual_address = Some(asked),
        (true, None, None) if !given.iter().any(|given| given.name == ADDRESS && !given.value.is_empty()) => {
            let problem = at(given, CONTROL_PLANE, Problem::new(format!("`{CONTROL_PLANE}` needs `{ADDRESS}`")));
            decoder.report(problem.because("nothing says which address is to move").hint("write a free address of the hosts' network"));
        }
        _ => {}
    }
    same_as_external(decoder, settings);
}

/// Kubespray's users write the address a second time, as the load balancer that the user runs. It is none: nodes find the control planes by
/// themselves, and need nothing for that which moves.
fn same_as_external(decoder: &mut Decoder, settings: &mut Settings) {
    let endpoint = &mut settings.api_endpoint;
    let Some((address, external)) = endpoint.virtual_address.zip(endpoint.external.as_ref()) else { return };
    if external.address != address.to_string() {
        return;
    }
    let port = endpoint.server_port.unwrap_or(API_SERVER_PORT);
    if let Some(other) = external.port.filter(|other| *other != port) {
        let problem = Problem::new(format!("the virtual address {address} does not lead to the API at port {other}"));
        let place = ADDRESS_OF_EXTERNAL.iter().find_map(|path| decoder.position(path)).cloned();
        let problem = if let Some(place) = place { problem.at(&place) } else { problem };
        let because = format!("it is an address of the control planes themselves, whose API servers listen at {port}");
        return decoder.report(problem.because(because).hint(format!("write port {port}, or `kube_apiserver_port: {other}`")));
    }
    endpoint.external = None;
    endpoint.name_in_hosts_file = false;
}
