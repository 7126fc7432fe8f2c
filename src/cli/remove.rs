//! `kokctl remove`

use std::collections::BTreeSet;

use clap::Args;
use kok_crds::model::{Cluster, Host, Roles};
use kok_crds::operation::Verb;
use kok_crds::{Input, Intent, Position, listed};
use kok_tasks::drain::DrainSettings;

use super::changing::{Session, failures};
use super::drain::Nodes;
use super::drain_arguments::{DrainOptions, SerialOption};
use super::process;
use super::reset;
use super::wanted::{problems, tasks};
use crate::engine::{self, Follows, Options, Removal, ResetDone, ResetRequest, Silent, Verdict};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// Take hosts out of the cluster, which goes on: their pods leave them, etcd goes on without them, they are cleaned, and the cluster forgets their nodes
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    nodes: Nodes,
    /// They are gone for good: nothing is done on them, and their nodes are deleted. Refused while anything of them answers
    #[arg(long)]
    dead: bool,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Let etcd have an even number of members for now, of which no more may be lost than of one less
    #[arg(long)]
    yes_even: bool,
    #[command(flatten)]
    drain: DrainOptions,
    #[command(flatten)]
    serial: SerialOption,
}

/// Who is removed.
struct Wanted {
    cluster: Cluster,
    hosts: Vec<String>,
    silent: Silent,
    /// Where an operation stands that asks for it, of all of these hosts.
    agreed: Option<Position>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Wanted { cluster, hosts, silent, agreed } = wanted(arguments)?;
    // Nothing of a host that is cleaned is kept. Of pods that nothing makes again, Kubespray asks nobody either.
    let drain = arguments.drain.settings(&cluster, true);
    let drain = DrainSettings { delete_unmanaged: drain.delete_unmanaged || agreed.is_some(), ..drain };
    match agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None if silent == Silent::AllDead => reset::ask_words(&cluster, LEAVE, &dead_words(&hosts)).map_err(|failure| vec![failure])?,
        None => reset::ask(&cluster, Some(&hosts)).map_err(|failure| vec![failure])?,
    }
    let part = hosts.join(",");
    let removal = Removal { hosts: &hosts, drain, silent, follows: Follows::Nothing, members: None, even: arguments.yes_even };
    let (session, lock) = Session::open(&cluster, &arguments.nodes.changing, process::transport()).map_err(|failure| vec![failure])?;
    let (context, store) = (&session.context, &session.store);
    let request = ResetRequest::Hosts { removal: &removal, part: &part };
    let work = async |options: Options<'_>| engine::reset(context, (store, lock), &cluster, request, options).await;
    let ResetDone { outcome, dead, kept, .. } =
        session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "remove"))?;
    if outcome.is_none() {
        session.say("nothing to do");
    } else {
        removed_words(&cluster, &hosts, &dead).iter().for_each(|text| session.say(text));
        kept.iter().flat_map(reset::snapshot_words).for_each(|text| session.say(&text));
    }
    Ok(())
}

/// What is asked, where nobody can be.
pub(super) const LEAVE: &str = "that hosts leave";

fn dead_words(hosts: &[String]) -> String {
    let names = listed(hosts.iter().map(String::as_str));
    format!(
        "This deletes the nodes of {names}, and their members of etcd, if they have some, and nothing on the hosts themselves. Pods that may still run \
         there are started elsewhere."
    )
}

fn removed_words(cluster: &Cluster, hosts: &[String], dead: &BTreeSet<String>) -> Vec<String> {
    let names = listed(hosts.iter().map(String::as_str));
    let (is, it) = if hosts.len() == 1 { ("is", "it") } else { ("are", "them") };
    let mut words = vec![format!("{names} {is} no longer part of the cluster {}", cluster.name)];
    if !dead.is_empty() {
        let names = listed(dead.iter().map(String::as_str));
        words.push(format!(
            "nothing was cleaned on {names}: before it is used again, erase its disk, or put it back into the file and `kokctl reset` it"
        ));
        let is_plane = |name: &String| cluster.host(name).is_none_or(|host| host.roles.control_plane);
        if let Some(address) = cluster.virtual_address().filter(|_| dead.iter().any(is_plane)) {
            words.push(format!("until then it has to stay off the network: an API server that still runs there takes the virtual address {address} for itself"));
        }
    }
    let has = |role: fn(Roles) -> bool| hosts.iter().any(|name| cluster.host(name).is_some_and(|host| role(host.roles)));
    let (is_plane, is_member) = (has(|roles| roles.control_plane), has(|roles| roles.etcd));
    if is_plane || is_member {
        let left = cluster.etcd_hosts().filter(|host| !hosts.contains(&host.name)).count();
        let others = match (is_plane, is_member && cluster.has_etcd_units()) {
            (true, true) => "load balancers, API servers and /etc/hosts",
            (true, false) => "load balancers and /etc/hosts",
            (false, _) => "API servers and /etc/hosts",
        };
        let out = format!("take {it} out of the file now and `kokctl apply`, so that {others} name {it} no more");
        let anew = format!("leave {it} there, and `kokctl apply` lets {it} join anew");
        words.push(match left % 2 {
            0 if is_member => format!("etcd has {left} members now, and the file may not have so many: write another host in its place and `kokctl apply`; or {anew}"),
            _ => format!("{out}; or {anew}"),
        });
    } else if hosts.iter().any(|name| cluster.host(name).is_some()) {
        words.push(format!("take {it} out of the file now: the next `kokctl apply` would make a node of {it} again"));
    }
    words
}

fn wanted(arguments: &Arguments) -> Result<Wanted, Vec<Failure>> {
    let Nodes { hosts: given, files, extra, .. } = &arguments.nodes;
    // A replacement that died stands beside the host whose place it was to take.
    let (input, cluster) = files.all().without_manifests_to_leave(extra, given)?;
    // Those that stand in `removed`, too.
    let mut cluster = cluster.before_removal();
    arguments.serial.tell(&mut cluster);
    let asked = input.asked(Intent { verb: Verb::Remove, dry: false }, &tasks()).map_err(problems)?;
    let hosts = if given.is_empty() { asked.hosts.clone() } else { named(&input, &cluster, given, arguments.dead)? };
    if hosts.is_empty() {
        let failure = Failure::new(Kind::Input, "no host is named").because("`remove` never means all of them");
        return Err(vec![failure.hint("kokctl remove -f FILE HOST…; or, for the whole cluster, `kokctl reset`")]);
    }
    may_leave(&cluster, &hosts)?;
    let agreed = asked.agreed_at.filter(|_| hosts.iter().all(|host| asked.hosts.contains(host)));
    let silent = match (arguments.dead, asked.may_be_dead && agreed.is_some()) {
        (true, _) => Silent::AllDead,
        (false, true) => Silent::Dead,
        (false, false) => Silent::Refused,
    };
    Ok(Wanted { cluster, hosts, silent, agreed })
}

/// A cluster without control planes, or without a member of etcd, is none.
fn may_leave(cluster: &Cluster, hosts: &[String]) -> Result<(), Vec<Failure>> {
    let leaves = |host: &&Host| hosts.contains(&host.name);
    if cluster.control_planes().all(|host| leaves(&host)) {
        let failure = Failure::new(Kind::Input, "no control plane would be left").at("HOST");
        return Err(vec![failure.hint("to take down the whole cluster: `kokctl reset`")]);
    }
    if cluster.etcd_hosts().all(|host| leaves(&host)) {
        let failure = Failure::new(Kind::Input, "no member of etcd would be left").at("HOST");
        return Err(vec![failure.hint("`kokctl apply` with the members in the file that come instead, and remove these after that")]);
    }
    Ok(())
}

/// A host that is dead may be in no file any more.
fn named(input: &Input, cluster: &Cluster, given: &[String], dead: bool) -> Result<Vec<String>, Vec<Failure>> {
    let nowhere = Position { file: "HOST".into(), line: 1, column: 1 };
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte));
    let mut hosts = Vec::new();
    for text in given {
        let found = match input.hosts(text, &nowhere) {
            Ok(found) => found,
            Err(_) if cluster.host(text).is_some() || (dead && is_name(text)) => vec![text.clone()],
            Err(found) => return Err(problems(found).into_iter().map(|failure| unknown(failure.at("HOST"), cluster, text)).collect()),
        };
        hosts.extend(found.into_iter().filter(|name| !hosts.contains(name)).collect::<Vec<_>>());
    }
    Ok(hosts)
}

/// A node may have lost its line in the file, which is where its host can be reached.
fn unknown(failure: Failure, cluster: &Cluster, text: &str) -> Failure {
    let lost = format!(
        "if it is a node of {} without a line in the file, put {text} back, so that it can be reached and cleaned; or, if it is gone for good, add --dead",
        cluster.name
    );
    let hint = failure.hint.as_ref().map_or_else(|| lost.clone(), |hint| format!("{hint} Or, {lost}"));
    failure.hint(hint)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::test_files::read_line;
    use super::{BTreeSet, Failure, Silent, Wanted, removed_words, wanted};

    const FILES: &str = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.12, roles: [worker]}\n
  - {name: w2, address: 10.0.0.13, roles: [worker]}\n";

    fn read(operation: &str, line: &[&str]) -> Result<Wanted, Failure> {
        read_of(FILES, operation, line)
    }

    fn read_of(files: &str, operation: &str, line: &[&str]) -> Result<Wanted, Failure> {
        read_line(files, ("remove-node.yml", operation), line, wanted)
    }

    #[test]
    fn an_operation_has_agreed_to_its_own_hosts() {
        let of = |operation: &str, line: &[&str]| {
            let Wanted { hosts, silent, agreed, .. } = read(operation, line).map_err(|failure| format!("{failure:?}")).unwrap();
            (hosts.join(","), silent, agreed.is_some())
        };
        assert_eq!(of("-e node=w1,w2", &[]), ("w1,w2".to_owned(), Silent::Refused, true));
        assert_eq!(of("-e node=w1 -e allow_ungraceful_removal=true", &[]), ("w1".to_owned(), Silent::Dead, true));
        assert_eq!(of("-e node=w1 -e allow_ungraceful_removal=true", &["w2"]), ("w2".to_owned(), Silent::Refused, false));
        assert_eq!(of("-e node=w1", &["w1", "--dead"]), ("w1".to_owned(), Silent::AllDead, true));
        assert_eq!(of("", &["w*"]), ("w1,w2".to_owned(), Silent::Refused, false));
    }

    #[test]
    fn who_is_in_no_file_may_only_be_dead() {
        assert_eq!(read("", &["w9", "--dead"]).unwrap().hosts, ["w9"]);
        let hint = read("", &["w9"]).err().unwrap().hint.unwrap();
        assert!(hint.contains("put w9 back") && hint.contains("--dead"), "{hint}");
        assert!(read("", &["w9;", "--dead"]).is_err(), "no pattern, and no name");
        assert_eq!(read("", &[]).err().unwrap().what, "no host is named");
        assert_eq!(read("", &["cp1"]).err().unwrap().what, "no control plane would be left");
    }

    /// A replacement that died before its time stands beside the host whose place it was to take.
    #[test]
    fn one_of_too_many_control_planes_may_leave() {
        let plane = |number: u8| format!("\n  - {{name: cp{number}, address: 10.0.0.3{number}, roles: [control-plane]}}\n");
        let four = format!("{FILES}{}{}{}", plane(2), plane(3), plane(4));
        for line in [&["cp4"][..], &["cp4", "--dead"]] {
            let Wanted { cluster, hosts, .. } = read_of(&four, "", line).map_err(|failure| format!("{failure:?}")).unwrap();
            assert_eq!((hosts, cluster.control_planes().count()), (vec!["cp4".to_owned()], 4), "it is known, and the others are");
        }
        for operation in ["-e node=cp4", "-e node=cp4 -e allow_ungraceful_removal=true", "--limit cp4"] {
            let Wanted { cluster, hosts, agreed, .. } = read_of(&four, operation, &[]).map_err(|failure| format!("{failure:?}")).unwrap();
            assert_eq!((hosts, cluster.control_planes().count(), agreed.is_some()), (vec!["cp4".to_owned()], 4, true), "{operation}");
        }
        assert!(read_of(&four, "-e node=cp3,cp4", &[]).is_err());
        for line in [&["w1"][..], &["cp3", "cp4"], &["cp9", "--dead"]] {
            let refused = read_of(&four, "", line).err().unwrap();
            assert_eq!(refused.what, "4 hosts have the role `control-plane`", "{line:?}");
        }
    }

    /// Those that go on don't hear it any more, and it does not hear them.
    #[test]
    fn a_control_plane_that_was_given_up_may_take_the_address_that_moves() {
        let text = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  APIhosts:\n  \
                    - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: cp2, address: 10.0.0.12, roles: [control-plane]}\n  \
                    - {name: cp3, address: 10.0.0.13, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.14, roles: [worker]}\n";
        let words = |api: &str, host: &str| {
            let cluster = kok_crds::read_cluster("c.yaml", &text.replace("API", api)).unwrap();
            removed_words(&cluster, &[host.to_owned()], &[host.to_owned()].into()).join("\n")
        };
        let vip = "apiEndpoint: {vip: 10.0.0.200}\n  ";
        assert!(words(vip, "cp1").contains("takes the virtual address 10.0.0.200 for itself"), "{}", words(vip, "cp1"));
        assert!(!words(vip, "w1").contains("virtual address") && !words("", "cp1").contains("virtual address"));
    }

    /// Members that are units, on hosts of their own: they leave as control planes do, and one has to be left.
    #[test]
    fn hosts_of_etcd_leave_but_for_the_last_one() {
        let more = |number: u8| format!("\n  - {{name: e{number}, address: 10.0.0.2{number}, roles: [etcd]}}\n");
        let files = format!("{FILES}{}{}{}", more(1), more(2), more(3));
        let Wanted { cluster, hosts, .. } = read_of(&files, "", &["e1", "e2"]).map_err(|failure| format!("{failure:?}")).unwrap();
        assert_eq!(hosts, ["e1", "e2"]);
        let slowly = read_of(&files, "", &["e1", "--serial", "3"]).map_err(|failure| format!("{failure:?}")).unwrap();
        assert_eq!((cluster.settings.serial.to_string(), slowly.cluster.settings.serial.to_string()), ("20%".to_owned(), "3".to_owned()));
        let words = removed_words(&cluster, &hosts, &BTreeSet::new()).join("\n");
        assert!(words.contains("so that API servers and /etc/hosts name them no more"), "{words}");
        let words = removed_words(&cluster, &hosts[..1], &BTreeSet::new()).join("\n");
        assert!(words.contains("etcd has 2 members now"), "{words}");
        let refused = read_of(&files, "", &["e*"]).err().unwrap();
        assert_eq!(refused.what, "no member of etcd would be left");
    }
}
