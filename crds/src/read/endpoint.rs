//! Where the API server is reached.

use std::net::IpAddr;

use super::ReadHost;
use super::parts::{API_ENDPOINT, read_part};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::API_ENDPOINT_NAME;
use crate::syntax::name::dns_name;
use crate::variables::Said;
use crate::words::quote;

pub(super) fn read<'a>(decoder: &mut Decoder, field: &Field<'a>, hosts: &[ReadHost<'_>], said: &mut Vec<Said<'a>>) {
    let Some(fields) = read_part(decoder, field, &API_ENDPOINT, said) else { return };
    let planes: Vec<&ReadHost<'_>> =
        hosts.iter().filter(|host| host.roles.as_ref().is_some_and(|(roles, _)| roles.control_plane)).collect();
    if let Some(field) = fields.get("address") {
        read_address(decoder, &field, &planes);
    }
    if let Some(field) = fields.get("loadBalancer").filter(|field| field.is_text("localhost") && planes.len() == 1) {
        decoder.report(
            Problem::new("`apiEndpoint.loadBalancer` cannot be `localhost` here")
                .at(field.position())
                .because("there is one control plane, which every node reaches directly")
                .hint("leave it out; or give three hosts the role `control-plane`"),
        );
    }
}

/// The address of the control plane is one; others are not built yet.
fn read_address(decoder: &mut Decoder, field: &Field<'_>, planes: &[&ReadHost<'_>]) {
    let Some(text) = decoder.text(field) else { return };
    let address = text.parse::<IpAddr>();
    let problem = |end: &str| Problem::new(format!("`apiEndpoint.address` cannot be {}{end}", quote(text))).at(field.position());
    if address.is_err() && dns_name(text).is_some() {
        return decoder.report(problem("").because("it is an IP address or a DNS name; the port is a field of its own"));
    }
    // Without a control plane, that is what is wrong.
    let [first, others @ ..] = planes else { return };
    let Some((own, _)) = &first.address else { return };
    if !others.is_empty() {
        let because = format!("with several control planes, each host finds them by itself under the name {API_ENDPOINT_NAME}");
        decoder.report(problem(" yet").because(because).hint("leave it out"));
    } else if address.as_ref() != Ok(own) {
        let because =
            format!("nodes and users reach the API server at the address of the control plane, {own}, and its certificate has no other");
        decoder.report(problem(" yet").because(because).hint(format!("leave it out, or write `{own}`")));
    }
}
