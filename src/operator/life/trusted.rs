//! Host keys before a run.

use std::time::Duration;

use kok_crds::model::Cluster;
use serde_json::{Value, json};

use super::super::inputs::Snapshot;
use super::super::object::{self, Condition, TRUSTED_HOST_KEYS};
use super::super::outputs::ObjectEvent;
use super::super::trust::{ClusterKnownHosts, Unknown, unknown};
use super::{End, Failure, Kind, OperationLife, Phase, first};

/// How often it is looked whether somebody has compared the keys.
const LOOK: Duration = Duration::from_secs(3);
/// After so many looks the hosts are asked again: somebody may have written the keys down.
const LOOKS: usize = 10;
/// More bastions one behind the other than any network has.
const ROUNDS: usize = 8;

impl OperationLife {
    pub(super) async fn fetch_known(&mut self, known: &ClusterKnownHosts) -> Result<(), End> {
        self.tried("the known host keys can't be read", || known.fetch()).await
    }

    /// Returns when all host keys that are offered are known.
    pub(super) async fn trusted(&mut self, cluster: &Cluster, known: &ClusterKnownHosts, snapshot: &Snapshot) -> Result<(), End> {
        let mut was_told = self.said_unknown();
        for _ in 0..ROUNDS {
            let found = self.offered(cluster).await?;
            if found.count() == 0 {
                if was_told {
                    self.told_trusted().await;
                }
                return Ok(());
            }
            if !self.at.shared.settings.accept_new_host_keys {
                was_told = true;
                let Some(()) = self.compared(&found, (cluster, snapshot), known).await? else { continue };
            }
            self.tried("the host keys can't be kept", || known.trust(&found)).await?;
            self.teller
                .tell(ObjectEvent::normal("HostKeysTrusted", format!("of {}: {}", kok_crds::count(found.count(), "host"), found.digest())));
        }
        Err(unkept("there are new host keys again and again", "hosts offer another key each time".to_owned()))
    }

    /// Whether a status says that there are keys that are not known.
    fn said_unknown(&self) -> bool {
        let cluster = object::condition(&self.found.cluster.data, "clusterConditions", "HostKeysTrusted");
        let is_untrusted = cluster.is_some_and(|condition| condition.get("status").is_some_and(|status| status == "False"));
        is_untrusted || self.writer.now().conditions.iter().any(|condition| condition.is && condition.reason == "HostKeysUnknown")
    }

    async fn offered(&self, cluster: &Cluster) -> Result<Unknown, End> {
        let found = unknown(cluster, &self.at.shared.transport()).await;
        found.map_err(|failures| End::failed("InputRefused", first(failures)))
    }

    /// Returns when somebody has compared the keys; without anything if the hosts are to be asked again.
    async fn compared(
        &mut self,
        found: &Unknown,
        (cluster, snapshot): (&Cluster, &Snapshot),
        known: &ClusterKnownHosts,
    ) -> Result<Option<()>, End> {
        let digest = found.digest();
        self.told_unknown(found, &digest).await;
        self.permit = None;
        loop {
            for _ in 0..LOOKS {
                self.pause(LOOK).await?;
                let Ok(Some(objects)) = self.at.objects().await else { continue };
                let annotations = objects.cluster.metadata.annotations.unwrap_or_default();
                if annotations.get(TRUSTED_HOST_KEYS).is_some_and(|trusted| *trusted == digest) {
                    // They are what was compared only if they are still what is offered.
                    let now = self.offered(cluster).await?;
                    return Ok((now.digest() == digest).then_some(()));
                }
            }
            // Who sees that it is the wrong host writes another address.
            if self.is_open && self.is_changed(snapshot).await {
                self.teller.tell(ObjectEvent::normal("InputsChanged", "what the operation is done by is read anew"));
                return Err(End::Anew);
            }
            self.fetch_known(known).await?;
            if self.offered(cluster).await?.digest() != digest {
                return Ok(None);
            }
        }
    }

    async fn told_unknown(&self, found: &Unknown, digest: &str) {
        let message = format!(
            "`kubectl annotate clusters.{} {} --overwrite {TRUSTED_HOST_KEYS}={digest}` trusts the keys of {}, which are not known: compare them before",
            self.at.key.group.name(),
            self.at.key.name,
            kok_crds::count(found.count(), "host"),
        );
        let phase = if self.is_open { Phase::Pending } else { Phase::Resuming };
        self.writer.change(|status| {
            status.phase = phase;
            status.set(Condition { kind: "Stalled", is: true, reason: "HostKeysUnknown", message: message.clone() });
        });
        self.teller.tell(ObjectEvent::warning("HostKeysUnknown", message.clone()));
        let keys = json!({"unknown": found.count(), "digest": digest});
        self.say(|patch| {
            patch
                .condition("HostKeysTrusted", false, "HostKeysUnknown", message)
                .field("hosts", found.hosts().into())
                .field("hostKeys", keys)
        })
        .await;
    }

    async fn told_trusted(&self) {
        self.writer.change(|status| {
            status.phase = if status.attempt > 1 { Phase::Resuming } else { Phase::Planning };
            status.set(Condition { kind: "Stalled", is: false, reason: "Running", message: String::new() });
        });
        self.say(|patch| patch.condition("HostKeysTrusted", true, "Known", "").field("hosts", Value::Null).field("hostKeys", Value::Null))
            .await;
    }
}

fn unkept(what: &str, because: String) -> End {
    End::failed("HostKeys", Failure::new(Kind::Internal, what).because(because))
}
