//! What a cluster says of itself and its file does not: the second addresses of hosts, where it has IPv6 beside IPv4, and whether its API has a name
//! that it got when there were several control planes.

use std::borrow::Cow;

use kok_crds::model::{API_ENDPOINT_NAME, Cluster, Host};

use crate::dual_stack::with_addresses;
use crate::plan::Seen;
use crate::preconditions::uploaded_endpoint;

/// The cluster with what it says of itself, as far as it is known.
#[must_use]
pub fn completed<'a>(cluster: &'a Cluster, seen: &Seen) -> Cow<'a, Cluster> {
    let mut cluster = with_addresses(cluster, seen);
    if keeps_name(&cluster, seen) {
        cluster.to_mut().settings.api_endpoint.is_named = true;
    }
    cluster
}

/// Whether kokctl's part of a host's `/etc/hosts` says where a name of the API leads; nothing if nobody has looked.
pub(crate) fn knows_name(seen: &Seen, host: &Host, name: &str) -> Option<bool> {
    let block = seen.observations(&host.name).blocks.get("/etc/hosts")?;
    Some(block.lines().any(|line| line.split_whitespace().skip(1).any(|word| word == name)))
}

/// Whether the only control plane is one that is left of several: what was told the name then asks by it still.
fn keeps_name(cluster: &Cluster, seen: &Seen) -> bool {
    if cluster.is_highly_available() || cluster.external_endpoint().is_some() {
        return false;
    }
    let name = cluster.settings.api_endpoint.name.as_deref().unwrap_or(API_ENDPOINT_NAME);
    match uploaded_endpoint(cluster, seen) {
        Some(is) => is.rsplit_once(':').is_some_and(|(host, _)| host == name),
        // Of workers alone, their own files say so.
        None => cluster.balanced_hosts().any(|host| knows_name(seen, host, name) == Some(true)),
    }
}
