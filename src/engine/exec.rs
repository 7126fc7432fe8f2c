//! A command of the user on hosts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_tasks::attended::{SECONDS_TO_END, script};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::context::{Begins, Context};
use crate::failure::{Cause, Failure, Kind};
use crate::remote::{ExitStatus, Output, RunAs, Script};
use crate::run::{Link, Stop, connect_each, unless_wished, wished};

/// What is kept of what a host says on standard output: its first bytes. Of standard error the last 64 KiB are.
pub const MOST_OUTPUT: usize = 256 << 10;

/// After the word to end: the command's time to tidy up, and what a slow host takes to say that it is over.
const GRACE: Duration = Duration::from_secs(SECONDS_TO_END + 10);

/// A command for hosts.
pub struct ExecRequest<'a> {
    /// The cluster as its file says.
    pub cluster: &'a Cluster,
    /// The names of the hosts.
    pub hosts: &'a [String],
    /// The program and its arguments, each of which arrives as it is: no shell reads them.
    pub command: &'a [String],
    /// As whom it runs.
    pub run_as: RunAs,
    /// How long it may run on a host before it is ended.
    pub timeout: Option<Duration>,
    /// On so many hosts at the same time.
    pub at_once: usize,
    /// Called when hosts are connected, before the command begins anywhere.
    pub begins: Begins<'a>,
}

/// How a command ended on a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// By itself, with this code; with more than 128 it was a signal.
    Exited(u32),
    /// It was ended, for it took too long.
    TimedOut,
    /// It was ended, for the caller wished so.
    Interrupted,
    /// It was not begun, for the caller wished to stop.
    NotBegun,
}

/// What a command left on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// How it ended.
    pub ended: Ended,
    /// The first [`MOST_OUTPUT`] bytes of its standard output.
    pub stdout: Vec<u8>,
    /// Whether there was more.
    pub stdout_cut: bool,
    /// The last 64 KiB of its standard error.
    pub stderr: Vec<u8>,
    /// Whether there was more before.
    pub stderr_cut: bool,
}

/// Why it is not known what became of a command on a host.
#[derive(Debug, Clone)]
pub struct ExecFailure {
    /// What failed.
    pub failure: Failure,
    /// Whether the command may have been begun there.
    pub may_have_begun: bool,
}

impl ExecFailure {
    fn begun(failure: Failure) -> Self {
        Self { failure, may_have_begun: true }
    }

    fn not_begun(failure: Failure) -> Self {
        Self { failure, may_have_begun: false }
    }
}

/// What became of a command by host, as far as that is known.
pub type ExecResults = BTreeMap<String, Result<Executed, ExecFailure>>;

/// Runs a command on hosts beside each other, and says of each what it left there, or why that is not known. Nothing is recorded of it, on hosts or
/// here, and no lock is taken. Where the caller's `stop` wishes an end, or leaves, the command is ended on all hosts.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names; then nobody was contacted. Of `begins`; then the command was begun nowhere.
pub async fn exec(context: &Context, request: &ExecRequest<'_>) -> Result<ExecResults, Vec<Failure>> {
    let wanted = |host: &str| request.hosts.iter().any(|name| name == host);
    let (links, unreachable) = connect_each(request.cluster, wanted, &context.transport, &context.events).await?;
    let mut left: ExecResults = unreachable.into_iter().map(|(host, failure)| (host, Err(ExecFailure::not_begun(failure)))).collect();
    (request.begins)().map_err(|failure| vec![failure])?;
    let places = Arc::new(Semaphore::new(request.at_once.max(1)));
    let mut running = JoinSet::new();
    for (host, link) in links {
        // What is not said otherwise: a host of which nothing is heard any more is none that did well.
        left.insert(host.clone(), Err(ExecFailure::begun(unheard(&link))));
        let (stop, places) = (context.stop.clone(), Arc::clone(&places));
        let order = Order { text: script(request.command), run_as: request.run_as, timeout: request.timeout };
        running.spawn(async move { (host, order.carried_out(&link, stop, &places).await) });
    }
    while let Some(ended) = running.join_next().await {
        left.extend(ended.ok());
    }
    Ok(left)
}

/// What one host is to do.
struct Order {
    text: String,
    run_as: RunAs,
    timeout: Option<Duration>,
}

impl Order {
    async fn carried_out(self, link: &Link, mut stop: watch::Receiver<Stop>, places: &Semaphore) -> Result<Executed, ExecFailure> {
        let Some(_place) = unless_wished(&mut stop.clone(), Stop::Finish, places.acquire()).await else {
            return Ok(Executed { ended: Ended::NotBegun, stdout: Vec::new(), stdout_cut: false, stderr: Vec::new(), stderr_cut: false });
        };
        let wish = stop.clone();
        let work = self.attended(link, wish);
        unless_wished(&mut stop, Stop::Now, work).await.unwrap_or_else(|| Err(ExecFailure::begun(left_alone(link))))
    }

    async fn attended(self, link: &Link, mut wish: watch::Receiver<Stop>) -> Result<Executed, ExecFailure> {
        let placed = |failure: Failure| failure.at(link.place());
        let connection = link.scripts().await.map_err(|error| ExecFailure::not_begun(error.into()))?;
        let (mut ended_by, timeout) = (None, self.timeout);
        let end = async {
            let late = async {
                match timeout {
                    Some(timeout) => tokio::time::sleep(timeout).await,
                    None => std::future::pending().await,
                }
            };
            ended_by = Some(tokio::select! {
                () = wished(&mut wish, Stop::Finish) => Ended::Interrupted,
                () = late => Ended::TimedOut,
            });
        };
        let script = Script::new(self.text).stdout_limit(MOST_OUTPUT);
        let output = connection.attend(script, self.run_as, end, GRACE).await.map_err(|error| ExecFailure::begun(placed(error.into())))?;
        left(output, ended_by).map_err(|failure| ExecFailure::begun(placed(failure)))
    }
}

fn left(output: Output, ended_by: Option<Ended>) -> Result<Executed, Failure> {
    let ended = match (ended_by, output.status) {
        (Some(ended), _) => ended,
        (None, ExitStatus::Exited(code)) => Ended::Exited(code),
        (None, ExitStatus::Signaled(signal)) => {
            let failure = Failure::new(Kind::Host, "the shell around the command was killed").because(format!("it got SIG{signal}"));
            return Err(failure.hint("look on the host at what became of the command, and at what kills there, such as the memory's end"));
        }
    };
    let Output { stdout, stdout_truncated: stdout_cut, stderr, stderr_truncated: stderr_cut, .. } = output;
    Ok(Executed { ended, stdout, stdout_cut, stderr, stderr_cut })
}

/// A defect: what looked after the host has ended without a word.
fn unheard(link: &Link) -> Failure {
    let failure = Failure::new(Kind::Internal, "nobody knows what became of the command").at(link.place());
    failure.hint("this is a defect of kokctl; please report it")
}

/// The connection is dropped: the host ends the command when it notices that.
fn left_alone(link: &Link) -> Failure {
    let failure = Failure::new(Kind::Host, "nobody waited for the end of the command").due(Cause::Passing).at(link.place());
    failure.because(Stop::BECAUSE).hint("the host ends it when it notices that the connection is gone: look there if that matters")
}
