//! How a member is started first, founding etcd or joining it, by the words that count for that start only: as what was started was told, else as is
//! said now.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host};
use serde_json::Value;

use super::kubeadm_configuration::initial_cluster;
use crate::operations::{FOUNDERS_LINK, MEMBER_DATA};
use crate::plan::HostView;
use crate::preconditions::{CONFIGURATIONS, ETCD_CONFIGURATION};
use crate::uploaded;

/// What etcd is told where a member founds it, and where it joins.
pub(super) const FOUNDING: &str = "new";
pub(super) const JOINING: &str = "existing";

/// What a host's own configuration says of a member's first start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Founding {
    /// All members that it begins with.
    pub(super) members: String,
    /// `new` where they found etcd together, `existing` where it joins the others.
    pub(super) state: &'static str,
    /// What tells this etcd from an earlier one on the same addresses: the ids of the cluster and of its members come of it. Nothing where
    /// members were started without one.
    pub(super) token: Option<String>,
    /// A file without which etcd does not start, and that is lost with its data.
    pub(super) link: Option<&'static str>,
}

/// What the configuration of a host says, or is to say.
///
/// A member that was started keeps what it was started with, so that nothing is changed where nothing is founded any more, and all others
/// take its token, or they would not be one cluster. Before one was started, it is the id that the hosts' records have.
pub(super) fn founding(view: &HostView<'_>) -> Founding {
    let units = view.cluster().has_etcd_units();
    let text = |host: &Host| view.seen.observations(&host.name).contents.get(configuration(view.cluster()));
    let is_started = |host: &&Host| view.seen.observations(&host.name).paths.get(MEMBER_DATA).is_some_and(|data| data.present().is_some());
    let own = Some(view.host).filter(is_started).and_then(text);
    // A unit would be started anew by another list, also while it only learns.
    if view.joins_etcd() && (own.is_none() || !units) {
        let (members, _) = view.membership().until(view.host);
        // The token of the founding names ids; who joins gets the one that it was announced with.
        return Founding { members: initial_cluster(members.into_iter()), state: JOINING, token: None, link: Some(FOUNDERS_LINK) };
    }
    let members = initial_cluster(view.cluster().etcd_hosts());
    // What can't be read is refused by a precondition where a member was started with it.
    let token = |text: &Vec<u8>| option(view.cluster(), text, "initial-cluster-token").ok().flatten();
    if let Some(text) = own {
        let link = String::from_utf8_lossy(text).contains(FOUNDERS_LINK).then_some(FOUNDERS_LINK);
        let has_joined = has_joined(view.cluster(), text);
        // The list by which one joined is that of then, and so is that of a unit which founded.
        let list = (has_joined || units).then(|| option(view.cluster(), text, "initial-cluster").ok().flatten()).flatten();
        let state = if has_joined && list.is_some() { JOINING } else { FOUNDING };
        return Founding { members: list.unwrap_or(members), state, token: token(text), link };
    }
    let hosts = || view.cluster().etcd_hosts();
    let of_started = hosts().filter(is_started).find_map(text).map(token);
    let of_record = || view.cluster_id.map(str::to_owned);
    // While not all hosts were asked there may be no id, and what another run has begun with is as good.
    let begun = || hosts().filter_map(text).find_map(token);
    let new = || of_record().or_else(begun).unwrap_or_else(|| view.inputs.new_cluster_id.to_owned());
    // Those that were started have the list of then, whatever the file has by now.
    let members = initial_cluster(view.membership().voters.into_iter());
    Founding { members, state: FOUNDING, token: of_started.unwrap_or_else(|| Some(new())), link: Some(FOUNDERS_LINK) }
}

/// Whether a host's member joined an etcd that ran, by what it was started with.
pub(crate) fn has_joined(cluster: &Cluster, text: &[u8]) -> bool {
    option(cluster, text, "initial-cluster-state").ok().flatten().as_deref() == Some(JOINING)
}

/// Where a host keeps what its member is started with.
pub(crate) fn configuration(cluster: &Cluster) -> &'static str {
    if cluster.has_etcd_units() { ETCD_CONFIGURATION } else { CONFIGURATIONS[0] }
}

/// The value of an option of etcd in such a file, which is etcd's own or kubeadm's. No value where the file does not name it.
///
/// # Errors
/// Why the file can't be read.
pub(crate) fn option(cluster: &Cluster, text: &[u8], name: &str) -> Result<Option<String>, String> {
    let text = String::from_utf8_lossy(text);
    if !cluster.has_etcd_units() {
        let read = uploaded::read_cluster(&text).map_err(|error| error.to_string())?;
        return Ok(read.etcd.local.and_then(|etcd| etcd.extra_args.get(name).map(str::to_owned)));
    }
    let yaml = serde_saphyr::options! { emit_comments: false };
    let options: BTreeMap<String, Value> =
        serde_saphyr::from_str_with_options(&text, yaml).map_err(|error| uploaded::first_line(&error.to_string()))?;
    Ok(options.get(name).and_then(Value::as_str).map(str::to_owned))
}
