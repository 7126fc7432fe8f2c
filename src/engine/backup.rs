//! A backup of a cluster that runs, and whether one can be restored on its hosts.

mod bucket;
mod hosts;
mod local;
mod rehearse;

use std::path::Path;

use kok_crds::model::Cluster;
use kok_tasks::backup::{self, BackupVersions, CLUSTER, ENCRYPTION, KEYS, Manifest, image_version};
use kok_tasks::documents::{encryption_keys, kms_plugins};
use kok_tasks::facts::Extent;
use kok_tasks::observe::{EtcdState, Looks};
use kok_tasks::plan::Seen;
use kok_tasks::preconditions;
use kok_tasks::snapshot::{self, Snapshot};

use super::context::Context;
use crate::backup::{BackupFile, BackupPlace, BackupSource, Bucket, Seal, WholeBackup};
use crate::clock::Clock;
use crate::event::EventKind;
use crate::failure::{Failure, Kind};
use crate::run::{
    EncryptionKey, Keepers, Links, LookAt, cluster_keys, connect_each, fetch_key, fetch_snapshot, probe_all, with_host_output,
};
pub use bucket::bucket_of;
pub(super) use hosts::check_hosts;
use hosts::{API_SERVER, texts};
pub use local::LocalBackup;
pub use rehearse::{Rehearsal, RehearsalRequest, rehearse};

/// What a backup is made of, besides what hosts have, and where it goes.
pub struct BackupRequest<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The cluster's files, without secrets.
    pub description: &'a str,
    /// Where it goes.
    pub place: &'a BackupPlace,
    /// Where it goes from there.
    pub bucket: Option<&'a Bucket>,
    /// Whether it is kept in the folder, too, where there is a bucket.
    pub stays: bool,
    /// Who can read it.
    pub seal: &'a Seal,
}

/// Writes a backup of a cluster: the snapshot of a member that is well, and the keys that the hosts keep. Nothing is changed on any host, so it may be done
/// while another run is at work.
///
/// # Errors
/// [`Failure`]s of hosts where no member gives a snapshot or nobody has the keys; [`Failure`] if it can't be written. Then nothing is kept.
pub async fn back_up(context: &Context, request: &BackupRequest<'_>) -> Result<BackedUp, Vec<Failure>> {
    let cluster = request.cluster;
    let (links, seen, mut silent) = look(context, cluster).await?;
    let strangers = preconditions::strangers(cluster, &seen);
    if !strangers.is_empty() {
        return Err(strangers.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)).collect());
    }
    let sources = match sources(cluster, &seen) {
        Ok(sources) => sources,
        Err(failure) => {
            silent.push(failure);
            return Err(silent);
        }
    };
    for failure in silent {
        context.events.send(EventKind::Warning(failure.to_record()));
    }
    let whole = write(context, request, &links, sources).await.map_err(|failure| vec![failure])?;
    drop(links);
    put(request, whole).await.map_err(|failure| vec![failure])
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackedUp {
    /// Where it is: the path of a file, an address in a bucket, or both.
    pub places: Vec<String>,
    /// Its length.
    pub bytes: u64,
    /// What it says of itself.
    pub manifest: Manifest,
}

/// Puts it where it belongs: into the folder, the bucket, or both. What goes into a bucket alone never has a name here, so that nothing of it stays, however
/// the run ends.
async fn put(request: &BackupRequest<'_>, whole: WholeBackup) -> Result<BackedUp, Failure> {
    let (name, bytes, manifest) = (whole.name().clone(), whole.bytes(), whole.manifest().clone());
    let places = match request.bucket {
        None => vec![whole.keep()?.path.display().to_string()],
        Some(bucket) if !request.stays => {
            bucket.put(whole.path(), &name).await?;
            vec![bucket.address_of(&name)]
        }
        Some(bucket) => {
            let path = whole.keep()?.path;
            bucket.put(&path, &name).await.map_err(|failure| in_the_folder_alone(failure, &path))?;
            vec![path.display().to_string(), bucket.address_of(&name)]
        }
    };
    Ok(BackedUp { places, bytes, manifest })
}

fn in_the_folder_alone(failure: Failure, path: &Path) -> Failure {
    let hint = failure.hint.clone().unwrap_or_default();
    let failure = Failure { kind: Kind::Incomplete, ..failure };
    failure.hint(format!("{hint}. {} is whole; the next backup goes into the bucket, too, when that works again", path.display()))
}

/// Whom the parts of a backup come from.
struct Sources {
    member: String,
    form: snapshot::Form,
    encryption: Option<String>,
    control_plane: Option<String>,
    etcd: Option<String>,
    etcd_version: String,
    revision: u64,
}

fn sources(cluster: &Cluster, seen: &Seen) -> Result<Sources, Failure> {
    let taken = snapshot::of_running(cluster, seen).map_err(|refusal| Failure::refusal(Kind::Host, refusal))?;
    let Snapshot::Of { host, form, key } = taken else {
        return Err(Failure::new(Kind::Internal, "nobody was chosen to give a snapshot"));
    };
    let name = |host: &kok_crds::model::Host| host.name.clone();
    let (etcd_version, revision) = match &seen.observations(&host).etcd {
        Some(EtcdState::Ready(member)) => (member.version.clone(), member.revision),
        _ => return Err(Failure::new(Kind::Internal, "the member that was chosen did not answer")),
    };
    let control_plane = preconditions::keeper(cluster, seen).map(name);
    let etcd = preconditions::etcd_keeper(cluster, seen).map(name);
    Ok(Sources { member: host, form, encryption: key, control_plane, etcd, etcd_version, revision })
}

/// Looks at all hosts that may have something of it. Those that are silent are failures that stop nothing, as long as others have it.
async fn look(context: &Context, cluster: &Cluster) -> Result<(Links, Seen, Vec<Failure>), Vec<Failure>> {
    let wanted = |host: &str| cluster.host(host).is_some_and(|host| host.roles.etcd || host.roles.control_plane);
    let hosts = cluster.hosts.iter().filter(|host| wanted(&host.name)).map(|host| host.name.clone()).collect();
    context.events.send(EventKind::HostsAwaited { hosts });
    let (links, unreachable) = connect_each(cluster, wanted, &context.transport, &context.events).await?;
    let mut silent: Vec<Failure> = unreachable.into_values().collect();
    // What answers in the place of a host is no host that is away.
    if silent.iter().any(Failure::is_doubt) {
        return Err(silent);
    }
    let asked = cluster.hosts.iter().filter(|host| links.contains_key(&host.name)).map(|host| {
        let looks: Looks = backup::looks(host).into_iter().collect();
        (host.name.clone(), LookAt { looks, facts: Some(Extent::Node) })
    });
    let mut seen = Seen::default();
    if let Err(unanswered) = probe_all(&links, asked.collect(), &context.controller, &mut seen, &context.events).await {
        silent.extend(unanswered);
    }
    Ok((links, seen, silent))
}

async fn configuration_of(links: &Links, host: &str) -> Result<EncryptionKey, Failure> {
    let hint = "restore that file from another control plane, or from a backup";
    fetch_key(links, host).await.map_err(|failure| failure.hint(hint))
}

/// A snapshot takes its time, in which another run may have replaced the key: what is encrypted with the new one could not be read with what is in the file.
fn has_all(before: &EncryptionKey, after: &EncryptionKey) -> Result<(), Failure> {
    let (before, after) = (String::from_utf8_lossy(before.expose()), String::from_utf8_lossy(after.expose()));
    let (known, plugins) = (encryption_keys(&before), kms_plugins(&before));
    let is_known = encryption_keys(&after).iter().all(|key| known.contains(key));
    match is_known && kms_plugins(&after).iter().all(|plugin| plugins.contains(plugin)) {
        true => Ok(()),
        false => Err(Failure::new(Kind::Host, "the backup is not whole: a new key to encrypt with came while it was made")
            .because("the snapshot may have what is encrypted with it, and the file has the keys from before")
            .hint("repeat the command; `kokctl status` says whether the key is still being replaced, which does not matter to it")),
    }
}

async fn write(context: &Context, request: &BackupRequest<'_>, links: &Links, sources: Sources) -> Result<WholeBackup, Failure> {
    let (cluster, now) = (request.cluster, Clock::seconds());
    let Sources { member, form, encryption, control_plane, etcd, etcd_version, revision } = sources;
    let keepers = Keepers { control_plane: control_plane.as_deref(), etcd: etcd.as_deref(), encryption: encryption.as_deref() };
    // They are short: where they can't be had, that is known before the rest has come.
    let keys = cluster_keys(cluster, keepers, links, now).await?;
    let kubernetes = match keepers.control_plane {
        Some(host) => texts(links, host).await?.get(API_SERVER).and_then(|text| image_version(text)),
        None => None,
    };
    let mut file = BackupFile::create(request.place, &cluster.name, now, request.seal, form)?;
    file.add(KEYS, keys.expose().as_bytes())?;
    let configuration = match keepers.encryption {
        Some(host) => Some((host, configuration_of(links, host).await?)),
        None => None,
    };
    if let Some((_, configuration)) = &configuration {
        file.add(ENCRYPTION, configuration.expose())?;
    }
    file.add(CLUSTER, request.description.as_bytes())?;
    let (taken, output) = fetch_snapshot(links, (&member, form), |piece| file.push(piece), &context.events).await?;
    if let Some((host, before)) = &configuration {
        has_all(before, &configuration_of(links, host).await?)?;
    }
    let kubernetes = kubernetes.unwrap_or_else(|| cluster.kubernetes_version.clone()).to_string();
    let versions = BackupVersions { kokctl: env!("CARGO_PKG_VERSION").to_owned(), kubernetes, etcd: etcd_version };
    let made = BackupSource { versions, member: member.clone(), revision: Some(revision).filter(|revision| *revision > 0) };
    taken.and_then(|()| file.finish(made)).map_err(|failure| with_host_output(failure, &member, output.as_deref()))
}
