//! Backups, into what is mounted into the operator, or into a bucket.

use std::path::Path;

use kok_crds::model::Cluster;

use super::super::inputs::OperationTask;
use super::Means;
use crate::backup::{BackupPlace, Bucket, Seal};
use crate::clock::Clock;
use crate::engine::{self, BackupRequest, Error, Store as _};
use crate::failure::{Failure, Kind};

/// Into the folder that the Cluster names, which has to be mounted into the operator; without one beside the snapshots that the operator keeps.
pub(super) async fn back_up(task: &OperationTask, means: &Means<'_>) -> Result<(), Error> {
    let (name, wanted) = (&task.cluster.name, &task.cluster.settings.backup);
    let place = match folder(&task.cluster)? {
        Some(folder) => BackupPlace::at(folder)?,
        None => BackupPlace::own(&means.store.backups_of(name))?,
    };
    let seal = match (wanted.recipients.as_slice(), wanted.encrypt) {
        ([], true) => {
            let failure = Failure::new(Kind::Input, "it is not said who can read the backup").because("the Cluster has no `spec.backup`");
            return Err(failure.hint("add `backup: {recipients: [age1…]}` to its spec, or `encrypt: false` instead").into());
        }
        ([], false) => Seal::Open,
        (recipients, _) => Seal::to(recipients)?,
    };
    let bucket = bucket(&task.cluster)?;
    let stays = bucket.is_none() || wanted.folder.is_some();
    let request = BackupRequest {
        cluster: &task.cluster,
        description: &task.description,
        place: &place,
        bucket: bucket.as_ref(),
        stays,
        seal: &seal,
    };
    engine::back_up(means.context, &request).await?;
    if let Some(bucket) = &bucket {
        let surplus = bucket.surplus(name, &wanted.keep, Clock::seconds()).await?;
        bucket.remove(&surplus).await?;
    }
    let surplus = place.surplus(name, &wanted.keep, Clock::seconds())?;
    place.remove(&surplus).map_err(Error::from)
}

/// The folder that the Cluster names, which has to be mounted into the operator.
pub(super) fn folder(cluster: &Cluster) -> Result<Option<&Path>, Failure> {
    let Some(named) = &cluster.settings.backup.folder else { return Ok(None) };
    let path = Path::new(&named.path);
    if path.is_absolute() {
        return Ok(Some(path));
    }
    let failure = Failure::new(Kind::Input, format!("`{}` is no folder of the operator's", named.path.escape_debug()));
    let failure = failure.because("the operator has no folder in which the Cluster lies, from which a path could lead");
    Err(failure.hint("name a folder that is mounted into it, such as `/backups`, or leave it out"))
}

/// The bucket, whose key has to be mounted into the operator.
pub(super) fn bucket(cluster: &Cluster) -> Result<Option<Bucket>, Error> {
    let s3 = &cluster.settings.backup.s3;
    if let Some(file) = [&s3.credentials, &s3.ca].into_iter().flatten().find(|file| !Path::new(&file.path).is_absolute()) {
        let failure = Failure::new(Kind::Input, format!("`{}` is no file of the operator's", file.path.escape_debug()));
        let failure = failure.because("the operator has no folder in which the Cluster lies, from which a path could lead");
        return Err(failure.hint("name a file that is mounted into it, such as `/s3/credentials`").into());
    }
    Ok(engine::bucket_of(cluster, None)?)
}
