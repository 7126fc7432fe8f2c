//! Recovery of an etcd that has lost its quorum: when it may begin, and that nothing else is done while it is under way.

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};

use super::{Findings, Scope};
use crate::facts::HostFacts;
use crate::gate::member_url;
use crate::membership::{answering, peer_url};
use crate::observe::{ETCD_HEALTHY, EtcdMember, EtcdState};
use crate::operations::MEMBER_DATA;
use crate::plan::{Refusal, Seen};
use crate::recovery::{Candidate, Course, Origin, Recovery, best};

/// Files of etcd's logs have this length from the beginning on, and a new etcd makes two of them.
const LOGS: u64 = 2 * 64_000_000;

pub(super) fn none(scope: &Scope<'_>, found: &mut Findings) {
    if let Some(refusal) = under_way(scope.facts) {
        found.refuse(refusal);
    }
}

/// Why nothing else is begun on a host.
pub(super) fn under_way(facts: &HostFacts) -> Option<Refusal> {
    let text = facts.recovery.as_ref()?;
    Some(Recovery::parse(text).map_or_else(
        || Refusal::new("a recovery of etcd has begun and not come to its end").because("nobody can tell which").hint(GO_ON),
        |recovery| has_begun(&recovery),
    ))
}

/// How a recovery from a member or a snapshot comes to its end.
const GO_ON: &str =
    "go on with it: `kokctl recover -f FILE --continue`; or take it back, as long as the new etcd was not started, with --undo";

/// Why nothing else is begun while one is under way, and how that one comes to its end: one from a backup needs its backup until the new etcd has its data.
#[must_use]
pub fn has_begun(recovery: &Recovery) -> Refusal {
    let (what, hint) = if recovery.origin.replaces() {
        (
            "a restore of a backup has begun and not come to its end",
            "go on with it: `kokctl restore BACKUP -f FILE --continue`; or take it back, as long as the new etcd was not started: `kokctl recover -f FILE --undo`",
        )
    } else {
        ("a recovery of etcd has begun and not come to its end", GO_ON)
    };
    Refusal::new(what).because(format!("{} has begun it", recovery.id)).hint(hint)
}

/// The recovery that has begun, as all hosts say that say one, with all whom any of them gives up.
///
/// # Errors
/// [`Refusal`] where what a host says is no order of ours, and where they say different ones.
pub fn recovery_of(cluster: &Cluster, seen: &Seen) -> Result<Option<Recovery>, Refusal> {
    let mut all: Option<(Recovery, &str)> = None;
    for host in &cluster.hosts {
        let Some(text) = seen.facts(&host.name).and_then(|facts| facts.recovery.as_deref()) else { continue };
        let Some(recovery) = Recovery::parse(text) else { return Err(unreadable(host)) };
        let (mut known, first) = all.take().unwrap_or((recovery.clone(), &host.name));
        if (&known.id, &known.host, &known.origin) != (&recovery.id, &recovery.host, &recovery.origin) {
            let refusal = Refusal::new("two recoveries of etcd have begun").at(format!("host {first}, {}", host.name));
            let refusal = refusal.because(format!("{first} says {}, and {} says {}", known.id, host.name, recovery.id));
            return Err(refusal.hint(format!("take one of them back: give {first} or {} up with --lost, and add --undo", host.name)));
        }
        known.lost.extend(recovery.lost);
        all = Some((known, first));
    }
    Ok(all.map(|(recovery, _)| recovery))
}

fn unreadable(host: &Host) -> Refusal {
    Refusal::new(format!("what {} says of a recovery can't be read", crate::recovery::MARKER))
        .at(format!("host {} ({})", host.name, host.address))
        .hint("put the file back as another host has it")
}

fn member<'a>(host: &str, seen: &'a Seen) -> Option<&'a EtcdMember> {
    match &seen.observations(host).etcd {
        Some(EtcdState::Ready(member)) if !member.is_learner => Some(member),
        _ => None,
    }
}

/// Whether the member of a host works as part of more than half of them.
#[must_use]
pub fn etcd_works(host: &str, seen: &Seen) -> bool {
    member(host, seen).is_some_and(|member| member.has_leader)
}

/// What keeps a recovery from being begun: that of `lost` hosts somebody works, that etcd does, or will by itself.
#[must_use]
pub fn check_recovery(cluster: &Cluster, lost: &[String], seen: &Seen) -> Vec<Refusal> {
    let mut refusals = check_begins(cluster, lost, seen);
    let working_member = || cluster.etcd_hosts().find(|host| etcd_works(&host.name, seen));
    if let Some(host) = working_member() {
        refusals.push(quorum(host));
    } else {
        refusals.extend(half(cluster, seen));
    }
    refusals
}

/// What keeps a backup from being restored in the place of what there is: the same, but that etcd works.
#[must_use]
pub fn check_restore(cluster: &Cluster, lost: &[String], seen: &Seen) -> Vec<Refusal> {
    check_begins(cluster, lost, seen)
}

fn check_begins(cluster: &Cluster, lost: &[String], seen: &Seen) -> Vec<Refusal> {
    let mut refusals = super::check_strangers(cluster, seen);
    refusals.extend(no_plane(cluster, lost));
    refusals.extend(lost.iter().filter_map(|name| still_there(cluster, name, seen)));
    refusals.extend(unknown_members(cluster, lost, seen));
    refusals
}

/// Members that those of the file know of, and that the file does not have: nobody asks them, nor ends them, and they may have what nobody else has. One that
/// was never started has nothing.
fn unknown_members(cluster: &Cluster, lost: &[String], seen: &Seen) -> Vec<Refusal> {
    let is_known = |url: &str| cluster.etcd_hosts().any(|host| peer_url(host) == url);
    let mut members: Vec<(&str, &str, &str)> = Vec::new();
    for (host, member) in answering(cluster, seen) {
        let started = member.members.iter().filter(|peer| !peer.name.is_empty() && !is_known(&peer.peer_url));
        members.extend(started.map(|peer| (peer.name.as_str(), peer.peer_url.as_str(), host.name.as_str())));
    }
    members.sort_unstable();
    members.dedup_by_key(|(name, url, _)| (*name, *url));
    let is_named = |name: &str| lost.iter().any(|lost| lost == name);
    let strange = |name: &&String| cluster.host(name).is_none() && !members.iter().any(|(member, ..)| member == *name);
    let mut refusals: Vec<Refusal> = lost.iter().filter(strange).map(|name| nobody(name)).collect();
    for (name, url, by) in members.iter().filter(|(name, ..)| !is_named(name)) {
        let refusal = Refusal::new(format!("etcd has a member {name} that the file does not have")).at(format!("host {by}"));
        let refusal =
            refusal.because(format!("the member of {by} knows it, at {url}; what it has, nobody can ask, and nobody would end it"));
        refusals.push(refusal.hint(format!(
            "write its host into the file as it was; or, if it is gone for good, give it up with --lost {name}: what it has and no other member has is lost then"
        )));
    }
    refusals
}

fn nobody(name: &str) -> Refusal {
    let refusal = Refusal::new(format!("{name} is no member of this etcd")).at("--lost");
    refusal.because("the file has no such host, and no member that runs knows one of this name").hint("look at how it is written")
}

/// What keeps a recovery from going on that has begun and has started nothing yet: that etcd works meanwhile, as after a recovery that was taken back in
/// part. What was written there since would be lost; for a restore it was given up.
#[must_use]
pub fn check_goes_on(cluster: &Cluster, recovery: &Recovery, seen: &Seen) -> Option<Refusal> {
    if recovery.origin.replaces() {
        return None;
    }
    if Course::on_host(recovery, &recovery.host, seen)? >= Course::Started {
        return None;
    }
    let host = cluster.etcd_hosts().find(|host| etcd_works(&host.name, seen))?;
    let refusal =
        Refusal::new("etcd works, and the recovery that has begun would put it aside").at(format!("host {} ({})", host.name, host.address));
    let refusal =
        refusal.because("its member has a leader: more than half of the members answer each other, by the data that they had before");
    Some(refusal.hint("take the recovery back: `kokctl recover -f FILE --undo`"))
}

/// What keeps a new etcd from being made: that what it was to be made from is gone.
#[must_use]
pub fn check_source(recovery: &Recovery, seen: &Seen) -> Option<Refusal> {
    let course = Course::on_host(recovery, &recovery.host, seen)?;
    if recovery.origin != Origin::Member || course >= Course::Made {
        return None;
    }
    let observed = seen.observations(&recovery.host);
    let has = |path: &str| observed.paths.get(path).is_some_and(|path| path.present().is_some());
    let kept = recovery.kept_log();
    if has(&kept) || (course < Course::Aside && has(MEMBER_DATA)) {
        return None;
    }
    let place = if course < Course::Aside { MEMBER_DATA } else { &kept };
    let refusal = Refusal::new(format!("what {} had of etcd is gone", recovery.host)).at(format!("host {}", recovery.host));
    let refusal = refusal.because(format!("{place} is not there, and the new etcd was to be made from it"));
    let hint = if course == Course::Untouched {
        "begin once more: `kokctl recover` shows what each has, and takes another one"
    } else {
        "take the recovery back with --undo, and begin once more: that shows what each has, and takes another one"
    };
    Some(refusal.hint(hint))
}

/// Of nothing but members no cluster is made.
fn no_plane(cluster: &Cluster, lost: &[String]) -> Option<Refusal> {
    let stays = |host: &Host| !lost.contains(&host.name);
    let refusal = Refusal::new("no control plane would be left").at("--lost");
    let refusal = refusal.because("all that the file has are given up; etcd alone is no cluster");
    (!cluster.control_planes().any(stays))
        .then(|| refusal.hint("mend one of them first; or make new ones of a backup: `kokctl restore FILE --new-hosts`"))
}

fn quorum(host: &Host) -> Refusal {
    Refusal::new("etcd works, and nothing is recovered that does")
        .at(format!("host {} ({})", host.name, host.address))
        .because("its member has a leader: more than half of the members answer each other")
        .hint("what is broken beside them is made afresh by `kokctl replace`, or leaves by `kokctl remove`")
}

/// More than half of them run, so they may find each other yet.
fn half(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let running: Vec<&Host> = cluster.etcd_hosts().filter(|host| member(&host.name, seen).is_some()).collect();
    let voters = running
        .iter()
        .filter_map(|host| member(&host.name, seen))
        .map(|member| member.members.iter().filter(|peer| !peer.is_learner).count());
    let voters = voters.max()?;
    (running.len() > voters / 2).then(|| {
        let names = listed(running.iter().map(|host| host.name.as_str()));
        Refusal::new("etcd has no leader, and more than half of its members run")
            .at(format!("host {names}"))
            .because(format!("{names} are {} of {voters} members, which can choose a leader by themselves once they reach each other", running.len()))
            .hint("wait a minute and look at `kokctl status`; otherwise look for what keeps them apart: network, firewall, clocks, certificates")
            .passing()
    })
}

/// It may be out of reach from here, and work with others.
fn still_there(cluster: &Cluster, name: &str, seen: &Seen) -> Option<Refusal> {
    let host = cluster.host(name)?;
    let url = member_url(host);
    let says = |other: &&Host| seen.observations(&other.name).etcd_peers.get(&url).is_some_and(|answer| answer == ETCD_HEALTHY);
    let by = cluster.etcd_hosts().find(says)?;
    Some(
        Refusal::new(format!("{name} is not lost"))
            .at(format!("host {name} ({})", host.address))
            .because(format!("{} reaches its member of etcd, which works", by.name))
            .hint("mend the way to that host; etcd has a quorum"),
    )
}

/// What keeps a recovery from being begun with what was chosen.
#[must_use]
pub fn check_chosen(recovery: &Recovery, candidates: &[Candidate]) -> Vec<Refusal> {
    let host = &recovery.host;
    let Some(chosen) = candidates.iter().find(|candidate| candidate.host == *host) else {
        let refusal = Refusal::new(format!("{host} does not answer as a member of etcd of this cluster")).at("--member");
        let names = listed(candidates.iter().map(|candidate| candidate.host.as_str()));
        return vec![refusal.because(format!("those that do are {names}")).hint("name one of these")];
    };
    // What is sent is counted by whoever sends it.
    let Origin::Member = recovery.origin else { return room(host, chosen.free, LOGS).into_iter().collect() };
    let Some(bytes) = chosen.bytes.filter(|_| chosen.has_data()) else { return vec![wiped(chosen, candidates)] };
    let mut refusals: Vec<Refusal> = room(host, chosen.free, 3 * bytes + LOGS).into_iter().collect();
    if let Some(revision) = chosen.revision.filter(|revision| *revision < recovery.least) {
        let refusal = Refusal::new(format!("{host} has less than it had")).at(format!("host {host}"));
        let refusal = refusal.because(format!("its data end with revision {revision}, and had {} when this was agreed to", recovery.least));
        refusals.push(refusal.hint("look at what has become of /var/lib/etcd there, and begin once more: that shows what each has"));
    }
    refusals
}

/// What of a member's data is missing, and who has some.
fn wiped(chosen: &Candidate, candidates: &[Candidate]) -> Refusal {
    let because = match (chosen.bytes, chosen.revision) {
        (Some(_), _) => "nothing was ever written to them, as after /var/lib/etcd was wiped".to_owned(),
        (None, Some(revision)) if chosen.runs => {
            format!("its member runs and speaks of revision {revision}, and /var/lib/etcd/member has no database or no log of it any more")
        }
        _ => "/var/lib/etcd/member has no database or no log of it".to_owned(),
    };
    let others = || candidates.iter().filter(|other| other.host != chosen.host && other.has_data());
    let other = others().max_by_key(|other| (other.revision, other.index));
    let hint = match other {
        Some(other) => match other.revision {
            Some(revision) => format!("take what {} has, up to revision {revision}: --member {}", other.host, other.host),
            None => format!("take what {} has: --member {}", other.host, other.host),
        },
        None => "give a snapshot with --from".to_owned(),
    };
    Refusal::new(format!("{} has no data of etcd", chosen.host)).at("--member").because(because).hint(hint)
}

/// What keeps a snapshot of so many bytes from being restored on a host with so many free ones.
#[must_use]
pub fn room(host: &str, free: u64, needed: u64) -> Option<Refusal> {
    (free < needed).then(|| {
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        Refusal::new(format!("/var/lib/etcd has {} MB free", megabytes(free)))
            .at(format!("host {host}"))
            .because(format!("a new etcd is made beside the data that are kept, which needs {} MB for a while", megabytes(needed)))
            .hint("make room there, or take another member with --member")
    })
}

/// Whose data are taken where nobody has said it.
///
/// # Errors
/// [`Refusal`] where none has any, and where it can't be told who has most.
pub fn check_best(candidates: &[Candidate]) -> Result<&Candidate, Refusal> {
    best(candidates).ok_or_else(|| {
        if !candidates.iter().any(Candidate::has_data) {
            let refusal = Refusal::new("no host that answers has data of etcd")
                .because("/var/lib/etcd/member has a database and its log on none of them, or was never written to");
            return refusal.hint(
                "give a snapshot with --from; `reset` and `remove` have left some in kokctl's folder of the cluster, if they were used",
            );
        }
        Refusal::new("it can't be told which member has most")
            .because("one of them does not run, and its data can't be read; or they are of different etcds")
            .hint("look at what each has, above, and name one with --member")
    })
}
