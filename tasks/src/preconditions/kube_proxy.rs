//! How kube-proxy programs the kernel, in a year from now.

use kok_crds::model::Cluster;

use super::Findings;
use crate::list::host;
use crate::network_plugins::plugin;
use crate::plan::{Refusal, Seen};

/// Where it may be written.
const MODE: &str = "spec.vars.kube_proxy_mode";

/// IPVS is honoured, and goes: nothing has to be done about it today.
pub(super) fn mode(cluster: &Cluster, _: &Seen, found: &mut Findings) {
    if host::has_ipvs(cluster) {
        let place = cluster.position_of(MODE).map_or_else(|| MODE.to_owned(), ToString::to_string);
        let refusal = Refusal::new("kube-proxy's mode is ipvs").at(place);
        found.warn(
            refusal
                .because("Kubernetes has deprecated it in 1.35 and will remove it (KEP-5495)")
                .hint(format!("write {}", instead(cluster))),
        );
    }
}

/// What to write instead. Calico's dataplane iptables sees packets as kube-proxy's chains of iptables leave them, and not as its tables of nftables do.
pub(super) fn instead(cluster: &Cluster) -> &'static str {
    match plugin(&cluster.network).takes_shares || cluster.settings.calico.nftables == Some(true) {
        true => "`kube_proxy_mode: nftables`",
        false => "`kube_proxy_mode: iptables`, or `nftables` with Calico 3.30 or newer",
    }
}
