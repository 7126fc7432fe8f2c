//! A member of etcd that works, as part of the cluster that it is meant for.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{EtcdMember, EtcdPeer, EtcdState, Look, Observations};
use crate::resources::Act;

/// The host's member answers, knows a leader, has a vote, complains of nothing, runs the expected version, and its list has exactly the
/// members of the cluster, each of which was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdMemberReady {
    /// Version without a leading `v`.
    pub version: String,
    /// Names of all members.
    pub members: Vec<String>,
    /// Where members are reached that join after that, and may be in the list by then.
    pub joining: Vec<String>,
}

impl EtcdMemberReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Etcd]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let problem = match seen!(&seen.etcd) {
            EtcdState::Absent => Some("there is no etcd yet".to_owned()),
            EtcdState::NotReady(output) => {
                // What kubectl adds is meant for somebody who typed the address.
                let output = output.trim().lines().next_back().unwrap_or_default().split(" - did you").next().unwrap_or_default();
                Some(format!("etcd does not answer: {output}"))
            }
            EtcdState::Ready(member) => self.problem(member),
        };
        problem.map_or(Verdict::Same, |because| Verdict::differs(ChangeKind::Wait, because))
    }

    fn problem(&self, member: &EtcdMember) -> Option<String> {
        let known: Vec<&EtcdPeer> = member.members.iter().filter(|peer| !self.joining.contains(&peer.peer_url)).collect();
        let unstarted = known.iter().find(|peer| !peer.is_started);
        let named = |name: &&String| member.members.iter().any(|peer| peer.name == **name);
        let missing: Vec<&str> = self.members.iter().filter(|name| !named(name)).map(String::as_str).collect();
        if !member.has_leader {
            Some("the members have not elected a leader: more than half of them have to run".to_owned())
        } else if !member.errors.is_empty() {
            Some(format!("etcd complains: {}", member.errors.join(", ")))
        } else if member.is_learner {
            Some("it only learns, and has no vote yet".to_owned())
        } else if let Some(peer) = unstarted {
            Some(format!("the member {} was never started", if peer.name.is_empty() { "that was added last" } else { &peer.name }))
        } else if !missing.is_empty() {
            Some(format!("its list lacks {}", missing.join(", ")))
        } else if known.len() > self.members.len() {
            Some(format!("its list has {} members, and the cluster {}", member.members.len(), self.members.len()))
        } else if member.version != self.version {
            Some(format!("it runs etcd {}, and the cluster is to have {}", member.version, self.version))
        } else {
            None
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "member of etcd ready".to_owned()
    }
}
