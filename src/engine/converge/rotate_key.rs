//! The plan of a stage on the way to another key to encrypt with, or to another way to encrypt.

use kok_crds::model::Cluster;
use kok_tasks::encryption::LayoutTarget;
use kok_tasks::observe::Look;
use kok_tasks::plan::{self, EncryptionChange, KeyRotation, KeyStage};

use super::{Observed, Planned, Tolerance, refused};
use crate::clock::Clock;
use crate::engine::context::Context;
use crate::failure::{Failure, Kind};

/// Makes the plan of a stage, and says where it leads to; without a target it is that of a rotation that was begun, or has a new key. All control planes have
/// to answer; hosts of etcd are asked for the authority that an escrow has beside the keys.
pub(in crate::engine) async fn replace_key(
    cluster: &Cluster,
    (target, stage): (Option<&LayoutTarget>, KeyStage),
    tolerance: Tolerance,
    context: &Context,
) -> Result<(Planned, LayoutTarget), Vec<Failure>> {
    let (observed, now_seconds) = looked(cluster, false, tolerance, context).await?;
    let chosen = plan::key_to_encrypt_with(cluster, &observed.seen, now_seconds).map_err(refused(Kind::Host))?;
    let target = target.cloned().unwrap_or(chosen);
    let plan = observed.stage(&KeyRotation { target: &target, stage }).await?;
    Ok((plan, target))
}

/// The same on the way to how the file asks for it; with what it is by now, in words, and is to be.
pub(in crate::engine) async fn change_encryption(
    cluster: &Cluster,
    (change, stage): (Option<&EncryptionChange>, KeyStage),
    tolerance: Tolerance,
    context: &Context,
) -> Result<(Planned, EncryptionChange), Vec<Failure>> {
    // Whether all of etcd can be read is asked before anything is changed.
    let (observed, now_seconds) = looked(cluster, change.is_none(), tolerance, context).await?;
    let chosen = plan::encryption_change(cluster, &observed.seen, now_seconds).map_err(refused(Kind::Host))?;
    let change = change.cloned().unwrap_or(chosen);
    let plan = observed.stage(&KeyRotation { target: &change.target, stage }).await?;
    Ok((plan, change))
}

/// What is encrypted by what, and what the file asks for, in words; and whether there is anything to do. Nothing is changed.
pub(in crate::engine) async fn encryption_standing(cluster: &Cluster, context: &Context) -> Result<((String, String), bool), Vec<Failure>> {
    let (observed, now_seconds) = looked(cluster, true, Tolerance { holder: true, ..Tolerance::default() }, context).await?;
    let change = plan::encryption_change(cluster, &observed.seen, now_seconds).map_err(refused(Kind::Host))?;
    Ok((plan::encryption_words(cluster, &observed.seen), change.is_idle))
}

async fn looked<'a>(
    cluster: &'a Cluster,
    reads_etcd: bool,
    tolerance: Tolerance,
    context: &'a Context,
) -> Result<(Observed<'a>, i64), Vec<Failure>> {
    let now_seconds = Clock::seconds();
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.looks = cluster.hosts.iter().map(|host| (host.name.clone(), plan::rotate_key_looks(cluster, host))).collect();
    let speaker = cluster.control_planes().next().filter(|_| reads_etcd);
    if let Some(looks) = speaker.and_then(|speaker| observed.looks.get_mut(&speaker.name)) {
        looks.extend([Look::EncryptedValues]);
    }
    let is_plane = |host: &str| cluster.host(host).is_some_and(|host| host.roles.control_plane);
    observed.ask(is_plane).await?;
    observed.ask_who_answers(|host| !is_plane(host) && cluster.host(host).is_some_and(|host| host.roles.etcd)).await?;
    Ok((observed, now_seconds))
}

impl Observed<'_> {
    async fn stage(mut self, rotation: &KeyRotation<'_>) -> Result<Planned, Vec<Failure>> {
        let cluster = self.cluster;
        let plan = self.repeat(|seen| plan::rotate_key(cluster, rotation, seen)).await?;
        Ok(self.planned(plan, Vec::new(), Clock::seconds()))
    }
}
