//! `kokctl backup rehearse`

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use kok_crds::model::Cluster;
use kok_tasks::backup::{Manifest, Rehearsed, RehearsedKind};
use serde::Serialize;

use super::{FolderArgument, IdentityArgument, contents_lines, local, shown};
use crate::backup::{Spool, read};
use crate::cli::common::print_json;
use crate::cli::files::{ExtraVars, NamedFiles};
use crate::cli::process;
use crate::cli::table::table;
use crate::clock::Clock;
use crate::engine::{self, Rehearsal, RehearsalRequest, Store as _};
use crate::failure::{Failure, Kind};
use crate::state::{Controller, LastRehearsal};
use crate::ui::{line, status_line};

/// Restore a backup for trial: beside the cluster, on one of its control planes, and without a change of it
///
/// An etcd and an API server of their own are made of it, which nobody else can reach; all that it has is read through them, Secrets with the key that is in it;
/// and all of it is thrown away. It says what was read, beside what the cluster has by now, and how long a restore takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The backup: a file, or `s3://BUCKET/PREFIX/NAME` in the bucket of the cluster's file; by default the newest one
    #[arg(value_name = "BACKUP")]
    backup: Option<PathBuf>,
    #[command(flatten)]
    files: NamedFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    identity: IdentityArgument,
    #[command(flatten)]
    folder: FolderArgument,
    /// The control plane that does it; by default the last one of the file that answers
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Print what came of it as JSON
    #[arg(long)]
    json: bool,
}

/// What is printed as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a> {
    #[serde(flatten)]
    last: &'a LastRehearsal,
    manifest: &'a Manifest,
    found: Option<&'a Rehearsed>,
    /// Why a restore onto the hosts of the file would be refused.
    refused: Vec<String>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let (_, cluster) = arguments.files.all().without_manifests(&arguments.extra)?;
    arguments.right(&cluster).map_err(one)?;
    let identities = arguments.identity.read().map_err(one)?;
    let backup = arguments.chosen(&cluster).await.map_err(one)?;
    let began = Instant::now();
    let local = local(&backup, Some(&cluster)).await.map_err(one)?;
    let mut spool = Spool::create(&engine::FolderStore::new(process::state().map_err(one)?).snapshots_of(&cluster.name)).map_err(one)?;
    let named = |failure: Failure| vec![failure.at(shown(&backup))];
    let contents = tokio::task::block_in_place(|| read(local.path(), identities.as_ref(), Some(&mut spool))).map_err(named)?;
    drop(local);
    if contents.manifest.cluster != cluster.name {
        let failure = Failure::new(Kind::Input, format!("the backup is of the cluster `{}`", contents.manifest.cluster.escape_debug()));
        let failure = failure.at(shown(&backup)).because(format!("the file is that of `{}`", cluster.name));
        return Err(one(failure.hint("take a backup of this cluster, or the file of that one")));
    }
    if !arguments.json {
        line(&shown(&backup));
        contents_lines(&contents, Clock::seconds()).iter().take(2).for_each(|text| line(text));
    }
    let context = process::context(Controller::nobody());
    let request = RehearsalRequest { cluster: &cluster, host: arguments.host.as_deref(), contents: &contents, snapshot: spool.path() };
    status_line("it is restored beside the cluster, on one of its control planes: that takes a minute or so");
    let rehearsal = engine::rehearse(&context, &request).await?;
    arguments.ended((&cluster, &shown(&backup)), &contents.manifest, &rehearsal, began.elapsed().as_secs_f64())
}

impl Arguments {
    /// Whether the command line can be meant.
    fn right(&self, cluster: &Cluster) -> Result<(), Failure> {
        let may = |name: &String| cluster.host(name).is_some_and(|host| host.roles.control_plane && host.roles.etcd);
        if let Some(host) = self.host.as_ref().filter(|host| !may(host)) {
            let failure = Failure::new(Kind::Input, format!("a backup can't be rehearsed on {}", host.escape_debug())).at("--host");
            return Err(failure
                .because("it is no control plane with a member of etcd, whose programs are needed")
                .hint("name one, or leave it out"));
        }
        if cluster.hosts.iter().any(|host| may(&host.name)) {
            return Ok(());
        }
        let failure = Failure::new(Kind::Input, "backups of this cluster can't be rehearsed");
        let failure = failure.because("no control plane has a member of etcd, and the programs of both are needed on one host");
        Err(failure.hint("rehearse it by hand: docs/apply.md says how a snapshot is restored"))
    }

    /// The one that is named, or the newest that looks whole.
    async fn chosen(&self, cluster: &Cluster) -> Result<PathBuf, Failure> {
        if let Some(backup) = &self.backup {
            return Ok(backup.clone());
        }
        let places = self.folder.places(Some(cluster))?;
        let mut found: Vec<(i64, PathBuf)> = Vec::new();
        if let Some(place) = &places.folder {
            let all = place.list(Some(&cluster.name))?.into_iter().filter(|found| found.looks_whole);
            found.extend(all.map(|found| (found.name.seconds, found.path)));
        }
        if let Some(bucket) = &places.bucket {
            let all = bucket.list(Some(&cluster.name)).await?.into_iter().filter(|stored| stored.bytes > 0);
            found.extend(all.map(|stored| (stored.name.seconds, PathBuf::from(bucket.address_of(&stored.name)))));
        }
        // Where it is in both places, the file need not be fetched.
        let newest = found.into_iter().rev().max_by_key(|(seconds, _)| *seconds);
        newest.map(|(_, path)| path).ok_or_else(|| {
            let failure = Failure::new(Kind::Input, "there is no backup that could be rehearsed");
            failure
                .because(format!("none of {} lies there that looks whole", cluster.name))
                .hint("`kokctl backup create -f FILE` makes one")
        })
    }

    /// Keeps and tells what came of it.
    fn ended(
        &self,
        (cluster, backup): (&Cluster, &str),
        manifest: &Manifest,
        rehearsal: &Rehearsal,
        seconds: f64,
    ) -> Result<(), Vec<Failure>> {
        let found = rehearsal.found.as_ref();
        let last = LastRehearsal {
            backup: backup.to_owned(),
            made: manifest.seconds,
            rehearsed: Clock::seconds(),
            host: rehearsal.host.clone(),
            seconds,
            objects: found.map(Rehearsed::objects).unwrap_or_default(),
            faults: found.map_or_else(|failure| vec![failure.one_line()], |found| found.faults(manifest)),
        };
        let kept = process::state().and_then(|state| last.keep(&state, &cluster.name));
        if self.json {
            let refused = rehearsal.refused.iter().map(Failure::one_line).collect();
            print_json(&Whole { last: &last, manifest, found: found.ok(), refused })?;
        } else if let Ok(found) = found {
            print(found, &last);
        }
        rehearsal.refused.iter().for_each(|failure| status_line(&failure.as_warning()));
        let unusable = |fault: &String| {
            let failure =
                Failure::new(Kind::Host, "the backup was restored, and not all of it can be used").at(backup).because(fault.clone());
            failure.hint("make another one now, `kokctl backup create -f FILE`, and rehearse that; keep this one until it works")
        };
        let mut failures = match &rehearsal.found {
            Err(failure) => vec![failure.clone()],
            Ok(_) => last.faults.iter().map(unusable).collect(),
        };
        failures.extend(kept.err());
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }
}

fn print(found: &Rehearsed, last: &LastRehearsal) {
    let number = |number: Option<u64>, none: &str| number.map_or_else(|| none.to_owned(), |number| number.to_string());
    let is_worth_a_line = |kind: &&RehearsedKind| kind.objects != Some(0) || kind.now.is_some_and(|now| now > 0);
    let rows: Vec<[String; 3]> = found
        .kinds
        .iter()
        .filter(is_worth_a_line)
        .map(|kind| [kind.name.clone(), number(kind.objects, "UNREADABLE"), number(kind.now, "?")])
        .collect();
    table(&["KIND", "IN THE BACKUP", "NOW"], &rows).iter().for_each(|text| line(text));
    let on_host: Vec<String> = found.phases.iter().map(|(title, seconds)| format!("{title} {seconds:.1} s")).collect();
    line(&format!("on {}: {}", last.host, on_host.join(", ")));
    if last.faults.is_empty() {
        line(&format!(
            "the backup can be restored: {} objects at revision {} were read, {:.1} s with the reading of the file; nothing of it is left on {}",
            found.objects(),
            found.revision,
            last.seconds,
            last.host
        ));
    }
}
