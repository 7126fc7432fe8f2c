//! `kokctl certs rotate service-account`

use clap::Args;
use kok_crds::Intent;
use kok_crds::count;
use kok_crds::operation::Verb;

use crate::cli::changing::{ChangingArguments, Session, failures};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::cli::wanted::{problems, tasks};
use crate::engine::{self, Given, Options, TokenKeyWish, Verdict};
use crate::failure::Failure;

/// Have another key sign the tokens of service accounts: a new one is known to every API server, then every one signs with it, and the one from before is
/// taken until --finish
///
/// All control planes have to answer. Their API servers are started anew one after the other, once for each of these stages. The same command goes on with
/// what was begun.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Have tokens of the key from before refused; not before pods have others, and not while Secrets have such tokens
    #[arg(long)]
    finish: bool,
    /// With --finish: also while tokens of the key from before may be in use, which are refused from then on
    #[arg(long, requires = "finish")]
    anyway: bool,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let (verb, wish) = match arguments.finish {
        true => (Verb::EndTokenKey, TokenKeyWish::End { anyway: arguments.anyway }),
        false => (Verb::RotateTokenKey, TokenKeyWish::Replace),
    };
    input.asked(Intent { verb, dry: false }, &tasks()).map_err(problems)?;
    let given = Given::new(false)?;
    let (session, lock) = Session::open(&cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::rotate_token_key(&session.context, lock, (&cluster, wish), &given, options).await;
    let rotated = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, verb.as_str()))?;
    let seconds = session.seconds();
    // Who goes on with what was done already did not get another key than that.
    let done = rotated.outcome.map_or_else(|| "nothing was left to do".to_owned(), |outcome| count(outcome.done, "change"));
    let key = &rotated.key;
    if arguments.finish {
        session.say(&format!("only tokens of service accounts that {key} has signed are taken: {done}, {seconds:.1} s"));
        if arguments.anyway {
            session.say("pods with tokens from before are refused until they are started anew: `kubectl rollout restart daemonset,deployment,statefulset -n NAMESPACE`");
        }
    } else {
        session.say(&format!("tokens of service accounts are signed with {key}: {done}, {seconds:.1} s"));
        session.say("those of the key from before are taken until `kokctl certs rotate service-account --finish`, for which pods need a day at the most");
    }
    Ok(())
}
