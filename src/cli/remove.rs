//! `kokctl remove`

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_crds::{Asked, Input, Intent, Position, listed};
use kok_tasks::plan::Leaving;

use super::changing::{ChangingArguments, Session, failures};
use super::drain_arguments::DrainOptions;
use super::files::{ExtraVars, NamedFiles};
use super::process;
use super::reset;
use super::wanted::{goes_on_without, problems, tasks};
use crate::engine::{self, Options, ResetDone, ResetRequest, Verdict};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// Take workers out of the cluster, which goes on: their pods leave them, the hosts are cleaned, and the cluster forgets their nodes
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Workers of the cluster: names and groups with `*` and `?`; without any, those of the files' operation
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
    #[command(flatten)]
    files: NamedFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// They are gone for good: nothing is done on them, and their nodes are deleted. Refused while anything of them answers
    #[arg(long)]
    dead: bool,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    drain: DrainOptions,
    #[command(flatten)]
    changing: ChangingArguments,
}

/// Who is removed.
struct Wanted {
    cluster: Cluster,
    hosts: Vec<String>,
    dead: bool,
    /// Where an operation stands that asks for it.
    agreed: Option<Position>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Wanted { cluster, hosts, dead, agreed } = wanted(arguments)?;
    match agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None if dead => reset::ask_words(&cluster, "that hosts leave", &dead_words(&hosts)).map_err(|failure| vec![failure])?,
        None => reset::ask(&cluster, Some(&hosts)).map_err(|failure| vec![failure])?,
    }
    let mut drain = arguments.drain.settings();
    // What an operation asks for, Kubespray does with both; and nothing of a host that is cleaned is kept.
    drain.delete_empty_dir = true;
    let part = hosts.join(",");
    let leaving = Leaving { hosts: &hosts, dead, drain };
    let (session, lock) = Session::open(&cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let (context, store) = (&session.context, &session.store);
    let request = ResetRequest::Workers { leaving: &leaving, part: &part };
    let work = async |options: Options<'_>| engine::reset(context, (store, lock), &cluster, request, options).await;
    let ResetDone { outcome, .. } = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "remove"))?;
    if outcome.is_none() {
        session.say("nothing to do");
    } else {
        removed_words(&cluster, &hosts, dead).iter().for_each(|text| session.say(text));
    }
    Ok(())
}

fn dead_words(hosts: &[String]) -> String {
    let names = listed(hosts.iter().map(String::as_str));
    format!("This deletes the nodes of {names}, and nothing on the hosts themselves. Pods that may still run there are started elsewhere.")
}

fn removed_words(cluster: &Cluster, hosts: &[String], dead: bool) -> Vec<String> {
    let (names, is) = (listed(hosts.iter().map(String::as_str)), if hosts.len() == 1 { "is" } else { "are" });
    let mut words = vec![format!("{names} {is} no longer part of the cluster {}", cluster.name)];
    if dead {
        words.push(format!(
            "nothing was cleaned on {names}: don't switch it on again before its disk is erased, or `kokctl reset` has cleaned it"
        ));
    }
    if hosts.iter().any(|name| cluster.host(name).is_some()) {
        words.push("take it out of the file now: the next `kokctl apply` would make a node of it again".to_owned());
    }
    words
}

fn wanted(arguments: &Arguments) -> Result<Wanted, Vec<Failure>> {
    let (input, cluster) = arguments.files.all().without_manifests(&arguments.extra)?;
    let asked = input.asked(Intent { verb: Verb::Remove, dry: false }, &tasks()).map_err(problems)?;
    let Asked { may_be_dead, agreed_at, .. } = asked;
    let hosts = match arguments.hosts.as_slice() {
        [] => asked.hosts.clone(),
        given => named(&input, &cluster, given, arguments.dead)?,
    };
    if hosts.is_empty() {
        let failure = Failure::new(Kind::Input, "no host is named").because("`remove` never means all of them");
        return Err(vec![failure.hint("kokctl remove -f FILE HOST…; or, for the whole cluster, `kokctl reset`")]);
    }
    goes_on_without(&cluster, &hosts, "HOST")?;
    let agreed = agreed_at.filter(|_| hosts.iter().all(|host| asked.hosts.contains(host)));
    Ok(Wanted { cluster, dead: arguments.dead || may_be_dead, hosts, agreed })
}

/// A host that is dead may be in no file any more.
fn named(input: &Input, cluster: &Cluster, given: &[String], dead: bool) -> Result<Vec<String>, Vec<Failure>> {
    let nowhere = Position { file: "HOST".into(), line: 1, column: 1 };
    let is_name = |text: &String| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte));
    let mut hosts = Vec::new();
    for text in given {
        let found = match input.hosts(text, &nowhere) {
            Ok(found) => found,
            Err(_) if dead && is_name(text) => vec![text.clone()],
            Err(found) => return Err(problems(found).into_iter().map(|failure| unknown(failure.at("HOST"), cluster, text)).collect()),
        };
        hosts.extend(found.into_iter().filter(|name| !hosts.contains(name)).collect::<Vec<_>>());
    }
    Ok(hosts)
}

fn unknown(failure: Failure, cluster: &Cluster, text: &str) -> Failure {
    if failure.hint.is_some() {
        return failure;
    }
    failure.hint(format!(
        "put {text} back into the file of the cluster {}, so that it can be reached and cleaned; or, if it is gone for good, add --dead",
        cluster.name
    ))
}
