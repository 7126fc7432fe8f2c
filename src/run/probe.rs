//! Sending probes and reading their answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kok_tasks::facts::{self, Extent, HostFacts};
use kok_tasks::holder::{FIRST_LOOK_SECONDS, LOOK_SECONDS, Standing, look_script};
use kok_tasks::observe::{Looks, Nonce, Observations, parse, probe_script, section_marker, sections};
use kok_tasks::plan::Seen;
use tokio::task::JoinSet;

use super::link::{Link, Links};
use crate::clock::Clock;
use crate::event::{EventKind, Events, elapsed};
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;
use crate::remote::{Output, Script};
use crate::state::Controller;

/// A probe hashes what is new, and asks a control plane at most; each of its questions has a limit of 5 s. On a host whose processors are all busy
/// (a control plane that starts, on two cores that others need too) one took more than a minute. One that takes longer hangs; that a host is gone
/// keep-alives tell long before.
const PROBE: Duration = Duration::from_secs(180);

/// How long a host may say that a script of an earlier run is at work there: the longest single change of a healthy one.
const EARLIER_RUN: Duration = Duration::from_secs(120);

/// What one host is asked.
#[derive(Debug, Clone, Default)]
pub struct LookAt {
    /// What to look at.
    pub looks: Looks,
    /// How many facts to gather too.
    pub facts: Option<Extent>,
}

/// What one host answered.
struct Answer {
    host: String,
    facts: Option<HostFacts>,
    standing: Option<Standing>,
    observations: Observations,
    offset_seconds: i64,
    probe_milliseconds: u64,
}

/// Probes these hosts at once and takes over what they say.
///
/// # Errors
/// One [`Failure`] for each host that did not answer, or not in the form of a probe. What the others said has been taken over.
pub async fn probe_all(
    links: &Links,
    asked: BTreeMap<String, LookAt>,
    own: &Controller,
    seen: &mut Seen,
    events: &Events,
) -> Result<(), Vec<Failure>> {
    let (mut probing, mut hosts) = (JoinSet::new(), HashMap::new());
    let own_id: Arc<str> = Arc::from(own.id.as_str());
    for (host, look_at) in asked {
        if let Some(link) = links.get(&host).cloned() {
            let (own_id, events) = (Arc::clone(&own_id), events.clone());
            let name = host.clone();
            let task = probing.spawn(async move { probe(host, link, look_at, &own_id, &events).await });
            hosts.insert(task.id(), name);
        }
    }
    let mut failures = Vec::new();
    while let Some(joined) = probing.join_next().await {
        match joined {
            Ok(Ok(answer)) => {
                if let (Some(facts), Some(link)) = (answer.facts, links.get(&answer.host)) {
                    seen.add_facts(&answer.host, facts);
                    seen.add_clock_offset(&answer.host, answer.offset_seconds);
                    events.send(EventKind::HostProbed {
                        host: answer.host.clone(),
                        connect_milliseconds: link.connect_milliseconds,
                        probe_milliseconds: answer.probe_milliseconds,
                    });
                }
                if let Some(standing) = answer.standing {
                    seen.add_standing(&answer.host, standing);
                }
                seen.add_observations(&answer.host, answer.observations);
            }
            Ok(Err(failure)) => failures.push(failure),
            Err(error) => {
                let host = hosts.get(&error.id()).map(String::as_str).unwrap_or_default();
                let failure = Failure::new(Kind::Internal, "looking at it ended without a word").at(format!("host {host}"));
                failures.push(failure.because(error.to_string()));
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// Probes a host, and again while it says that an earlier run is at work there: that is waited for, and a host that says nothing is not.
async fn probe(host: String, link: Arc<Link>, look_at: LookAt, own_id: &str, events: &Events) -> Result<Answer, Failure> {
    let began = Instant::now();
    let mut announced = None;
    loop {
        let seconds = if announced.is_none() { FIRST_LOOK_SECONDS } else { LOOK_SECONDS };
        let answer = probe_once(&host, &link, &look_at, own_id, seconds).await?;
        let Some(facts) = answer.facts.as_ref().filter(|facts| facts.busy && began.elapsed() < EARLIER_RUN) else {
            return Ok(Answer { probe_milliseconds: elapsed(began), ..answer });
        };
        if announced.as_ref() != Some(&facts.jobs) {
            events.send(EventKind::HostBusy { host: host.clone(), jobs: facts.jobs.clone() });
            announced = Some(facts.jobs.clone());
        }
    }
}

async fn probe_once(host: &str, link: &Link, look_at: &LookAt, own_id: &str, seconds: u32) -> Result<Answer, Failure> {
    let nonce = Nonce::new(random_bytes()?);
    // A first probe says who holds the host, and waits for what an earlier run of this controller left at work.
    let before_facts = if look_at.facts.is_some() { section_marker(&nonce) + &look_script(own_id, seconds) } else { String::new() };
    let text = before_facts + &probe_script(&nonce, &look_at.looks, look_at.facts);
    let before = Clock::nanoseconds();
    let waiting = if look_at.facts.is_some() { seconds } else { 0 };
    let deadline = PROBE + Duration::from_secs(waiting.into());
    let limit = look_at.looks.answer_limit(link.cluster_hosts(), look_at.facts.is_some());
    let output = link.scripts().await?.run(Script::new(text).at_most(limit).gathered(), deadline).await;
    let output = output.map_err(|error| Failure::from(error).at(link.place()))?;
    let read = |error: &dyn std::fmt::Display| unreadable(host, &output, error);
    let observations = parse(&nonce, &look_at.looks, &output.stdout).map_err(|error| read(&error))?;
    let facts = look_at.facts.map(|extent| facts::parse(&nonce, extent, &output.stdout)).transpose().map_err(|error| read(&error))?;
    // The host read its clock somewhere between sending and receiving; what lies outside of that interval is skew for certain.
    let (after, theirs) = (Clock::nanoseconds(), observations.clock_nanoseconds);
    let offset = if theirs < before { theirs - before } else { (theirs - after).max(0) };
    let offset_seconds = i64::try_from(offset / 1_000_000_000).unwrap_or(i64::MAX);
    let standing = sections(&nonce, &output.stdout).iter().find(|section| section.name == "holder").map(|section| {
        // Bytes that are no text are no record either, and are not taken for one.
        Standing::parse(&String::from_utf8_lossy(section.body))
    });
    Ok(Answer { host: host.to_owned(), facts, standing, observations, offset_seconds, probe_milliseconds: 0 })
}

fn unreadable(host: &str, output: &Output, error: &dyn std::fmt::Display) -> Failure {
    let failure = Failure::new(Kind::Host, error.to_string()).at(format!("host {host}"));
    match output.reason() {
        Some(reason) => failure.because(reason),
        None => failure.hint("this is a defect of kokctl, or the host runs something else than Linux with systemd"),
    }
}

/// Looks again at one host.
///
/// # Errors
/// [`Failure`] if it did not answer in the form of a probe.
pub async fn look(host: &str, link: &Arc<Link>, looks: Looks) -> Result<Observations, Failure> {
    let answer = probe_once(host, link, &LookAt { looks, facts: None }, "", 0).await?;
    Ok(answer.observations)
}

#[cfg(test)]
mod tests;
