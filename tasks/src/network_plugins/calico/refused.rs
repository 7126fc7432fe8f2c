//! What can't be changed in a cluster that has Calico.

use kok_crds::model::Cluster;
use serde_json::{Map, Value, json};

use crate::network_plugins::mtu_of_pods;
use crate::plan::Refusal;

/// What the first daemon has made pools of, and what pods and hosts keep as they were started: field by field, with the variable that says it.
pub(super) fn settings(cluster: &Cluster) -> Value {
    let (calico, network) = (&cluster.settings.calico, &cluster.network);
    let mut fields = json!({
        "backend": calico.backend.as_str(),
        "vxlan": calico.vxlan.as_str(),
        "ipip": calico.ipip.as_str(),
        "vxlanPort": calico.vxlan_port,
        "vxlanVNI": calico.vxlan_vni,
        "blockSize": calico.block_size,
        "natOutgoing": calico.nat_outgoing,
        "dataplane": if super::uses_nftables(cluster) { "nftables" } else { "iptables" },
        "mtu": mtu_of_pods(cluster),
        "cniName": calico.cni_name,
    });
    if let (Some(ipv6), Some(fields)) = (network.ipv6, fields.as_object_mut()) {
        fields.insert("blockSizeIPv6".to_owned(), calico.block_size_ipv6.into());
        fields.insert("natOutgoingIPv6".to_owned(), ipv6.masquerade.into());
    }
    fields
}

/// Which field of a user's file says it.
const SAID_BY: [(&str, &str); 12] = [
    ("backend", "spec.vars.calico_network_backend"),
    ("vxlan", "spec.vars.calico_vxlan_mode"),
    ("ipip", "spec.vars.calico_ipip_mode"),
    ("vxlanPort", "spec.vars.calico_vxlan_port"),
    ("vxlanVNI", "spec.vars.calico_vxlan_vni"),
    ("blockSize", "spec.vars.calico_pool_blocksize"),
    ("natOutgoing", "spec.vars.nat_outgoing"),
    ("dataplane", "spec.vars.calico_nftable_mode"),
    ("mtu", "spec.vars.calico_mtu"),
    ("cniName", "spec.vars.calico_cni_name"),
    ("blockSizeIPv6", "spec.vars.calico_pool_blocksize_ipv6"),
    ("natOutgoingIPv6", "spec.network.masqueradeIPv6"),
];

/// Whether the file asks for another Calico than the cluster's, which says what it was set up by.
pub(super) fn changed(cluster: &Cluster, text: &str) -> Option<Refusal> {
    let is: Map<String, Value> = serde_json::from_str(text).ok()?;
    let wanted = settings(cluster);
    let wanted = wanted.as_object()?;
    // What an earlier kokctl did not write down yet is not known.
    let (name, is) = is.iter().find(|(name, value)| wanted.get(*name).is_some_and(|wanted| wanted != *value))?;
    let field = SAID_BY.iter().find(|(known, _)| known == name).map_or("spec.vars", |(_, field)| field);
    let shown = |value: &Value| match value {
        Value::Null => "what Calico finds out".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let back = if is.is_null() { format!("leave {field} out") } else { format!("set {field} back to {}", shown(is)) };
    let wanted = wanted.get(name).map(shown).unwrap_or_default();
    Some(
        Refusal::new(format!("Calico's {name} in the running cluster is {}, the file asks for {wanted}", shown(is)))
            .at(cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string))
            .because("apply can't change it: the pools are made once, and pods, links and routes keep what they were started with")
            .hint(format!("{back}; a cluster gets another one when it is made anew")),
    )
}
