//! What is kept of a cluster before it goes.

use std::path::{Path, PathBuf};

use kok_crds::model::Cluster;
use kok_tasks::plan::Refusal;
use kok_tasks::snapshot::Snapshot;

use crate::run::{EventKind, Events, Links, take_key, take_snapshot};
use crate::state::{KeptSnapshot, SnapshotFile};
use crate::ui::{Failure, Kind};

/// A snapshot of etcd, and the key to what it holds, if that is encrypted.
pub(super) struct Backup {
    snapshot: KeptSnapshot,
    key: Option<PathBuf>,
}

/// Fetches a snapshot, if there is one to be taken.
pub(super) async fn keep(
    cluster: &Cluster,
    links: &Links,
    snapshot: Result<Snapshot, Refusal>,
    place: Option<&Path>,
    run: &str,
    events: &Events,
) -> Result<Option<Backup>, Vec<Failure>> {
    let snapshot = snapshot.map_err(|refusal| vec![Failure::refusal(Kind::Host, refusal)])?;
    let (host, form, key) = match snapshot {
        Snapshot::Of { host, form, key } => (host, form, key),
        Snapshot::Nothing(because) => {
            events.send(EventKind::SnapshotLeftOut { because: because.to_owned() });
            return Ok(None);
        }
    };
    let one = |failure: Failure| vec![failure];
    let path = place.map_or_else(|| SnapshotFile::place(&cluster.name, run), |path| Ok(path.to_owned())).map_err(one)?;
    let kept = take_snapshot(links, &host, form, &path, events).await.map_err(one)?;
    let key = match key {
        Some(host) => Some(take_key(links, &host, &path).await.map_err(one)?),
        None => None,
    };
    Ok(Some(Backup { snapshot: kept, key }))
}

impl Backup {
    /// Where it is, and what it is good for.
    pub(super) fn told(&self) -> Vec<String> {
        let path = self.snapshot.path.display();
        let key = self.key.as_ref().map(|key| {
            let key = key.display();
            format!("what it holds is encrypted, and the key is in {key}: whoever has both can read it, so keep them apart")
        });
        let restore = format!("to restore it: `etcdutl snapshot restore {path} …` on a host of etcd, as docs/apply.md says");
        let first =
            format!("the snapshot of etcd is in {path} ({:.1} MB), with every Secret of the cluster", self.snapshot.bytes as f64 / 1e6);
        [first].into_iter().chain(key).chain([restore]).collect()
    }
}
