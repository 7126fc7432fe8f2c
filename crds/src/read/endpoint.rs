//! Where the API server is reached.

use super::ReadHost;
use super::parts::{API_ENDPOINT, read_part};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::variables::FieldValue;

/// The variable that an address and its port are together.
const EXTERNAL: &str = "loadbalancer_apiserver";
/// What a port without an address is.
const PORT: &str = "kube_apiserver_port";

pub(crate) fn read<'a>(decoder: &mut Decoder, field: &Field<'a>, hosts: &[ReadHost<'_>], values: &mut Vec<FieldValue<'a>>) {
    let Some(fields) = read_part(decoder, field, &API_ENDPOINT, values) else { return };
    if fields.get("address").is_some() {
        values.retain(|value| value.variable != PORT);
        values.push(FieldValue { variable: EXTERNAL, field: field.clone() });
    }
    let planes = hosts.iter().filter(|host| host.roles.as_ref().is_some_and(|(roles, _)| roles.control_plane)).count();
    if let Some(field) = fields.get("loadBalancer").filter(|field| field.is_text("localhost") && planes == 1) {
        decoder.report(
            Problem::new("`apiEndpoint.loadBalancer` cannot be `localhost` here")
                .at(field.position())
                .because("there is one control plane, which every node reaches directly")
                .hint("leave it out; or give three hosts the role `control-plane`"),
        );
    }
}
