//! Taking hosts before the first change of a run, and letting go of them at its end.

mod door;
mod held;
mod resend;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kok_tasks::holder::{self, BUSY, HELD, Holder, Other, Standing, left_line};
use kok_tasks::script::PRELUDE;
use tokio::task::JoinSet;

use super::link::Links;
use crate::clock::Clock;
use crate::event::{EventKind, Events};
use crate::failure::{Cause, Failure, HeldBy, Kind};
use crate::remote::{ExitStatus, Output};
use crate::state::Controller;
pub(super) use door::ByLinks;
use door::Door;
pub use held::Held;

/// A run that wants to write.
#[derive(Debug, Clone)]
pub struct Taking {
    /// Name of the run.
    pub run: String,
    /// Whose run it is.
    pub controller: Controller,
    /// Whether an earlier run that still holds hosts is ended first.
    pub take_over: bool,
    /// The boot id of each host when it was probed.
    pub boots: BTreeMap<String, String>,
}

impl Taking {
    fn holder(&self) -> Holder {
        let Controller { id, name, .. } = self.controller.clone();
        Holder { run: self.run.clone(), controller: id, since: Clock::rfc3339(), by: name }
    }
}

/// Says who would write: refused before anything is changed where another run holds a host, or another manager keeps it.
///
/// # Errors
/// A [`Failure`] for each of them.
pub fn may_write(standing: &BTreeMap<String, Standing>, own: &Controller, take_over: bool) -> Result<u64, Vec<Failure>> {
    holder::next_epoch(standing, &own.id, take_over).map_err(|others| others.into_iter().map(held_by).collect())
}

fn held_by(other: Other) -> Failure {
    let failure = Failure::refusal(Kind::Host, other.refusal());
    let (by, since) = other.who();
    // What stands in a record is whatever somebody wrote there.
    let since = since.filter(|since| since.parse::<Timestamp>().is_ok());
    failure.due(Cause::Held(HeldBy { by, since }))
}

/// What became of taking the hosts of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// They are as they were when they were probed.
    AsProbed,
    /// A run of another controller had these at some time since they were probed, or was at work on them then. They are let go again: what
    /// is known of them is too old to be acted on.
    ChangedHands(BTreeSet<String>),
}

/// Takes these hosts, but those that `held` has already: the first before all others, so that of two runs that begin at the same moment one gets
/// them all. `held` is right at every moment: whoever drops this before its end lets go of it. A link that breaks is opened again as in the middle
/// of a run, and told as there.
///
/// # Errors
/// [`Failure`]s of hosts that another run has taken meanwhile, or that can't be taken. Of those nothing but holder records has been changed then,
/// and all hosts are let go.
pub(super) async fn take(
    door: &impl Door,
    hosts: &[String],
    standing: &BTreeMap<String, Standing>,
    taking: &Taking,
    held: &mut Held,
    events: &Events,
) -> Result<Taken, Vec<Failure>> {
    let own = &taking.controller;
    // No script of another controller is at work when hosts are taken, but it was when they were probed, and did more after that.
    let of_others = |host: &&String| standing.get(*host).is_some_and(|standing| standing.holder.is_some() && !standing.is_stale(&own.id));
    let mut changed: BTreeSet<String> = hosts.iter().filter(of_others).cloned().collect();
    let epoch = may_write(standing, own, taking.take_over)?;
    let hosts: Vec<String> = hosts.iter().filter(|host| !held.has(host, standing)).cloned().collect();
    changed.extend(held.too_old_for(&hosts, standing));
    if !held.is_empty() && !changed.is_empty() {
        release(door, held, events).await;
        return Ok(Taken::ChangedHands(changed));
    }
    held.begin(epoch, |epoch| (taking.holder().line(epoch), left_line(epoch, own.manages.as_ref())));
    held.know_boots(&taking.boots);
    let mut found = standing.clone();
    let (first, others) = hosts.split_at(1.min(hosts.len()));
    let mut failures = take_all(door, first, &mut found, taking, held).await;
    if failures.is_empty() {
        failures = take_all(door, others, &mut found, taking, held).await;
    }
    if failures.is_empty() && changed.is_empty() {
        return Ok(Taken::AsProbed);
    }
    release(door, held, events).await;
    // What stands there now was not there when the hosts were probed; whoever holds them may have to be refused.
    may_write(&found, own, taking.take_over)?;
    not_taken_by(failures, changed)
}

/// Where nobody is to be refused by name: the hosts that changed hands, or what else kept some from being taken.
fn not_taken_by(failures: Vec<NotTaken>, mut changed: BTreeSet<String>) -> Result<Taken, Vec<Failure>> {
    let mut failed = Vec::new();
    for failure in failures {
        match failure {
            NotTaken::Held(host) => drop(changed.insert(host)),
            NotTaken::Failed(failure) => failed.push(*failure),
        }
    }
    if failed.is_empty() { Ok(Taken::ChangedHands(changed)) } else { Err(failed) }
}

/// Why a host was not taken.
enum NotTaken {
    /// On this one another line stands than the one that was expected.
    Held(String),
    /// Anything else.
    Failed(Box<Failure>),
}

async fn take_all(
    door: &impl Door,
    hosts: &[String],
    standing: &mut BTreeMap<String, Standing>,
    taking: &Taking,
    held: &mut Held,
) -> Vec<NotTaken> {
    let mut working = JoinSet::new();
    for host in hosts.iter().filter(|host| door.leads_to(host)) {
        let expected = standing.get(host).map(|standing| standing.line.clone()).unwrap_or_default();
        let script = format!("{PRELUDE}{}", holder::take_script(&expected, &held.line, taking.take_over));
        held.asked.insert(host.clone());
        let (host, taken) = (host.clone(), door.take(host, taking.boots.get(host).cloned(), script));
        working.spawn(async move { (host, taken.await) });
    }
    let mut failures = Vec::new();
    while let Some(joined) = working.join_next().await {
        match joined.map_err(|error| Failure::new(Kind::Internal, error.to_string())) {
            Ok((host, Ok(output))) if output.is_success() => {
                standing.insert(host.clone(), Standing::parse(&held.line));
                held.boots.insert(host, boot_of(&output));
            }
            Ok((host, Ok(output))) if output.status == ExitStatus::Exited(HELD) => {
                standing.insert(host.clone(), Standing::parse(&output.reason().unwrap_or_default()));
                failures.push(NotTaken::Held(host));
            }
            Ok((host, Ok(output))) => failures.push(NotTaken::Failed(Box::new(not_taken(&host, &output)))),
            Ok((_, Err(failure))) | Err(failure) => failures.push(NotTaken::Failed(Box::new(failure))),
        }
    }
    failures
}

/// The boot id that a host says when it is taken.
fn boot_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn not_taken(host: &str, output: &Output) -> Failure {
    let reason = output.reason().unwrap_or_default();
    let failure = match output.status {
        ExitStatus::Exited(BUSY) => {
            let failure = Failure::new(Kind::Host, reason).due(Cause::Passing);
            failure.hint("wait for it, or look at `systemctl list-units 'kokctl-job-*'` there")
        }
        _ => Failure::new(Kind::Host, "the holder's record can't be written")
            .because(reason)
            .hint("look at the disk of the host: /var/lib/kokctl has to be writable"),
    };
    failure.at(format!("host {host}"))
}

/// Lets go of all hosts that were asked, as far as they can be reached: one that has not answered may have been taken all the same. Says
/// which ones could not be let go.
async fn release(door: &impl Door, held: &mut Held, events: &Events) {
    let script = format!("{PRELUDE}{}", holder::release_script(&held.line, &held.left, holder::RECORD_SECONDS));
    let mut still_held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (host, because) in release_by(door, held.asked.iter(), |_| script.clone()).await {
        still_held.entry(because).or_default().insert(host);
    }
    for (because, hosts) in still_held {
        events.send(EventKind::Warning(still_held_for(&hosts, because).to_record()));
    }
    held.end();
}

fn still_held_for(hosts: &BTreeSet<String>, because: String) -> Failure {
    Failure::new(Kind::Host, "this run has ended and could not let go of them")
        .at(format!("host {}", hosts.iter().map(String::as_str).collect::<Vec<_>>().join(", ")))
        .because(because)
        .hint("the next run of the same user on this machine takes them all the same; any other needs --take-over")
}

/// For a run that has nothing to do: takes away what one of this controller left that was killed at its very end, and says who keeps hosts from now on, where
/// that is news. What this run holds is let go at its own.
pub async fn forget(links: &Links, standing: &BTreeMap<String, Standing>, own: &Controller, held: &Held) {
    let is_wrong = |(host, it): &(&String, &Standing)| leaves_another(it, own) && !held.has(host, standing);
    let script = |host: &String| {
        let (line, epoch) = standing.get(host).map(|standing| (standing.line.as_str(), standing.epoch)).unwrap_or_default();
        format!("{PRELUDE}{}", holder::release_script(line, &left_line(epoch, own.manages.as_ref()), holder::RECORD_SECONDS))
    };
    // The next run of this controller tries again.
    let hosts = standing.iter().filter(is_wrong).map(|(host, _)| host);
    release_by(&ByLinks::new(links, &Events::new(Vec::new())), hosts, script).await;
}

/// Whether a run of this controller that lets go leaves something else in a record. What is another one's stays.
fn leaves_another(standing: &Standing, own: &Controller) -> bool {
    let is_own = |id: &str| id == own.id;
    match (&standing.holder, &standing.manager) {
        (Some(_), _) => standing.is_stale(&own.id),
        (None, Some(manager)) => is_own(&manager.controller) && own.manages.is_none(),
        (None, None) => own.manages.is_some(),
    }
}

/// Those that were not let go, each with its cause.
async fn release_by<'a>(
    door: &impl Door,
    hosts: impl Iterator<Item = &'a String>,
    script: impl Fn(&String) -> String,
) -> Vec<(String, String)> {
    let mut working = JoinSet::new();
    for host in hosts.filter(|host| door.leads_to(host)) {
        let (host, released) = (host.clone(), door.release(host, script(host)));
        working.spawn(async move {
            let because = match released.await {
                Ok(output) if output.is_success() => None,
                Ok(output) => Some(output.reason().unwrap_or_else(|| "the record can't be written".to_owned())),
                Err(because) => Some(because),
            };
            (host, because)
        });
    }
    let mut failed = Vec::new();
    while let Some(joined) = working.join_next().await {
        if let Ok((host, Some(because))) = joined {
            failed.push((host, because));
        }
    }
    failed
}

#[cfg(test)]
mod tests;
