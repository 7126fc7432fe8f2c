//! The command line: one verb a file.

mod apply;
mod backup;
mod bundle;
mod certs;
mod changing;
mod check;
mod common;
mod completions;
mod converge;
mod convert;
mod drain;
mod drain_arguments;
mod etcd;
mod exec;
mod exposed;
mod facts;
mod fetching;
mod files;
mod known_hosts;
mod kubeconfig;
mod limit;
mod log;
mod man;
#[cfg(feature = "operator")]
mod operator;
mod plan;
mod plan_json;
mod process;
mod reboot;
mod recover;
mod remove;
mod replace;
mod report;
mod reset;
mod restore;
#[cfg(feature = "operator")]
mod run_of_operation;
mod run_show;
mod run_text;
mod runs;
mod saved_plan;
mod secrets;
mod signals;
mod status;
mod support;
mod table;
#[cfg(test)]
mod test_files;
mod tips;
#[cfg(feature = "traces")]
mod traces;
mod upgrade;
mod validate;
mod vars;
mod version;
mod versions;
mod wanted;
#[cfg(feature = "operator")]
mod watch;
mod who;
mod why;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::{Failure, Kind};
use crate::ui::{grouped, status_line, written};

/// What the codes of [`Kind`] mean, for people.
const EXIT_CODES: &str = "Exit codes:
  0  done, or nothing to do
  1  a file of kokctl's own, or a defect
  2  the file, the options or the bundle are wrong; nothing was changed
  3  a host could not be reached, or may not be changed; nothing was changed
  4  something was changed, and not all that was planned
  5  a question was answered with no, or nobody could be asked";

/// Build and run Kubernetes clusters on your own Linux hosts over SSH.
#[derive(Debug, Parser)]
#[command(name = "kokctl", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    log: log::Arguments,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Apply(apply::Arguments),
    Backup(backup::Arguments),
    Bundle(bundle::Arguments),
    Certs(certs::Arguments),
    Check(check::Arguments),
    Plan(plan::Arguments),
    Validate(validate::Arguments),
    Converge(converge::Arguments),
    Convert(convert::Arguments),
    Vars(vars::Arguments),
    Status(status::Arguments),
    Support(support::Arguments),
    Etcd(etcd::Arguments),
    Exec(exec::Arguments),
    Facts(facts::Arguments),
    Kubeconfig(kubeconfig::Arguments),
    Cordon(drain::CordonArguments),
    Drain(drain::DrainArguments),
    Uncordon(drain::UncordonArguments),
    Reboot(reboot::Arguments),
    Recover(recover::Arguments),
    Remove(remove::Arguments),
    Replace(replace::Arguments),
    Reset(reset::Arguments),
    Restore(restore::Arguments),
    Secrets(secrets::Arguments),
    Upgrade(upgrade::Arguments),
    Runs(runs::Arguments),
    #[cfg(feature = "operator")]
    Operator(operator::Arguments),
    #[cfg(feature = "operator")]
    Watch(watch::Arguments),
    Run(run_show::Arguments),
    KnownHosts(known_hosts::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Man(man::Arguments),
    Version(version::Arguments),
    Versions(versions::Arguments),
}

/// Runs the program with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let error = tips::with_tip(error);
            // As clap ends itself: what can't be printed can't be told either.
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    #[cfg(feature = "operator")]
    let cli = if matches!(cli.verb, Verb::Operator(_)) { Cli { log: cli.log.of_a_service(), ..cli } } else { cli };
    let log = match cli.log.start() {
        Ok(log) => log,
        Err(failures) => return ended(failures),
    };
    let result = runtime().and_then(|runtime| {
        runtime.block_on(async {
            match cli.verb {
                Verb::Apply(arguments) => apply::run(&arguments).await,
                Verb::Backup(arguments) => backup::run(&arguments).await,
                Verb::Bundle(arguments) => bundle::run(&arguments).await,
                Verb::Certs(arguments) => certs::run(&arguments).await,
                Verb::Check(arguments) => check::run(&arguments).await,
                Verb::Plan(arguments) => plan::run(&arguments).await,
                Verb::Validate(arguments) => validate::run(&arguments),
                Verb::Converge(arguments) => converge::run(&arguments).await,
                Verb::Convert(arguments) => convert::run(&arguments),
                Verb::Vars(arguments) => vars::run(&arguments),
                Verb::Status(arguments) => status::run(&arguments).await,
                Verb::Support(arguments) => support::run(&arguments).await,
                Verb::Etcd(arguments) => etcd::run(&arguments).await,
                Verb::Exec(arguments) => exec::run(&arguments).await,
                Verb::Facts(arguments) => facts::run(&arguments).await,
                Verb::Kubeconfig(arguments) => kubeconfig::run(&arguments).await,
                Verb::Cordon(arguments) => drain::cordon(&arguments).await,
                Verb::Drain(arguments) => drain::drain(&arguments).await,
                Verb::Uncordon(arguments) => drain::uncordon(&arguments).await,
                Verb::Reboot(arguments) => reboot::run(&arguments).await,
                Verb::Recover(arguments) => recover::run(&arguments).await,
                Verb::Remove(arguments) => remove::run(&arguments).await,
                Verb::Replace(arguments) => replace::run(&arguments).await,
                Verb::Reset(arguments) => reset::run(&arguments).await,
                Verb::Restore(arguments) => restore::run(&arguments).await,
                Verb::Secrets(arguments) => secrets::run(&arguments).await,
                Verb::Upgrade(arguments) => upgrade::run(&arguments).await,
                #[cfg(feature = "operator")]
                Verb::Operator(arguments) => operator::run(&arguments).await,
                #[cfg(feature = "operator")]
                Verb::Watch(arguments) => watch::run(&arguments).await,
                Verb::Runs(arguments) => runs::run(&arguments),
                Verb::Run(arguments) => run_show::run(&arguments).await,
                Verb::KnownHosts(arguments) => known_hosts::run(&arguments).await,
                Verb::Completions(arguments) => completions::run(&arguments, Cli::command()),
                Verb::Man(arguments) => man::run(&arguments, Cli::command()),
                Verb::Version(arguments) => version::run(&arguments),
                Verb::Versions(arguments) => versions::run(&arguments),
            }
        })
    });
    log.end();
    let result = result.and_then(|()| written().map_err(|failure| vec![failure]));
    result.map_or_else(ended, |()| ExitCode::SUCCESS)
}

/// Says what is wrong, and with which code the program ends.
fn ended(failures: Vec<Failure>) -> ExitCode {
    let worst = Kind::worst(&failures);
    let texts: Vec<String> = grouped(failures).iter().map(ToString::to_string).collect();
    status_line(&texts.join("\n\n"));
    ExitCode::from(worst.exit_code())
}

/// One core is left to the thread that decides what is next: it wakes the workers for every host, and with as many of them as cores they
/// take turns with it. On two cores, at 40 and 50 hosts, that costs 3 to 10 % more processor time and makes no run shorter.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1))
}

fn runtime() -> Result<tokio::runtime::Runtime, Vec<Failure>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers()).enable_all().build();
    runtime.map_err(|error| vec![Failure::new(Kind::Internal, "the program can't start its threads").because(error.to_string())])
}
