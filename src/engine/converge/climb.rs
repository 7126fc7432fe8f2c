//! What is looked at before an upgrade: what runs on every host, and what is in its way.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;
use kok_tasks::plan::{Refusal, Seen};
use kok_tasks::preconditions::check_reset;
use kok_tasks::snapshot::{self, Snapshot};
use kok_tasks::upgrade;

use super::super::context::Context;
use super::{Observed, Tolerance, refused};
use crate::failure::{Failure, Kind};
use crate::run::Links;

/// What was seen of a cluster that is to be upgraded, and of which member a snapshot is to be taken.
pub(in super::super) struct Base {
    pub(in super::super) seen: Seen,
    pub(in super::super) links: Links,
    pub(in super::super) snapshot: Result<Snapshot, Refusal>,
    /// Workers that can't be reached, and why.
    pub(in super::super) left_out: BTreeMap<String, String>,
}

/// Looks at all hosts, each of which has to answer; workers may be away as far as that is tolerated, and whoever asks has nothing against it.
pub(in super::super) async fn base(
    cluster: &Cluster,
    tolerance: Tolerance,
    context: &Context,
    judge: impl FnOnce(&BTreeMap<String, Failure>) -> Result<(), Vec<Failure>>,
) -> Result<Base, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, true, tolerance, context);
    for (host, looks) in upgrade::looks(cluster) {
        observed.looks.entry(host).or_default().add_others(&looks);
    }
    let (links, failures) = observed.connect(|_| true).await?;
    judge(&failures)?;
    observed.leave_out(failures)?;
    observed.look_first(links).await?;
    let refusals = check_reset(cluster, &observed.seen);
    if !refusals.is_empty() {
        return Err(refused(Kind::Host)(refusals));
    }
    let snapshot = snapshot::decide(cluster, &observed.seen);
    Ok(Base { seen: observed.seen, links: observed.links, snapshot, left_out: observed.left_out })
}
