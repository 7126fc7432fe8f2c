//! What is kept of a cluster before it goes.

use std::path::Path;

use kok_crds::model::Cluster;
use kok_tasks::plan::Refusal;
use kok_tasks::snapshot::Snapshot;

use crate::event::{EventKind, Events};
use crate::failure::{Failure, Kind};
use crate::run::{Links, fetch_key, take_snapshot};
use crate::state::{KeptSnapshot, SnapshotPlace, StateFolder};

/// A snapshot of etcd, and the key to what it holds, if that is encrypted.
pub(super) struct Backup(KeptSnapshot);

/// Fetches a snapshot, if there is one to be taken.
pub(super) async fn keep(
    cluster: &Cluster,
    links: &Links,
    snapshot: Result<Snapshot, Refusal>,
    wanted: Option<&Path>,
    run: &str,
    (state, events): (&StateFolder, &Events),
) -> Result<Option<Backup>, Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let left_out = |because: String| {
        events.send(EventKind::SnapshotLeftOut { because });
        Ok(None)
    };
    let (host, form, key) = match snapshot.map_err(|refusal| vec![Failure::refusal(Kind::Host, refusal)])? {
        Snapshot::Of { host, form, key } => (host, form, key),
        Snapshot::Nothing(because) => return left_out(because.to_owned()),
        Snapshot::Begun(because) => {
            let folder = state.snapshots_of(&cluster.name);
            return left_out(format!(
                "{because}; if it took one, it is in {} where that reset ran, or where --snapshot said",
                folder.display()
            ));
        }
    };
    let place = SnapshotPlace::of(state, &cluster.name, run, wanted).map_err(one)?;
    // It is short: where it can't be had, that is known before the rest has come.
    let key = match key {
        Some(host) => Some(fetch_key(links, &host).await.map_err(one)?),
        None => None,
    };
    let kept = take_snapshot(links, (&host, form), key.as_ref(), &place, events).await.map_err(one)?;
    Ok(Some(Backup(kept)))
}

impl Backup {
    /// Where it is, and what it is good for.
    pub(super) fn told(&self) -> Vec<String> {
        let path = self.0.path.display();
        let key = self.0.key.as_ref().map(|key| {
            let key = key.display();
            format!("what it holds is encrypted, and the key is in {key}: whoever has both can read it, so keep them apart")
        });
        let restore = format!("to restore it: `etcdutl snapshot restore {path} …` on a host of etcd, as docs/apply.md says");
        let first = format!("the snapshot of etcd is in {path} ({:.1} MB), with every Secret of the cluster", self.0.bytes as f64 / 1e6);
        [first].into_iter().chain(key).chain([restore]).collect()
    }
}
