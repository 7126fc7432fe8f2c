//! `kokctl secrets change-encryption`

use std::io::IsTerminal as _;
use std::sync::Arc;

use clap::Args;
use kok_crds::Intent;
use kok_crds::count;
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;

use crate::cli::changing::{ChangingArguments, Session, failures};
use crate::cli::common::BundleArgument;
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::wanted::{problems, tasks};
use crate::cli::{process, reset};
use crate::engine::{self, EncryptionStanding, Given, Options, Verdict};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// Encrypt what etcd holds as the file asks for it, with nothing down: begin with it, end it, by another algorithm, or other resources
///
/// What is there is written anew, so that it is encrypted, or plain, as what comes is. All control planes have to answer; their API servers are started anew one
/// after the other where encryption begins or ends. What else the file asks for is applied with it. The same command goes on with what was begun.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, mut cluster) = arguments.cluster.whole(&arguments.extra)?;
    arguments.bundle.tell_hosts(&mut cluster);
    let asked = input.asked(Intent { verb: Verb::ChangeEncryption, dry: false }, &tasks()).map_err(problems)?;
    let (transport, given) = (process::transport(), Given::new(false)?);
    let looker = process::context_by(process::controller().map_err(|failure| vec![failure])?, transport.clone());
    let standing = engine::encryption(&looker, &cluster).await?;
    if standing.is_idle {
        arguments.changing.say(&format!("{} encrypts nothing, and the file asks for nothing else", cluster.name));
        return Ok(());
    }
    let bundle = Arc::new(arguments.bundle.open_or_fetch(&cluster, &looker.transport).await?);
    way_words(&cluster, &standing).iter().for_each(|text| arguments.changing.say(text));
    match asked.agreed_at {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None => ask(&cluster).map_err(|failure| vec![failure])?,
    }
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::change_encryption(&session.context, lock, &cluster, (&bundle, &given), options).await;
    let outcome = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "secrets change-encryption"))?;
    let (done, seconds) = (count(outcome.map(|outcome| outcome.done).unwrap_or_default(), "change"), session.seconds());
    let encryption = &cluster.settings.security.encryption;
    session.say(&match (encryption.enabled, &encryption.kms) {
        (true, None) => format!("etcd has {}, all of it with one key: {done}, {seconds:.1} s", standing.asked),
        (true, Some(_)) => format!("etcd has {}, and control planes have no key: {done}, {seconds:.1} s", standing.asked),
        (false, _) => format!("nothing in etcd is encrypted any more, and control planes have no key: {done}, {seconds:.1} s"),
    });
    session.say("backups and snapshots from before need the keys of before, which they have with them");
    Ok(())
}

fn way_words(cluster: &Cluster, standing: &EncryptionStanding) -> Vec<String> {
    let mut words = vec![format!("{} encrypts: {}", cluster.name, standing.is), format!("the file asks for: {}", standing.asked)];
    if !cluster.settings.security.encryption.enabled {
        words.push("whoever has a disk of etcd or a snapshot of it can read all Secrets from then on".to_owned());
    }
    words
}

/// Nobody can be asked where there is no terminal.
fn ask(cluster: &Cluster) -> Result<(), Failure> {
    let words = "What is in etcd is written anew, and API servers may be started anew, one after the other.";
    if !std::io::stdin().is_terminal() {
        let failure = Failure::new(Kind::Declined, "nobody confirmed the change of encryption").because("standard input is no terminal");
        return Err(failure.hint(format!("add --yes. {words}")));
    }
    reset::ask_words(cluster, "the change of encryption", words)
}
