//! `kokctl certs rotate ca`

use clap::{Args, ValueEnum};
use kok_crds::Intent;
use kok_crds::count;
use kok_crds::model::AuthorityName;
use kok_crds::operation::Verb;

use crate::cli::changing::{ChangingArguments, Session, failures};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::cli::wanted::{problems, tasks};
use crate::engine::{self, AuthorityWish, Given, Options, Verdict};
use crate::failure::Failure;

/// Replace a certificate authority: a new one is trusted by every host, then it signs, and the one from before is trusted until --finish
///
/// All hosts that trust it have to answer. Programs that have read the one from before are started anew, one host after the other. The same command goes on
/// with what was begun.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Which authority
    name: Name,
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Have nobody trust the authority from before; not while pods run that know no other
    #[arg(long)]
    finish: bool,
    /// With --finish: also while pods run that know API servers by the one from before alone; those of them that ask the API can't until they are started anew
    #[arg(long, requires = "finish")]
    anyway: bool,
    #[command(flatten)]
    changing: ChangingArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    /// Of API servers, their clients and kubelets
    Kubernetes,
    /// Of etcd and its clients
    Etcd,
    /// Of API servers as clients of aggregated API servers
    FrontProxy,
}

impl From<Name> for AuthorityName {
    fn from(name: Name) -> Self {
        match name {
            Name::Kubernetes => Self::Kubernetes,
            Name::Etcd => Self::Etcd,
            Name::FrontProxy => Self::FrontProxy,
        }
    }
}

/// How pods are started anew.
const RESTART: &str = "`kubectl rollout restart daemonset,deployment,statefulset -n NAMESPACE`, kube-system first";

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let name = AuthorityName::from(arguments.name);
    let (verb, wish) = match arguments.finish {
        true => (Verb::EndAuthority(name), AuthorityWish::End { anyway: arguments.anyway }),
        false => (Verb::RotateAuthority(name), AuthorityWish::Replace),
    };
    input.asked(Intent { verb, dry: false }, &tasks()).map_err(problems)?;
    let given = Given::new(false)?;
    let (session, lock) = Session::open(&cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::rotate_authority(&session.context, lock, (&cluster, name, wish), &given, options).await;
    let rotated = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, verb.as_str()))?;
    let seconds = session.seconds();
    // Who goes on with what was done already did not get another one than that.
    let done = rotated.outcome.map_or_else(|| "nothing was left to do".to_owned(), |outcome| count(outcome.done, "change"));
    let print = rotated.sha256.get(..16).unwrap_or_default();
    let word = Verb::RotateAuthority(name).as_str();
    if arguments.finish {
        session.say(&format!("only the authority with SHA-256 {print}… is trusted: {done}, {seconds:.1} s"));
        if name == AuthorityName::Kubernetes {
            session.say("kubeconfigs that people have name the one from before: `kokctl kubeconfig` makes others");
            if arguments.anyway {
                session.say(&format!("pods that were started before can't ask the API until they are started anew: {RESTART}"));
            }
        }
        return Ok(());
    }
    session.say(&format!("the authority with SHA-256 {print}… signs: {done}, {seconds:.1} s"));
    if name == AuthorityName::Kubernetes {
        session.say(&format!("have pods that ask the API read it: {RESTART}"));
    }
    session.say(&format!("the one from before is trusted until `kokctl {word} --finish`"));
    Ok(())
}
