//! The log: what kokctl and the SSH library do in detail, for those who look for a cause.

use std::env;
use std::fs::File;
use std::io::IsTerminal as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgAction, Args};
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::failure::{Failure, Kind};

/// What to log, in the words of `tracing_subscriber`'s `EnvFilter`: `kokctl=debug,russh=debug`.
const VARIABLE: &str = "KOKCTL_LOG";

/// Of an operator whose runs are many: each step that is done would be a line.
const OF_A_SERVICE: &str = "kokctl=info,kokctl::run=warn";

/// Whether the log is written to the terminal: a board would be torn by it.
static ON_TERMINAL: AtomicBool = AtomicBool::new(false);

/// What is logged, and where to.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Log what is done; twice in detail, three times with the SSH library. KOKCTL_LOG chooses more exactly
    #[arg(short, long, action = ArgAction::Count, global = true)]
    verbose: u8,
    /// Write the log to this file instead of standard error
    #[arg(long, value_name = "FILE", global = true)]
    log_file: Option<PathBuf>,
    /// Whether it is a program that serves, of which nobody watches a run.
    #[arg(skip)]
    serves: bool,
}

/// What was begun of it, and comes to its end with the program.
#[must_use]
pub(super) struct Begun {
    #[cfg(feature = "traces")]
    traces: Option<super::traces::Traces>,
}

impl Begun {
    /// Sends what there still is to send, and says so if that failed.
    pub(super) fn end(self) {
        #[cfg(feature = "traces")]
        if let Some(why) = self.traces.and_then(super::traces::Traces::finish) {
            crate::ui::status_line(&format!("warning: traces could not be sent, or not all of them: {}", crate::failure::printable(&why)));
        }
    }
}

/// Whether log and progress would share a terminal.
pub(super) fn is_on_terminal() -> bool {
    ON_TERMINAL.load(Ordering::Relaxed)
}

impl Arguments {
    /// For a program that nobody watches: the log is all that there is, and of runs it has what goes wrong.
    #[cfg(feature = "operator")]
    pub(super) fn of_a_service(self) -> Self {
        Self { serves: true, ..self }
    }

    /// Begins to log, and to send traces, if that is asked for.
    pub(super) fn start(&self) -> Result<Begun, Vec<Failure>> {
        #[cfg(feature = "traces")]
        let traces = super::traces::Traces::asked(&|name: &str| env::var(name).ok()).unwrap_or_else(|failure| {
            // These variables are meant for all programs of a machine, and no work ends because of them.
            crate::ui::status_line(&failure.as_warning());
            None
        });
        let lines = self.lines()?;
        // Only a second call could fail, and there is none.
        let registry = Registry::default().with(lines);
        #[cfg(feature = "traces")]
        let registry = registry.with(traces.as_ref().map(super::traces::Traces::layer));
        let _ = registry.try_init();
        Ok(Begun {
            #[cfg(feature = "traces")]
            traces,
        })
    }

    /// What writes lines, if they are asked for.
    fn lines(&self) -> Result<Option<Lines>, Vec<Failure>> {
        let asked = env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty());
        if asked.is_none() && self.verbose == 0 && self.log_file.is_none() && !self.serves {
            return Ok(None);
        }
        // Who names a file wants to find something in it.
        let verbose = if self.log_file.is_some() { self.verbose.max(2) } else { self.verbose };
        let asked = asked.as_deref().or((self.serves && verbose == 0).then_some(OF_A_SERVICE));
        let filter = filter(asked, verbose).map_err(|failure| vec![failure])?;
        Ok(Some(match &self.log_file {
            Some(path) => {
                let file = File::options().create(true).append(true).mode(0o600).open(path);
                let file = file.map_err(|error| {
                    let failure = Failure::new(Kind::Input, "the log can't be written").at(path.display().to_string());
                    vec![failure.because(error.to_string()).hint("give another file with --log-file")]
                })?;
                lines(filter, Mutex::new(file))
            }
            None => {
                ON_TERMINAL.store(std::io::stderr().is_terminal(), Ordering::Relaxed);
                lines(filter, std::io::stderr)
            }
        }))
    }
}

fn filter(asked: Option<&str>, verbose: u8) -> Result<EnvFilter, Failure> {
    let text = asked.unwrap_or(match verbose {
        0 | 1 => "kokctl=info",
        2 => "kokctl=debug",
        _ => "kokctl=trace,russh=debug",
    });
    EnvFilter::try_new(text).map_err(|error| {
        Failure::new(Kind::Input, "it can't be understood what to log")
            .at(format!("the variable {VARIABLE}"))
            .because(error.to_string())
            .hint("write it as `kokctl=debug` or `kokctl=debug,russh=debug`")
    })
}

type Lines = Box<dyn Layer<Registry> + Send + Sync>;

fn lines<W: for<'w> MakeWriter<'w> + Send + Sync + 'static>(filter: EnvFilter, writer: W) -> Lines {
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false).with_target(true);
    Box::new(lines.with_filter(FilterFn::new(is_harmless)).with_filter(filter))
}

/// Whatever is asked for, nothing is logged that could hold what passes through a connection: the SSH library writes packets at the level
/// `trace`, and requests to the agent with what is signed at `debug`. The client of Kubernetes reads Secrets.
fn is_harmless(metadata: &Metadata<'_>) -> bool {
    may_log(metadata.target(), *metadata.level())
}

fn may_log(target: &str, level: Level) -> bool {
    let most = if target.starts_with("russh::keys") || target.starts_with("kube") {
        LevelFilter::INFO
    } else if target.starts_with("kokctl") {
        LevelFilter::TRACE
    } else {
        LevelFilter::DEBUG
    };
    level <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_hold_secrets_is_never_logged() {
        assert!(!may_log("russh::client::encrypted", Level::TRACE));
        assert!(!may_log("russh::keys::agent::client", Level::DEBUG));
        assert!(!may_log("russh_cryptovec", Level::TRACE));
        assert!(!may_log("kube_client::client", Level::DEBUG));
        assert!(may_log("russh::client", Level::DEBUG));
        assert!(may_log("kokctl::run", Level::TRACE));
    }

    #[test]
    fn a_filter_that_is_none_is_refused_with_the_place() {
        assert!(filter(Some("kokctl=debug,russh=info"), 0).is_ok());
        let refused = filter(Some("kokctl=loud"), 0).err().map(|failure| (failure.at, failure.hint.is_some()));
        assert_eq!(refused, Some((Some("the variable KOKCTL_LOG".to_owned()), true)));
    }
}
