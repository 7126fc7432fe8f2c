//! What is kept of a cluster before it goes.

use std::path::Path;

use kok_crds::model::Cluster;
use kok_tasks::plan::Refusal;
use kok_tasks::snapshot::Snapshot;

use super::store::Store;
use crate::event::{EventKind, Events};
use crate::failure::{Failure, Kind};
use crate::run::{Links, fetch_key, take_snapshot};
use crate::state::KeptSnapshot;

/// Fetches a snapshot of etcd into the store, if there is one to be taken. `run` names the run, and `wanted` another place for it.
pub(super) async fn keep(
    cluster: &Cluster,
    links: &Links,
    snapshot: Result<Snapshot, Refusal>,
    (store, run, wanted): (&dyn Store, &str, Option<&Path>),
    events: &Events,
) -> Result<Option<KeptSnapshot>, Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let left_out = |because: String| {
        events.send(EventKind::SnapshotLeftOut { because });
        Ok(None)
    };
    let (host, form, key) = match snapshot.map_err(|refusal| vec![Failure::refusal(Kind::Host, refusal)])? {
        Snapshot::Of { host, form, key } => (host, form, key),
        Snapshot::Nothing(because) => return left_out(because.to_owned()),
        Snapshot::Begun(because) => {
            let folder = store.snapshots_of(&cluster.name);
            return left_out(format!(
                "{because}; if it took one, it is in {} where that reset ran, or where --snapshot said",
                folder.display()
            ));
        }
    };
    let place = store.snapshot_place(&cluster.name, run, wanted).map_err(one)?;
    // It is short: where it can't be had, that is known before the rest has come.
    let key = match key {
        Some(host) => Some(fetch_key(links, &host).await.map_err(one)?),
        None => None,
    };
    take_snapshot(links, (&host, form), key.as_ref(), &place, events).await.map(Some).map_err(one)
}
