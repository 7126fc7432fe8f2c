//! What is said of the endpoint and of drift.

use kok_crds::{count, counted};

use crate::engine::{Cordoned, Drift, Endpoint, VirtualAddress};

/// Where clients are sent.
pub(super) fn endpoint(endpoint: &Endpoint) -> String {
    let Some(balancers) = endpoint.load_balancers.as_ref().filter(|balancers| balancers.of > 0) else {
        return format!("endpoint {}: {}", endpoint.url, endpoint.state);
    };
    let missing = if balancers.not_ready.is_empty() { String::new() } else { format!(" (not {})", balancers.not_ready.join(", ")) };
    format!(
        "  endpoint {}: {}; load balancers of workers ready: {} of {}{missing}",
        endpoint.url, endpoint.state, balancers.ready, balancers.of
    )
}

/// Who has the address that moves.
pub(super) fn virtual_address(address: &VirtualAddress) -> String {
    let holders = match address.holders.as_slice() {
        [] => "no host has it".to_owned(),
        [one] => format!("{one} has it"),
        several => format!("{} have it at once", several.join(" and ")),
    };
    format!("  virtual address {}: {holders}", address.url)
}

/// Why a node takes no new pods.
pub(super) fn cordoned(by: Cordoned) -> &'static str {
    match by {
        Cordoned::ByWord => "takes no new pods, by `kokctl cordon` or `drain`, until `kokctl uncordon`",
        Cordoned::ByRun => {
            "takes no new pods, for a run that is at work there, or did not come to its end: then the next `kokctl apply` lifts it"
        }
        Cordoned::ByOthers => "takes no new pods: somebody else has cordoned it",
    }
}

/// How far the cluster is from its files.
pub(super) fn drift(drift: &Drift) -> String {
    match drift {
        Drift::None => "drift: none; apply would have nothing to do".to_owned(),
        Drift::Upgrading => {
            "drift: not judged, for what differs belongs to the upgrade; apply is refused until one version runs".to_owned()
        }
        Drift::Unknown { because } => format!("drift: unknown; {because}"),
        Drift::Found { changes } => {
            let number = counted(changes.values().sum(), "change", "changes");
            let by_host: Vec<String> = changes.iter().map(|(host, number)| format!("{host}: {number}")).collect();
            let hosts = count(changes.len(), "host");
            format!("drift: apply would make {number} on {hosts} ({}); kokctl plan says which", by_host.join(", "))
        }
    }
}
