//! A backup that is to take the place of what a cluster has, or is brought to new hosts.

use std::path::Path;
use std::sync::Arc;

use kok_crds::Position;
use kok_crds::model::{Cluster, EscrowFile};
use kok_tasks::artifact::{Artifact, Supply};
use kok_tasks::backup::{fits_file, fits_member, fits_new_hosts, fits_plugins};
use kok_tasks::plan::Selection;
use kok_tasks::recovery::{Origin, Recovery};

use super::apply::{Applied, ApplyRequest, apply};
use super::backup::check_hosts;
use super::context::{Context, Options};
use super::converge::Survey;
use super::error::Error;
use super::given::Given;
use super::recover::RecoveryChoice;
use super::store::{Lock, Store};
use crate::artifacts::BundleFolder;
use crate::backup::{BackupContents, Identities, Spool, read};
use crate::clock::moment;
use crate::failure::{Failure, Kind};

/// A backup that was read from its first to its last byte and fits the cluster, with its snapshot where it can be sent from.
pub struct Unpacked {
    /// What it holds, but for the snapshot.
    pub contents: BackupContents,
    /// The snapshot.
    pub snapshot: Artifact,
    /// Whether its cluster goes on on other hosts.
    is_elsewhere: bool,
    /// The snapshot is gone with this.
    _spool: Spool,
}

impl Unpacked {
    /// Reads it. `folder` has room for the snapshot.
    ///
    /// # Errors
    /// [`Failure`]s where it is damaged, can't be opened, or is none of this cluster.
    pub fn unpack(
        path: &Path,
        identities: Option<&Identities>,
        (cluster, is_elsewhere): (&Cluster, bool),
        folder: &Path,
    ) -> Result<Self, Vec<Failure>> {
        let one = |failure: Failure| vec![failure];
        let mut spool = Spool::create(folder).map_err(one)?;
        let contents = tokio::task::block_in_place(|| read(path, identities, Some(&mut spool))).map_err(one)?;
        let mut refusals = fits_file(&contents.manifest, cluster);
        refusals.extend(Some(&contents.manifest).filter(|_| is_elsewhere).and_then(|manifest| fits_new_hosts(manifest, cluster)));
        if is_elsewhere {
            refusals.extend(fits_plugins(&contents.kms_plugins(), !contents.keys.encryption_keys().is_empty(), cluster));
        }
        if !refusals.is_empty() {
            return Err(refusals.into_iter().map(|refusal| Failure::refusal(Kind::Input, refusal)).collect());
        }
        let snapshot = Artifact {
            title: "the snapshot of the backup".to_owned(),
            path: spool.path().display().to_string(),
            size: contents.manifest.snapshot_bytes(),
            sha256: contents.snapshot_sha256.clone(),
            supply: Supply::Sent,
        };
        Ok(Self { contents, snapshot, is_elsewhere, _spool: spool })
    }

    /// What an etcd is made from that is made from it.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::Backup { sha256: self.snapshot.sha256.clone(), is_elsewhere: self.is_elsewhere }
    }

    /// The restore that is begun on hosts that were looked at. They are compared with the backup.
    ///
    /// # Errors
    /// Why none may begin.
    pub async fn choose(
        &self,
        context: &Context,
        (cluster, survey): (&Cluster, &Survey),
        (id, member, lost): (String, Option<&str>, &[String]),
    ) -> Result<Recovery, Vec<Failure>> {
        let manifest = &self.contents.manifest;
        let own: Vec<&str> = survey.parties.iter().map(String::as_str).collect();
        check_hosts(context, cluster, &own, &self.contents).await?;
        let other_version = survey.candidates.iter().filter_map(|it| fits_member(manifest, &it.host, it.version.as_deref()?));
        let refused: Vec<Failure> = other_version.map(|refusal| Failure::refusal(Kind::Host, refusal)).collect();
        let chosen = survey.choose(&RecoveryChoice { id, member, lost, origin: self.origin(), snapshot: Some(&self.snapshot) });
        match chosen {
            Ok(recovery) if refused.is_empty() => Ok(recovery),
            Ok(_) => Err(refused),
            Err(failures) => Err(failures.into_iter().chain(refused).collect()),
        }
    }

    /// Of when and what it is.
    #[must_use]
    pub fn words(&self) -> String {
        let manifest = &self.contents.manifest;
        let made = moment(manifest.seconds, "%Y-%m-%d %H:%M:%S UTC");
        format!("the backup was made {made}, of Kubernetes {} and etcd {}", manifest.versions.kubernetes, manifest.versions.etcd)
    }

    /// How much is lost, where the revisions of the cluster and of the backup tell. A restore moves revisions on by a billion, so that after one they tell
    /// nothing of how many changes there were. What has just been founded holds nothing that anybody would miss.
    #[must_use]
    pub fn lost_words(&self, survey: &Survey) -> Option<String> {
        let newest = survey.candidates.iter().filter_map(|candidate| candidate.revision).max()?;
        let of_backup = self.contents.manifest.revision.filter(|_| !self.is_elsewhere)?;
        Some(match newest.saturating_sub(of_backup) {
            lost if lost < 1_000_000_000 => format!("the cluster is at revision {newest} by now: up to {lost} of its changes are lost"),
            _ => format!(
                "the cluster is at revision {newest} by now, after an earlier restore: all that was written since the backup is lost"
            ),
        })
    }

    /// The cluster with the keys of the backup, which `named` says in words, for control planes that have none. Nobody is taken out by the way.
    #[must_use]
    pub fn lends_keys_to(&self, cluster: &Cluster, named: &str) -> Cluster {
        let origin = Position { file: named.into(), line: 1, column: 1 };
        let mut cluster = Cluster { removed: Vec::new(), ..cluster.clone() };
        let kept = Some(self.contents.escrow());
        cluster.settings.certificates.escrow = Some(EscrowFile { path: named.to_owned(), origin, kept, is_lent: true });
        cluster
    }
}

/// Founds a cluster with the keys of a backup ([`Unpacked::lends_keys_to`]) on hosts that have none. Where they have these it is an apply like any other, and
/// where they have others it is refused.
///
/// # Errors
/// Those of [`apply`].
pub async fn found_from_backup(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    cluster: &Cluster,
    (bundle, given): (&Arc<BundleFolder>, &Given),
    options: Options<'_>,
) -> Result<Applied, Error> {
    let selection = Selection::whole();
    apply(context, (store, lock), &ApplyRequest::of_stage(cluster, &selection, (bundle, given)), options).await
}
