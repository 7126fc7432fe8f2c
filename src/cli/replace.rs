//! `kokctl replace`

use std::sync::Arc;

use clap::Args;
use kok_crds::count;
use kok_crds::operation::Verb;
use kok_tasks::drain::DrainSettings;
use kok_tasks::plan::Selection;

use super::changing::{Session, failures};
use super::common::BundleArgument;
use super::drain::Nodes;
use super::drain_arguments::DrainOptions;
use super::process;
use super::remove::may_leave;
use super::reset;
use crate::engine::{self, ApplyRequest, Error, Given, Options, Removal, Replaced, Silent, Verdict};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// Take hosts out of the cluster and let them join anew: a machine that lost its disk, a new one in its place, or one to be made afresh
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    bundle: BundleArgument,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    drain: DrainOptions,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (mut cluster, hosts, agreed) = arguments.nodes.read_whole(Verb::Replace)?;
    may_leave(&cluster, &hosts)?;
    arguments.bundle.tell_hosts(&mut cluster);
    let (transport, given) = (process::transport(), Given::new(false)?);
    // What the bundle lacks is said before anything goes.
    let bundle = Arc::new(arguments.bundle.open_or_fetch(&cluster, &transport).await?);
    match &agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None => reset::ask(&cluster, Some(&hosts)).map_err(|failure| vec![failure])?,
    }
    // Nothing of a host that is made afresh is kept, and for as long as it joins there may be an even number of members.
    let drain = arguments.drain.settings(&cluster, true);
    let drain = DrainSettings { delete_unmanaged: drain.delete_unmanaged || agreed.is_some(), ..drain };
    let removal = Removal { hosts: &hosts, drain, silent: Silent::Refused, rejoins: true, even: true };
    let (part, selection) = (hosts.join(","), Selection::whole());
    let (session, lock) = Session::open(&cluster, &arguments.nodes.changing, transport).map_err(|failure| vec![failure])?;
    let (context, store) = (&session.context, &session.store);
    let request =
        ApplyRequest { cluster: &cluster, selection: &selection, part: None, bundle, given: &given, most_failed: None, noted: None };
    let work = async |options: Options<'_>| engine::replace(context, (store, lock), (&removal, &part), &request, options).await;
    let left = |error: &Error| matches!(error, Error::HalfWay(_)).then(|| half_way(&part));
    let replaced = session.with_options(|_| Verdict::Go, work).await;
    let replaced = replaced.map_err(|error| left(&error).into_iter().chain(failures(error, "replace")).collect::<Vec<_>>());
    let Replaced { outcome, kept } = replaced?;
    let done = outcome.map_or(0, |outcome| outcome.done);
    let (replaced, seconds) = (count(hosts.len(), "host"), session.seconds());
    session.say(&format!("{part}: {replaced} of the cluster {} made afresh, {}, {seconds:.1} s", cluster.name, count(done, "change")));
    kept.iter().flat_map(reset::snapshot_words).for_each(|text| session.say(&text));
    Ok(())
}

/// What has come about where the second half can't be begun.
fn half_way(part: &str) -> Failure {
    let failure = Failure::new(Kind::Incomplete, format!("{part}: out of the cluster and cleaned, and nothing of joining was begun"));
    failure.hint("mend what is said below, then `kokctl apply`")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use clap::Parser;
    use kok_crds::operation::Verb;

    use super::Arguments;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// It has no pods that could leave, and a member that does.
    #[test]
    fn a_host_of_etcd_alone_is_replaced_and_not_drained() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.yaml");
        let text = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: e1, address: 10.0.0.12, roles: [etcd]}\n";
        std::fs::write(&path, text).unwrap();
        let line = Line::try_parse_from(["replace", "-f", path.to_str().unwrap(), "e1"]).unwrap();
        let read = |verb: Verb| line.arguments.nodes.read_whole(verb).map(|(_, hosts, _)| hosts);
        assert_eq!(read(Verb::Replace).map_err(|failures| format!("{failures:?}")).unwrap(), ["e1"]);
        assert_eq!(read(Verb::Drain).err().unwrap()[0].what, "e1 is no node");
    }
}
