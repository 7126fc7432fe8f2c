//! `kokctl replace`

mod wanted;

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::{count, listed};
use kok_tasks::drain::DrainSettings;
use kok_tasks::plan::Selection;

use super::changing::{Session, failures};
use super::common::BundleArgument;
use super::drain::Nodes;
use super::drain_arguments::{DrainOptions, SerialOption};
use super::process;
use super::remove::LEAVE;
use super::reset;
use crate::engine::{self, ApplyRequest, Error, First, Follows, Given, Options, Removal, Replaced, Replacement, Silent, Verdict};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;
use wanted::{WantedReplacement, With, wanted};

/// Take hosts out of the cluster and let them join anew, or another one in the place of one: machines that lost their disk or are gone, that have moved or
/// get other roles, or are to be made afresh
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    bundle: BundleArgument,
    /// A host of the file that takes the place of the one that is named, which leaves for good
    #[arg(long, value_name = "HOST")]
    with: Option<String>,
    /// They are gone for good, or came back bare: refused while anything of their old selves answers
    #[arg(long)]
    dead: bool,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Let etcd have an even number of members, of which no more may be lost than of one less
    #[arg(long)]
    yes_even: bool,
    #[command(flatten)]
    drain: DrainOptions,
    #[command(flatten)]
    serial: SerialOption,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let WantedReplacement { mut cluster, hosts, with, silent, agreed } = wanted(arguments)?;
    arguments.bundle.tell_hosts(&mut cluster);
    let both = with.as_ref().map(|with| with.both(&cluster));
    let (transport, given) = (process::transport(), Given::new(false)?);
    // What the bundle lacks is said before anything goes.
    let bundle = Arc::new(arguments.bundle.open_or_fetch(both.as_ref().unwrap_or(&cluster), &transport).await?);
    // Nothing of a host that is made afresh is kept.
    let drain = arguments.drain.settings(&cluster, true);
    let drain = DrainSettings { delete_unmanaged: drain.delete_unmanaged || agreed.is_some(), ..drain };
    let follows = if silent == Silent::Refused || with.is_some() { Follows::Apply } else { Follows::ApplyIfAlive };
    // For as long as hosts join there may be an even number of members; what counts is how many there are in the end.
    let members = Some(cluster.etcd_hosts().count());
    let removal = Removal { hosts: &hosts, drain, silent, follows, members, even: arguments.yes_even };
    let (part, selection) = (part(&hosts, with.as_ref()), Selection::whole());
    let replacement = Replacement { removal: &removal, part: &part, with_both: both.as_ref() };
    with.iter().zip(replacement.first()).for_each(|(with, first)| status_line(&order_words(with, first, &cluster)));
    match &agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None => {
            reset::ask_words(&cluster, LEAVE, &ask_words(both.as_ref().unwrap_or(&cluster), &hosts)).map_err(|failure| vec![failure])?
        }
    }
    let (session, lock) = Session::open(&cluster, &arguments.nodes.changing, transport).map_err(|failure| vec![failure])?;
    let (context, store) = (&session.context, &session.store);
    let request =
        ApplyRequest { cluster: &cluster, selection: &selection, part: None, bundle, given: &given, most_failed: None, noted: None };
    let work = async |options: Options<'_>| engine::replace(context, (store, lock), replacement, &request, options).await;
    let left = |error: &Error| matches!(error, Error::HalfWay(_)).then(|| half_way(&part, with.is_some()));
    let replaced = session.with_options(|_| Verdict::Go, work).await;
    let replaced = replaced.map_err(|error| left(&error).into_iter().chain(failures(error, "replace")).collect::<Vec<_>>());
    let Replaced { outcome, kept, dead } = replaced?;
    let done = outcome.map_or(0, |outcome| outcome.done);
    end_words(&cluster, &hosts, with.as_ref(), &dead, (done, session.seconds())).iter().for_each(|text| session.say(text));
    kept.iter().flat_map(reset::snapshot_words).for_each(|text| session.say(&text));
    Ok(())
}

fn part(hosts: &[String], with: Option<&With>) -> String {
    let hosts = hosts.join(",");
    with.map_or_else(|| hosts.clone(), |with| format!("{hosts} --with {}", with.new))
}

/// In which order another host takes the place of one, and why.
fn order_words(With { old, new, .. }: &With, first: First, cluster: &Cluster) -> String {
    let is_plane = cluster.host(new).is_some_and(|host| host.roles.control_plane);
    let joins_first = || match is_plane {
        true => format!(
            "first {new} joins, so that etcd never has fewer members than before; then {old} is drained, leaves etcd, is cleaned and forgotten; then the other \
             hosts learn that it is gone"
        ),
        false => format!("first {new} joins, so that pods have room; then {old} is drained, cleaned and forgotten"),
    };
    match first {
        First::New => joins_first(),
        First::AsItAnswers => format!("{}. If {old} does not answer, it is forgotten first", joins_first()),
        First::OldForRoom => {
            format!(
                "first {old} is drained, leaves etcd, is cleaned and forgotten, for etcd has as many members as it may; then {new} joins in its place"
            )
        }
        First::OldForItIsDead if is_plane => format!(
            "first {old} leaves etcd and is forgotten, for a member that does not work counts against the majority; then {new} joins in its place"
        ),
        First::OldForItIsDead => format!("first {old} is forgotten; then {new} joins"),
    }
}

fn ask_words(cluster: &Cluster, hosts: &[String]) -> String {
    let place = |name: &String| cluster.host(name).map_or_else(|| name.clone(), |host| format!("{name} ({})", host.address));
    let hosts = hosts.iter().map(place).collect::<Vec<_>>().join(", ");
    format!("This removes Kubernetes and ALL ITS DATA, volumes on the hosts included, from {hosts}, as far as they answer.")
}

fn end_words(
    cluster: &Cluster,
    hosts: &[String],
    with: Option<&With>,
    dead: &BTreeSet<String>,
    (done, seconds): (usize, f64),
) -> Vec<String> {
    let name = &cluster.name;
    let dead_names = listed(dead.iter().map(String::as_str));
    let uncleaned = format!("nothing was cleaned on {dead_names}: erase its disk before the machine is used again");
    if let Some(With { old, new, has_line }) = with {
        let line = if *has_line { format!("; its line in the file may go, or stay with `removed: [{old}]`") } else { String::new() };
        let first = format!("{new} has taken the place of {old} in the cluster {name}, {seconds:.1} s{line}");
        return [first].into_iter().chain((!dead.is_empty()).then_some(uncleaned)).collect();
    }
    if dead.is_empty() {
        let replaced = count(hosts.len(), "host");
        return vec![format!(
            "{}: {replaced} of the cluster {name} made afresh, {}, {seconds:.1} s",
            hosts.join(","),
            count(done, "change")
        )];
    }
    let next = format!(
        "{dead_names}: out of the cluster {name}, and no machine answers there yet: once one does, `kokctl apply` lets it join; or write another host into the \
         file in its place, and `kokctl apply`"
    );
    vec![next, uncleaned]
}

/// What has come about where what follows can't be begun.
fn half_way(part: &str, has_other: bool) -> Failure {
    if has_other {
        let failure = Failure::new(Kind::Incomplete, format!("{part}: a part of it is done, and what follows was not begun"));
        return failure.hint("mend what is said below, then type the same again");
    }
    let failure = Failure::new(Kind::Incomplete, format!("{part}: out of the cluster and cleaned, and nothing of joining was begun"));
    failure.hint("mend what is said below, then `kokctl apply`")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use kok_crds::operation::Verb;

    use super::super::limit::LimitArgument;
    use super::super::test_files::read_line;
    use super::{Arguments, wanted};

    /// It has no pods that could leave, and a member that does.
    #[test]
    fn a_host_of_etcd_alone_is_replaced_and_not_drained() {
        let text = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: e1, address: 10.0.0.12, roles: [etcd]}\n";
        let is = read_line(text, ("replace", ""), &["e1"], wanted).map_err(|failure| format!("{failure:?}")).unwrap();
        assert_eq!(is.hosts, ["e1"]);
        let drained =
            read_line(text, ("replace", ""), &["e1"], |arguments: &Arguments| arguments.nodes.read(Verb::Drain, &LimitArgument::default()));
        assert_eq!(drained.err().unwrap().what, "e1 is no node");
    }
}
