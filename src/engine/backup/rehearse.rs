//! A backup that is restored for trial, beside the cluster and without a change of it.

use std::path::Path;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_pki::AuthorityKind;
use kok_tasks::backup::{Rehearsed, Rehearsing, fits_host};

use super::hosts::{of_backup, of_host, texts};
use crate::backup::BackupContents;
use crate::engine::context::Context;
use crate::event::EventKind;
use crate::failure::{Failure, Kind};
use crate::remote::{Output, Script};
use crate::run::{Link, Links, connect_each};

/// 8 GiB, the most that etcd is made for, at some 20 Mbit/s; and what is read of so much.
const DEADLINE: Duration = Duration::from_secs(2 * 3600);

/// Some hundred kinds, and as many numbers.
const MOST_SAID: usize = 1 << 20;

/// What is tried.
pub struct RehearsalRequest<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The control plane on which it is tried; by default the last one of the file that answers.
    pub host: Option<&'a str>,
    /// The backup.
    pub contents: &'a BackupContents,
    /// Its snapshot.
    pub snapshot: &'a Path,
}

/// What came of it.
pub struct Rehearsal {
    /// The control plane on which it was tried.
    pub host: String,
    /// What was found there, or what the host says that kept it from being restored.
    pub found: Result<Rehearsed, Failure>,
    /// What keeps the backup from being restored on that host in the place of what the cluster has; it may be restored onto new ones all the same.
    pub refused: Vec<Failure>,
}

/// Restores a backup for trial: a control plane of the cluster gets it, makes an etcd and an API server of it that nobody else can reach, reads all that is in
/// it, and throws all of it away. Nothing of the cluster is changed, and no lock is taken.
///
/// # Errors
/// [`Failure`]s where no control plane answers that is the cluster's, or the one that does it is not heard of again: that says nothing of the backup.
pub async fn rehearse(context: &Context, request: &RehearsalRequest<'_>) -> Result<Rehearsal, Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let (links, host) = connected(context, request).await?;
    let link = links.get(&host).ok_or_else(|| one(Failure::new(Kind::Internal, format!("there is no connection to {host}"))))?;
    let (has, runs) = of_host(&texts(&links, &host).await.map_err(one)?);
    let wanted = of_backup(request.contents);
    let of_kubernetes = |all: &[(AuthorityKind, String)]| all.iter().find(|(kind, _)| *kind == AuthorityKind::Kubernetes).cloned();
    if of_kubernetes(&has.authorities) != of_kubernetes(&wanted.authorities) {
        let failure = Failure::new(Kind::Host, "the backup is not of the cluster that this host belongs to").at(link.place());
        let because = "it has no authority of Kubernetes, or another one than the backup; all secrets of the backup would be sent to it";
        return Err(one(failure
            .because(because)
            .hint("take a backup of this cluster, or the file of that one; or name another host with --host")));
    }
    let refused = fits_host(&request.contents.manifest, &wanted, &host, (&has, &runs));
    let refused = refused.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)).collect();
    let found = tried(link, request).await.map_err(one)?;
    Ok(Rehearsal { host, found, refused })
}

/// Connections to those that may do, and which of them does. One that is named has to answer.
async fn connected(context: &Context, request: &RehearsalRequest<'_>) -> Result<(Links, String), Vec<Failure>> {
    let cluster = request.cluster;
    let wanted = |name: &str| {
        let has_both = cluster.host(name).is_some_and(|host| host.roles.control_plane && host.roles.etcd);
        has_both && request.host.is_none_or(|only| only == name)
    };
    let (links, unreachable) = connect_each(cluster, wanted, &context.transport, &context.events).await?;
    let last = cluster.hosts.iter().rev().find(|host| links.contains_key(&host.name)).map(|host| host.name.clone());
    // What answers in the place of a host is no host that is away.
    if unreachable.values().any(Failure::is_doubt) {
        return Err(unreachable.into_values().collect());
    }
    let Some(host) = last else { return Err(unreachable.into_values().collect()) };
    unreachable.into_values().for_each(|failure| context.events.send(EventKind::Warning(failure.to_record())));
    Ok((links, host))
}

async fn tried(link: &Link, request: &RehearsalRequest<'_>) -> Result<Result<Rehearsed, Failure>, Failure> {
    let BackupContents { manifest, keys, encryption, snapshot_sha256 } = request.contents;
    let authorities = keys.authorities();
    let (key, public) = (authorities.service_account().pem(), authorities.token_keys());
    let rehearsing = Rehearsing {
        bytes: manifest.snapshot_bytes(),
        sha256: snapshot_sha256,
        encryption: encryption.as_ref().map(|text| text.as_str()),
        service_accounts: (key.expose(), &public),
    };
    let script = Script::new(std::mem::take(&mut *rehearsing.script())).stdout_limit(MOST_SAID);
    let file = tokio::fs::File::open(request.snapshot).await.map_err(|error| {
        Failure::new(Kind::Internal, "the snapshot can't be read").because(error.to_string()).hint("nothing was changed")
    })?;
    let streamed = link.bulk().await?.stream(script, file, DEADLINE).await?;
    Ok(judged(&streamed.output).map_err(|failure| failure.at(link.place())))
}

fn judged(output: &Output) -> Result<Rehearsed, Failure> {
    let found = Rehearsed::read(&String::from_utf8_lossy(&output.stdout)).filter(|_| output.is_success());
    found.ok_or_else(|| {
        let failure = Failure::new(Kind::Host, "the backup was not restored");
        let because = output.reason().unwrap_or_else(|| "the host did not say all of it".to_owned());
        let hint = "the cluster was not touched, and the host removes what it has made of it. Mend what is said, or take another host with --host; if the backup itself \
                    is damaged, make another one: `kokctl backup create`";
        failure.because(because).hint(hint)
    })
}
