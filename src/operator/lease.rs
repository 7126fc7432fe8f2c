//! The Lease of a cluster: which replica works on it. It saves work and fences nothing: that the hosts do, by their holder records.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::timeout;

use super::group::ClusterKey;
use super::metrics::LeaseAges;

/// For how long a Lease that is not renewed is somebody's.
pub(super) const LASTS: Duration = Duration::from_secs(40);
/// How often it is renewed: three times may fail.
pub(super) const RENEWED: Duration = Duration::from_secs(10);

/// Annotation of a Lease: its cluster, for people. Labels are too short for every name.
const CLUSTER: &str = "kokctl.io/cluster";

/// What another replica's Lease said, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observation {
    renewed: Option<Timestamp>,
    holder: String,
    since: Instant,
}

impl Observation {
    /// Of a Lease that somebody else was quicker to get: what it says is seen at the next attempt.
    pub(super) fn nothing() -> Self {
        Self { renewed: None, holder: String::new(), since: Instant::now() }
    }

    /// Since when it says so.
    pub(super) fn since(&self) -> Instant {
        self.since
    }
}

/// What came of an attempt to get a Lease.
#[derive(Debug)]
pub(super) enum Claimed {
    /// It is this replica's.
    Ours,
    /// It is another one's. To be given back at the next attempt.
    Elsewhere(Observation),
}

/// The Lease of one cluster, as this replica sees it.
#[derive(Clone)]
pub(super) struct ClusterLease {
    api: Api<Lease>,
    name: String,
    identity: String,
    owner: OwnerReference,
    cluster: String,
}

/// What a Lease that was read means for whoever wants it.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Ours,
    Free,
    Elsewhere(Observation),
}

/// Whether a Lease can be had. One of another replica can, if it said the same for [`LASTS`] by this machine's own clock: what the other one's
/// clock says counts for nothing.
fn standing(spec: &LeaseSpec, identity: &str, before: Option<&Observation>, now: Instant) -> Standing {
    let holder = spec.holder_identity.clone().unwrap_or_default();
    if holder.is_empty() {
        return Standing::Free;
    }
    if holder == identity {
        return Standing::Ours;
    }
    let renewed = spec.renew_time.as_ref().map(|time| time.0);
    match before.filter(|before| before.holder == holder && before.renewed == renewed) {
        Some(same) if now.duration_since(same.since) >= LASTS => Standing::Free,
        Some(same) => Standing::Elsewhere(same.clone()),
        None => Standing::Elsewhere(Observation { renewed, holder, since: now }),
    }
}

impl ClusterLease {
    /// The Lease of a cluster in the operator's own namespace: whoever may write to the cluster's could take it, and keep every replica away. It goes
    /// with its Cluster.
    pub(super) fn new(client: Client, own: &str, key: &ClusterKey, identity: &str, owner: OwnerReference) -> Self {
        // No other Cluster has this name, of whatever group, nor one of the same name that comes after it.
        let (name, cluster) = (format!("kokctl-{}", owner.uid), key.to_string());
        Self { api: Api::namespaced(client, own), name, identity: identity.to_owned(), owner, cluster }
    }

    /// Tries to get it. `before` is what the attempt before this one saw, if no attempt failed since.
    ///
    /// # Errors
    /// Those of the API.
    pub(super) async fn claim(&self, before: Option<&Observation>) -> kube::Result<Claimed> {
        let Some(lease) = self.api.get_opt(&self.name).await? else {
            let made = self.api.create(&PostParams::default(), &self.new_lease()).await;
            return match made {
                Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Claimed::Elsewhere(Observation::nothing())),
                made => made.map(|_| Claimed::Ours),
            };
        };
        let spec = lease.spec.clone().unwrap_or_default();
        match standing(&spec, &self.identity, before, Instant::now()) {
            Standing::Elsewhere(observation) => Ok(Claimed::Elsewhere(observation)),
            Standing::Ours | Standing::Free => {
                let taken = self.api.replace(&self.name, &PostParams::default(), &self.held(lease, &spec)).await;
                match taken {
                    Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Claimed::Elsewhere(Observation::nothing())),
                    taken => taken.map(|_| Claimed::Ours),
                }
            }
        }
    }

    /// Keeps it, and returns when another replica has it. As long as the API does not answer nobody else can get it, so that it goes on.
    pub(super) async fn keep(&self, ages: &LeaseAges) {
        let kept = ages.keep(&self.name);
        loop {
            // Not a wait for something to happen: to be renewed in time is what a Lease is.
            tokio::time::sleep(RENEWED).await;
            let Ok(Ok(found)) = timeout(RENEWED, self.api.get_opt(&self.name)).await else { continue };
            // One that somebody has deleted is anybody's, and this replica is at work.
            let Some(lease) = found else {
                if let Ok(Ok(_)) = timeout(RENEWED, self.api.create(&PostParams::default(), &self.new_lease())).await {
                    kept.is_renewed();
                }
                continue;
            };
            let spec = lease.spec.clone().unwrap_or_default();
            if spec.holder_identity.as_deref().is_some_and(|holder| !holder.is_empty() && holder != self.identity) {
                return;
            }
            let held = self.held(lease, &spec);
            if let Ok(Ok(_)) = timeout(RENEWED, self.api.replace(&self.name, &PostParams::default(), &held)).await {
                kept.is_renewed();
            }
        }
    }

    /// Whether nobody else has it, as the API server says. One that was deleted is nobody's.
    ///
    /// # Errors
    /// Those of the API.
    pub(super) async fn is_ours(&self) -> kube::Result<bool> {
        let Some(lease) = self.api.get_opt(&self.name).await? else { return Ok(true) };
        Ok(lease.spec.and_then(|spec| spec.holder_identity).as_ref() == Some(&self.identity))
    }

    /// Lets go of it, if it is still this replica's. What can't be said is found out by the others when it is not renewed.
    pub(super) async fn release(&self) {
        let Ok(Some(mut lease)) = self.api.get_opt(&self.name).await else { return };
        let Some(spec) = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_ref() == Some(&self.identity)) else { return };
        spec.holder_identity = None;
        let _ = self.api.replace(&self.name, &PostParams::default(), &lease).await;
    }

    fn new_lease(&self) -> Lease {
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            labels: Some([("app.kubernetes.io/managed-by".to_owned(), "kokctl".to_owned())].into()),
            annotations: Some([(CLUSTER.to_owned(), self.cluster.clone())].into()),
            owner_references: Some(vec![self.owner.clone()]),
            ..ObjectMeta::default()
        };
        self.held(Lease { metadata, spec: None }, &LeaseSpec::default())
    }

    fn held(&self, lease: Lease, before: &LeaseSpec) -> Lease {
        let now = MicroTime(Timestamp::now());
        let is_new = before.holder_identity.as_ref() != Some(&self.identity);
        let acquired = if is_new { Some(now.clone()) } else { before.acquire_time.clone() };
        let transitions = before.lease_transitions.unwrap_or_default() + i32::from(is_new);
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(LASTS.as_secs()).ok(),
            acquire_time: acquired,
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..before.clone()
        };
        Lease { spec: Some(spec), ..lease }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::fake::Fake;
    use super::super::group::Group;
    use super::*;

    fn spec(holder: &str, renewed: i64) -> LeaseSpec {
        let renew_time = Some(MicroTime(Timestamp::from_second(renewed).unwrap()));
        LeaseSpec { holder_identity: Some(holder.to_owned()), renew_time, ..LeaseSpec::default() }
    }

    fn elsewhere(standing: Standing) -> Observation {
        let Standing::Elsewhere(observation) = standing else { unreachable!("{standing:?}") };
        observation
    }

    #[test]
    fn one_that_nobody_renews_can_be_had_after_its_time_by_our_own_clock() {
        let start = Instant::now();
        let first = elsewhere(standing(&spec("b", 7), "a", None, start));
        let early = start + LASTS - Duration::from_secs(1);
        assert_eq!(elsewhere(standing(&spec("b", 7), "a", Some(&first), early)), first, "it stays the first look");
        assert_eq!(standing(&spec("b", 7), "a", Some(&first), start + LASTS), Standing::Free);
        // Without what was seen before, the first look begins anew.
        assert!(matches!(standing(&spec("b", 7), "a", None, start + LASTS), Standing::Elsewhere(_)));
    }

    #[test]
    fn one_that_is_renewed_or_has_another_holder_is_looked_at_anew() {
        let start = Instant::now();
        let first = elsewhere(standing(&spec("b", 7), "a", None, start));
        for other in [spec("b", 8), spec("c", 7)] {
            assert_eq!(elsewhere(standing(&other, "a", Some(&first), start + LASTS)).since, start + LASTS);
        }
    }

    #[test]
    fn one_that_was_let_go_is_free_at_once() {
        assert_eq!(standing(&LeaseSpec::default(), "a", None, Instant::now()), Standing::Free);
        assert_eq!(standing(&spec("", 7), "a", None, Instant::now()), Standing::Free);
        assert_eq!(standing(&spec("a", 7), "a", None, Instant::now()), Standing::Ours);
    }

    #[tokio::test]
    async fn whose_it_is_says_the_api_server() {
        let (fake, client) = Fake::start().await;
        let key = ClusterKey { group: super::super::group::Group::KubeOnKube, name: "c".to_owned() };
        let of = |identity: &str| {
            ClusterLease::new(client.clone(), "kok", &key, identity, OwnerReference { uid: "u".to_owned(), ..OwnerReference::default() })
        };
        let (first, second) = (of("a"), of("b"));
        assert!(first.is_ours().await.unwrap(), "nobody else has it");
        assert!(matches!(first.claim(None).await.unwrap(), Claimed::Ours));
        assert_eq!((first.is_ours().await.unwrap(), second.is_ours().await.unwrap()), (true, false));
        assert!(matches!(second.claim(None).await.unwrap(), Claimed::Elsewhere(_)));
        first.release().await;
        assert!(!first.is_ours().await.unwrap());
        assert!(matches!(second.claim(None).await.unwrap(), Claimed::Ours));
        assert!(fake.asked().iter().all(|asked| asked.ends_with("/leases") || asked.ends_with("/leases/kokctl-u")));
    }

    /// Clusters of two groups may have one name.
    #[tokio::test]
    async fn each_cluster_has_a_lease_where_only_the_operator_writes() {
        let (server, client) = Fake::start().await;
        for (group, uid) in [(Group::KubeOnKube, "1"), (Group::Kubean, "2")] {
            let key = ClusterKey { group, name: "berlin".to_owned() };
            let owner = OwnerReference { uid: uid.to_owned(), ..OwnerReference::default() };
            let lease = ClusterLease::new(client.clone(), "own", &key, "a", owner);
            assert!(matches!(lease.claim(None).await, Ok(Claimed::Ours)));
        }
        let paths = ["1", "2"].map(|uid| format!("/apis/coordination.k8s.io/v1/namespaces/own/leases/kokctl-{uid}"));
        assert_eq!(server.paths(), paths);
        let named = server.get(&paths[1]).unwrap().pointer("/metadata/annotations/kokctl.io~1cluster").cloned();
        assert_eq!(named.unwrap(), "berlin.kubean.io");
    }
}
