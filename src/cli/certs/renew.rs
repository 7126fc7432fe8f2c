//! `kokctl certs renew`

use std::collections::BTreeSet;

use clap::Args;
use clap::builder::PossibleValuesParser;
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_crds::{Input, Intent, count};
use kok_tasks::renewal::{CertificatePart, Renewal};

use crate::cli::changing::{ChangingArguments, Session, failures};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::limit::LimitArgument;
use crate::cli::process;
use crate::cli::wanted::{problems, tasks};
use crate::clock::day;
use crate::engine::{self, Given, RenewRequest, Renewed, Verdict};
use crate::failure::Failure;

/// Make certificates anew before they end, and have what runs read them, one host after the other
///
/// Those of which less than a third of their time is left (or less than `certificates.renewBefore` says), and those that could not do their work. It needs
/// no bundle, and changes nothing else. `apply` does the same.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Only these: apiserver, etcd, front-proxy, kubeconfigs, kubelets, with commas between them
    #[arg(long = "part", value_name = "PART", value_delimiter = ',', value_parser = PossibleValuesParser::new(CertificatePart::ALL.map(CertificatePart::as_str)))]
    parts: Vec<String>,
    /// Those too that have most of their time before them
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    limit: LimitArgument,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let hosts = arguments.hosts(&input)?;
    let parts: BTreeSet<CertificatePart> =
        CertificatePart::ALL.into_iter().filter(|part| arguments.parts.iter().any(|word| word == part.as_str())).collect();
    let renewal = Renewal { hosts: &hosts, parts: &parts, all: arguments.all, successor: None };
    let given = Given::new(false)?;
    let request = RenewRequest { cluster: &cluster, renewal: &renewal, part: words(arguments, &hosts), given: &given };
    let (session, lock) = Session::open(&cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let work = async |options: engine::Options<'_>| engine::renew(&session.context, lock, &request, options).await;
    let renewed = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "certs renew"))?;
    say(&session, &cluster, &renewed);
    engine::to_be_issued_by_others(&renewed.due).map_or(Ok(()), |failure| Err(vec![failure]))
}

impl Arguments {
    /// The hosts that are meant, by the command line or by the files' operation.
    fn hosts(&self, input: &Input) -> Result<Vec<String>, Vec<Failure>> {
        let asked = input.asked(Intent { verb: Verb::Renew, dry: false }, &tasks()).map_err(problems)?;
        if self.limit.is_given() { self.limit.hosts(input) } else { Ok(asked.hosts) }
    }
}

fn words(arguments: &Arguments, hosts: &[String]) -> Option<String> {
    let all = if arguments.all { "--all".to_owned() } else { String::new() };
    let option = |name: &str, words: &[String]| if words.is_empty() { String::new() } else { format!("{name} {}", words.join(",")) };
    let given = [option("--part", &arguments.parts), option("--limit", hosts), all];
    let given: Vec<String> = given.into_iter().filter(|words| !words.is_empty()).collect();
    (!given.is_empty()).then(|| given.join(" "))
}

fn say(session: &Session<'_>, cluster: &Cluster, renewed: &Renewed) {
    match &renewed.outcome {
        None => session.say("nothing to do: no certificate ends soon, and what runs has those that are there"),
        Some(outcome) => {
            let (done, seconds) = (count(outcome.done, "change"), session.seconds());
            session.say(&format!("certificates of {} are made anew: {done}, {seconds:.1} s; what runs has them", cluster.name));
        }
    }
    let leaves = renewed.certificates.iter().filter(|it| !it.authority);
    if let Some(end) = leaves.filter_map(|it| it.end).min() {
        session.say(&format!("the first of them ends on {}", day(end)));
    }
}
