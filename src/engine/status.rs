//! What is known of a cluster's hosts as they are.

mod certificates;
mod drift;
mod endpoint;
mod health;
mod host;
mod versions;

use kok_crds::model::{Cluster, Host};
use kok_tasks::facts::Extent;
use kok_tasks::observe::{Look, Looks};
use kok_tasks::operations::API_SERVER_MANIFEST;
use kok_tasks::plan::{Refusal, Seen};
use kok_tasks::preconditions;
use kok_tasks::speaker::speaker;
use kok_tasks::token_keys::TOKEN_KEYS;
use kok_tasks::validity;
use kok_tasks::versions::Versions;
use serde::Serialize;

use super::context::Context;
use crate::artifacts::BundleFolder;
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::run::{LookAt, connect_each, probe_all};
pub use certificates::{Certificate, Renewal};
pub use drift::Drift;
pub use endpoint::{Endpoint, LoadBalancers, VirtualAddress};
pub use health::{ApiServerHealth, EtcdHealth};
pub use host::{Cordoned, HostStatus};
pub use versions::ProgramVersions;

/// Of what the status is to be told.
pub struct StatusRequest<'a> {
    /// The cluster as its file says.
    pub cluster: &'a Cluster,
    /// What it is installed from, for the drift; or in the caller's words why that is not at hand.
    pub bundle: Result<&'a BundleFolder, &'a str>,
    /// Gives the cluster with all that its files name: the objects of addons, and certificates that were issued; or says why that can't be had.
    /// Called at the most once, and only where it is needed.
    pub whole: Box<dyn FnOnce() -> Result<Cluster, String> + Send + 'a>,
}

/// A cluster as it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Its name.
    pub cluster: String,
    /// Of the control plane that speaks for the cluster.
    pub api_server: ApiServerHealth,
    /// Where clients are sent.
    pub endpoint: Endpoint,
    /// In what the hosts differ from the files.
    pub drift: Drift,
    /// What runs where; as JSON each host has its versions.
    #[serde(skip)]
    pub versions: Versions,
    /// Its hosts, as the file has them.
    pub hosts: Vec<HostStatus>,
    /// Of its control planes and hosts of etcd.
    pub certificates: Vec<Certificate>,
    /// Who has which keys to encrypt with, while the key is being replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacing_key: Option<String>,
    /// The same as it is told: with what goes on with it.
    #[serde(skip)]
    pub changes_encryption: Option<Refusal>,
    /// What control planes know of each other's keys of service accounts, while one is being replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacing_token_key: Option<String>,
    /// Certificate authorities that are being replaced, as the command line calls them.
    pub replacing_authorities: Vec<&'static str>,
}

/// Looks at all hosts. What could be seen is returned, with a failure for each host that could not be looked at or is another cluster's. Nothing
/// is changed.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names; then nobody was contacted.
pub async fn status(context: &Context, request: StatusRequest<'_>) -> Result<(ClusterStatus, Vec<Failure>), Vec<Failure>> {
    let cluster = request.cluster;
    let (links, unreachable) = connect_each(cluster, |_| true, &context.transport, &context.events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let asked =
        cluster.hosts.iter().map(|host| (host.name.clone(), LookAt { looks: looks(cluster, host), facts: Some(Extent::Node) })).collect();
    let mut seen = Seen::default();
    if let Err(unanswered) = probe_all(&links, asked, &context.controller, &mut seen, &context.events).await {
        failures.extend(unanswered);
    }
    let strangers = preconditions::strangers(cluster, &seen);
    failures.extend(strangers.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)));
    // Where a host does not answer, a plan would say no more than that.
    let drift = if preconditions::has_mixed_versions(cluster, &seen) {
        Drift::Upgrading
    } else if failures.is_empty() {
        Drift::find(request, context).await
    } else {
        Drift::Unknown { because: "not all hosts answer".to_owned() }
    };
    Ok((seen_of(cluster, &seen, drift), failures))
}

/// What to look at on a host.
fn looks(cluster: &Cluster, host: &Host) -> Looks {
    let mut looks: Looks = host::UNITS.iter().map(|unit| Look::Unit((*unit).to_owned())).chain([Look::Versions]).collect();
    if host.roles.control_plane {
        looks.extend([Look::ApiServer, Look::Kubernetes, Look::Path(API_SERVER_MANIFEST.to_owned()), Look::EncryptionKeys]);
        looks.add(Look::Content(TOKEN_KEYS.to_owned()));
        looks.extend(endpoint::looks(cluster));
    }
    if host.roles.control_plane || host.roles.etcd {
        looks.extend(validity::looks());
    }
    if host.roles.etcd {
        looks.extend([Look::Etcd, Look::Unit(host::ETCD_UNIT.to_owned())]);
    }
    looks
}

fn seen_of(cluster: &Cluster, seen: &Seen, drift: Drift) -> ClusterStatus {
    let speaker = speaker(cluster, seen).map(|host| host.name.as_str()).unwrap_or_default();
    // What another cluster's API server says of nodes of the same names would be taken for this one's.
    let observed = Some(seen.observations(speaker)).filter(|_| is_ours(cluster, seen, speaker));
    let kubernetes = observed.and_then(|observed| observed.kubernetes.as_ref());
    let asked = cluster.control_planes().any(|host| seen.facts(&host.name).is_some());
    let without_node = if kubernetes.is_some() || asked { "none" } else { "unknown" };
    let versions = Versions::from_seen(cluster, seen);
    let changes_encryption = preconditions::replacing_key(cluster, seen);
    let hosts = cluster.hosts.iter().map(|host| HostStatus::new(cluster, seen, host, (kubernetes, without_node), &versions)).collect();
    ClusterStatus {
        cluster: cluster.name.clone(),
        api_server: ApiServerHealth::from_seen(cluster, seen, speaker),
        endpoint: Endpoint::new(cluster, seen, observed),
        drift,
        hosts,
        certificates: certificates::certificates(cluster, seen, Clock::seconds()),
        replacing_key: changes_encryption.as_ref().and_then(|refusal| refusal.because.clone()),
        changes_encryption,
        replacing_token_key: preconditions::replacing_token_key(cluster, seen).and_then(|refusal| refusal.because),
        replacing_authorities: preconditions::replacing_authorities(cluster, seen).into_iter().map(preconditions::authority_word).collect(),
        versions,
    }
}

fn is_ours(cluster: &Cluster, seen: &Seen, host: &str) -> bool {
    seen.facts(host).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name))
}
