//! Why a recovery does not begin, or does not go on.

use kok_crds::model::Cluster;

use super::super::make::Seen;
use super::super::refusal::Refusal;
use super::{Recovering, course};
use crate::recovery::{Course, Recovery};

/// Only that host knows how far the recovery has come. Where it is lost, with all that may have been written there, what the others had can be put back.
pub(super) fn no_host(cluster: &Cluster, recovery: &Recovery, seen: &Seen) -> Option<Refusal> {
    let is_known = cluster.host(&recovery.host).is_some_and(|host| host.roles.etcd);
    let refusal = Refusal::new(format!("etcd is made anew on {}, and that host does not take part", recovery.host));
    let (because, hint) = if !is_known {
        ("the file has no such host with a member of etcd", "put its line back as it was")
    } else if seen.facts(&recovery.host).is_none() {
        (
            "nobody knows how far it has come there",
            "mend that host; or, if it is gone for good, take the recovery back with --undo and --lost, and begin anew",
        )
    } else {
        return None;
    };
    Some(refusal.because(because).hint(hint))
}

/// One that was begun with a snapshot goes on with no other one.
pub(super) fn no_snapshot(wanted: Recovering<'_>, seen: &Seen) -> Option<Refusal> {
    let Recovering { recovery, snapshot } = wanted;
    let sha256 = recovery.origin.snapshot()?;
    if course(recovery, seen) >= Course::Made || snapshot.is_some_and(|snapshot| snapshot.sha256 == sha256) {
        return None;
    }
    if recovery.origin.replaces() {
        let what = if snapshot.is_some() {
            "this is another backup than the one that the restore began with"
        } else {
            "the backup is needed once more"
        };
        let refusal = Refusal::new(what).because(format!("the restore began with a snapshot that has the sha256 {sha256}"));
        return Some(
            refusal.hint("go on with `kokctl restore FILE --continue` and that file; or take it back with `kokctl recover --undo`"),
        );
    }
    let what = if snapshot.is_some() {
        "this is another snapshot than the one that the recovery began with"
    } else {
        "the snapshot is needed once more"
    };
    let refusal = Refusal::new(what).at("--from").because(format!("the recovery began with one that has the sha256 {sha256}"));
    Some(refusal.hint("name that file with --from; or take the recovery back with --undo"))
}
