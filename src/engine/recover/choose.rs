//! What a recovery begins with, of what there is.

use kok_crds::listed;
use kok_tasks::artifact::Artifact;
use kok_tasks::plan::Refusal;
use kok_tasks::preconditions::{check_best, check_chosen};
use kok_tasks::recovery::{Candidate, Origin, Recovery};

use super::super::converge::Survey;
use super::snapshot::room;
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;

/// What is said of a recovery before it begins.
pub struct RecoveryChoice<'a> {
    /// Its name.
    pub id: String,
    /// The host whose data are taken, or on which a snapshot is restored.
    pub member: Option<&'a str>,
    /// Hosts that are given up.
    pub lost: &'a [String],
    /// What it is made from.
    pub origin: Origin,
    /// What is sent, where it is made from that.
    pub snapshot: Option<&'a Artifact>,
}

/// As revisions go on while etcd works, they are counted to the next of so many: the plan stays the one that somebody has read, and the new etcd begins a
/// billion further anyway.
const COUNTED_BY: u64 = 1_000_000;

/// The name of a recovery that somebody begins now.
///
/// # Errors
/// [`Failure`] if the system gives no randomness.
pub fn recovery_id() -> Result<String, Failure> {
    Ok(format!("{}-{}", Clock::compact(), hex::encode(random_bytes::<2>()?)))
}

impl Survey {
    /// The recovery that is begun: from the member with most of it where nobody says another, and a snapshot on the first host with room for it.
    ///
    /// # Errors
    /// Why none may begin, or not with that.
    pub fn choose(&self, wanted: &RecoveryChoice<'_>) -> Result<Recovery, Vec<Failure>> {
        let host_failure = |refusal| Failure::refusal(Kind::Host, refusal);
        let candidates = &self.candidates;
        let host = match (wanted.member, wanted.snapshot) {
            (Some(member), _) => member.to_owned(),
            (None, Some(snapshot)) => with_room(snapshot, candidates).map(|candidate| candidate.host.clone()).unwrap_or_default(),
            (None, None) => check_best(candidates).map_err(|refusal| vec![host_failure(refusal)])?.host.clone(),
        };
        let revision = candidates.iter().find(|candidate| candidate.host == host).and_then(|candidate| candidate.revision);
        let least = revision.filter(|_| wanted.origin == Origin::Member).unwrap_or_default();
        let newest = candidates.iter().filter_map(|candidate| candidate.revision).max().unwrap_or_default();
        let newest = if wanted.origin.replaces() { newest.next_multiple_of(COUNTED_BY) } else { newest };
        let (id, origin, lost) = (wanted.id.clone(), wanted.origin.clone(), wanted.lost.iter().cloned().collect());
        let recovery = Recovery { id, host, origin, least, newest, lost };
        let mut refusals: Vec<Refusal> = check_chosen(&recovery, candidates);
        refusals.extend(wanted.snapshot.and_then(|snapshot| room(snapshot, &recovery.host, candidates)));
        if refusals.is_empty() { Ok(recovery) } else { Err(refusals.into_iter().map(host_failure).collect()) }
    }

    /// What is going to happen, and what is lost by it.
    #[must_use]
    pub fn loss(&self, recovery: &Recovery) -> String {
        let Recovery { host, origin, lost, .. } = recovery;
        let still = listed(self.parties.iter().map(String::as_str));
        let revision = self.candidates.iter().find(|candidate| candidate.host == *host).and_then(|candidate| candidate.revision);
        let from = match (origin, revision) {
            (Origin::Snapshot { .. }, _) => format!("the snapshot, on {host}: ALL THAT WAS WRITTEN SINCE IT WAS TAKEN IS LOST"),
            (Origin::Backup { is_elsewhere: false, .. }, _) => {
                format!("the backup, on {host}: ALL THAT WAS WRITTEN SINCE IT WAS MADE IS LOST")
            }
            (Origin::Backup { is_elsewhere: true, .. }, _) => format!(
                "the backup, on {host}: all that was written here is lost; the hosts of before are no nodes any more, and their pods are started on those of the file"
            ),
            (Origin::Member, Some(revision)) => {
                format!("what {host} has, up to revision {revision}, and what else stands in its log: WHAT ONLY OTHER MEMBERS HAD IS LOST")
            }
            (Origin::Member, None) => format!("what {host} has: WHAT ONLY OTHER MEMBERS HAD IS LOST"),
        };
        let names = || listed(lost.iter().map(String::as_str));
        let gone = match lost.len() {
            0 => String::new(),
            1 => format!(" {} is no part of the cluster any more, and kept out.", names()),
            _ => format!(" {} are no part of the cluster any more, and kept out.", names()),
        };
        format!(
            "API servers and etcd end on {still}; what each has of etcd is kept there as it is, in {}. A new etcd is made from {from}. The others join it.{gone}",
            recovery.kept()
        )
    }
}

/// The first one with room for a snapshot, or the one with most of it: that can't change from one look to the next as long as somebody has enough.
fn with_room<'a>(snapshot: &Artifact, candidates: &'a [Candidate]) -> Option<&'a Candidate> {
    let first = candidates.iter().find(|candidate| room(snapshot, &candidate.host, candidates).is_none());
    first.or_else(|| candidates.iter().max_by_key(|candidate| candidate.free))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::super::converge::RecoveryStanding;
    use super::*;

    fn candidate(host: &str, revision: u64, free: u64) -> Candidate {
        Candidate { host: host.to_owned(), runs: true, revision: Some(revision), bytes: Some(1), free, ..Candidate::default() }
    }

    fn survey(candidates: Vec<Candidate>) -> Survey {
        let parties = candidates.iter().map(|candidate| candidate.host.clone()).collect();
        Survey { candidates, parties, refused: Vec::new(), standing: RecoveryStanding::NotBegun }
    }

    fn of_backup() -> Origin {
        Origin::Backup { sha256: "a".repeat(64), is_elsewhere: false }
    }

    fn choice(origin: Origin, snapshot: Option<&Artifact>) -> RecoveryChoice<'_> {
        RecoveryChoice { id: "r".to_owned(), member: None, lost: &[], origin, snapshot }
    }

    fn snapshot() -> Artifact {
        let (title, path, sha256) = ("a".to_owned(), "/s.db".to_owned(), "a".repeat(64));
        Artifact { title, path, size: 1, sha256, supply: kok_tasks::artifact::Supply::Sent }
    }

    /// Somebody reads the plan and approves exactly that, while the cluster goes on.
    #[test]
    fn what_a_restore_begins_with_stays_the_same_while_etcd_goes_on() {
        let snapshot = snapshot();
        let chosen = |revision, free: [u64; 2]| {
            let [first, second] = free.map(|megabytes| megabytes * 1_000_000);
            let members = vec![candidate("cp1", revision, first), candidate("cp2", revision, second)];
            survey(members).choose(&choice(of_backup(), Some(&snapshot))).unwrap()
        };
        assert_eq!(chosen(4_000, [5_000, 6_000]), chosen(4_100, [6_000, 5_000]));
        assert!(chosen(1_000_001, [5_000, 6_000]).newest >= 1_000_001);
        assert_eq!(chosen(4_000, [50, 6_000]).host, "cp2", "the first with room for it");
    }

    #[test]
    fn a_recovery_takes_what_has_most_and_counts_it_exactly() {
        let survey = survey(vec![candidate("cp1", 41, 1_000_000_000), candidate("cp2", 42, 1_000_000_000)]);
        let recovery = survey.choose(&choice(Origin::Member, None)).unwrap();
        assert_eq!((recovery.host.as_str(), recovery.least, recovery.newest), ("cp2", 42, 42));
    }

    #[test]
    fn what_is_lost_is_said() {
        let recovery =
            |origin| Recovery { id: "r".to_owned(), host: "cp2".to_owned(), origin, least: 0, newest: 0, lost: ["cp1".to_owned()].into() };
        let survey = survey(vec![candidate("cp2", 42, 0), candidate("cp4", 1, 0)]);
        let said = survey.loss(&recovery(Origin::Member));
        assert!(said.starts_with("API servers and etcd end on cp2, cp4; "), "{said}");
        assert!(said.contains("up to revision 42") && said.contains("/var/lib/etcd/before-r") && said.contains("cp1 is no part"), "{said}");
        assert!(survey.loss(&recovery(Origin::Snapshot { sha256: String::new() })).contains("SINCE IT WAS TAKEN"));
        assert!(survey.loss(&recovery(of_backup())).contains("SINCE IT WAS MADE"));
    }
}
