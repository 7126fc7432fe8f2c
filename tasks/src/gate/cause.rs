//! Why the gate does not let something through. Behaviour hangs on the kind; the words are derived.

use std::fmt;
use std::time::Duration;

use kok_crds::{counted, listed};

use super::rules::{MOST_BEHIND, MOST_VOTERS};
use super::{Disruption, MemberState};
use crate::observe::EtcdAlarm;

/// How long what nobody can say for certain may stay so.
const DOUBT: Duration = Duration::from_secs(60);

/// A machine that is started anew is back by then: so long a lost connection is tried to be opened again, too (`PATIENCE` of `src/run/link.rs`).
const AWAY: Duration = Duration::from_secs(120);

/// Why something may not be disturbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Something else is under way.
    UnderWay(Vec<Disruption>),
    /// Members on these hosts know different members.
    ListsDiffer(Vec<String>),
    /// The data of this member are not those of the others.
    Corrupt(String),
    /// etcd has no room left on this member.
    NoSpace(String),
    /// This member still learns.
    Learner(String),
    /// This member was announced and never started.
    NeverStarted(String),
    /// Too few voters would be left.
    Ill {
        /// Those that don't vote.
        members: Vec<Ill>,
        /// How many voters there are.
        voters: usize,
        /// How many of them would vote.
        healthy: usize,
        /// How many have to be left.
        need: usize,
    },
    /// There are two members, and losing either stops the cluster.
    TwoMembers,
    /// There are as many voters as there may be.
    TooMany(usize),
    /// This is the last member.
    LastMember(String),
    /// This member leads.
    Leads(String),
    /// No list has this member.
    NotListed(String),
    /// The member that is to get a vote does not work.
    NotWell(String),
    /// The member that is to get a vote can't work, for its host can't be reached.
    HostAway(String),
    /// The member that is to get a vote is behind.
    Behind {
        /// The member.
        member: String,
        /// By so many entries.
        entries: u64,
    },
    /// The member that is to go is not what it is taken for.
    NotSo {
        /// The member.
        member: String,
        /// How it is.
        state: MemberState,
    },
    /// None of the other API servers is ready.
    OnlyApiServer {
        /// The one that is ready.
        host: String,
        /// The others.
        others: Vec<String>,
    },
    /// As many nodes are away as may be.
    NodesAway {
        /// Those.
        nodes: Vec<String>,
        /// How many may be.
        serial: usize,
    },
    /// No API server says which nodes there are.
    NodesUnknown,
}

/// A voter that does not vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ill {
    /// Its host, or its id.
    pub name: String,
    /// How it is.
    pub state: MemberState,
}

impl Cause {
    /// How long it may last before it is taken for certain; nothing for what may last as long as the step may.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        match self {
            Self::ListsDiffer(_) | Self::Ill { .. } | Self::NotSo { .. } => Some(DOUBT),
            Self::HostAway(_) => Some(AWAY),
            _ => None,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::ListsDiffer(_) => "see `etcdctl member list` on each of them".to_owned(),
            Self::Corrupt(_) => "which data are right is for a person to say: docs/etcd.md".to_owned(),
            Self::NoSpace(_) => "`kokctl etcd alarm -f FILE --disarm` makes room and ends the alarm: docs/etcd.md".to_owned(),
            Self::NeverStarted(member) => format!("`kokctl apply` goes on with {member}, if the file has it; or `kokctl remove` it"),
            Self::Ill { members, .. } => {
                format!("mend etcd on {} first", listed(members.iter().map(|ill| ill.name.as_str())))
            }
            Self::HostAway(member) => format!(
                "bring {member} back, and run it again; or, if it is gone for good, `kokctl remove -f FILE {member} --dead`: until then no other member can join"
            ),
            Self::TwoMembers => "give the cluster a third member, or take one away".to_owned(),
            Self::OnlyApiServer { others, .. } => format!("mend the API server on {} first", listed(others.iter().map(String::as_str))),
            Self::NodesAway { nodes, .. } => {
                format!("mend {} first, or leave it out of the cluster", listed(nodes.iter().map(String::as_str)))
            }
            _ => "run it again when that is over".to_owned(),
        }
    }
}

impl fmt::Display for Disruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddLearner { host } => write!(f, "a member is added on {host}"),
            Self::Promote { host } => write!(f, "the member of {host} gets its vote"),
            Self::RemoveMember { member, .. } => write!(f, "the member {member:x} is removed"),
            Self::MoveLeader { from } => write!(f, "another member than {from:x} is to lead"),
            Self::RestartMember { host } => write!(f, "etcd is started anew on {host}"),
            Self::RestartApiServer { host } => write!(f, "the API server is started anew on {host}"),
            Self::StopHost { host } => write!(f, "{host} is stopped"),
            Self::Defragment { host } => write!(f, "etcd's data are defragmented on {host}"),
            Self::DrainWorker { host } => write!(f, "{host} is drained"),
            Self::RestartKubelet { host } => write!(f, "the kubelet is started anew on {host}"),
        }
    }
}

impl fmt::Display for MemberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Healthy => "healthy",
            Self::Alarmed(EtcdAlarm::NoSpace) => "out of space",
            Self::Alarmed(EtcdAlarm::Corrupt) => "corrupt",
            Self::Doubtful => "not known to work",
            Self::Dead => "dead",
            Self::Unstarted => "never started",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: &[String]| listed(names.iter().map(String::as_str));
        match self {
            Self::UnderWay(others) => match others.first() {
                Some(other) => write!(f, "one at a time: {other}"),
                None => f.write_str("one at a time"),
            },
            Self::ListsDiffer(hosts) => write!(f, "the members of etcd on {} know different members", names(hosts)),
            Self::Corrupt(member) => write!(f, "etcd says that the data of {member} are corrupt"),
            Self::NoSpace(member) => write!(f, "etcd has no space left on {member}"),
            Self::Learner(member) => write!(f, "etcd's member {member} still learns, and has no vote"),
            Self::NeverStarted(member) => write!(f, "etcd's member {member} was never started"),
            Self::Ill { members, voters, healthy, need } => {
                let ill: Vec<String> = members.iter().map(|ill| format!("{} is {}", ill.name, ill.state)).collect();
                let voting = counted(*voters, "member", "members");
                write!(f, "{healthy} of etcd's {voting} would vote, and {need} have to")?;
                if ill.is_empty() { Ok(()) } else { write!(f, ": {}", ill.join(", ")) }
            }
            Self::TwoMembers => f.write_str("etcd has 2 members, and losing either stops the cluster"),
            Self::TooMany(voters) => write!(f, "etcd has {voters} members, and {MOST_VOTERS} are the most"),
            Self::LastMember(member) => write!(f, "{member} is the last member of etcd"),
            Self::Leads(member) => write!(f, "{member} leads etcd: another one has to, first"),
            Self::NotListed(member) => write!(f, "etcd has no member {member}"),
            Self::NotWell(member) => write!(f, "the member {member}, which is to get a vote, does not work yet"),
            Self::HostAway(host) => write!(f, "{host}, whose member is to get a vote, can't be reached"),
            Self::Behind { member, entries } => {
                write!(f, "the member {member} is {entries} entries behind the leader, and gets a vote at {MOST_BEHIND}")
            }
            Self::NotSo { member, state } => write!(f, "the member {member} is {state}"),
            Self::OnlyApiServer { host, others } => {
                write!(f, "{host} has the only API server that is ready; {} should have one, too", names(others))
            }
            Self::NodesAway { nodes, serial } => {
                write!(f, "{} not Ready, or drained now, and {serial} at a time may be away", are(nodes.len(), &names(nodes)))
            }
            Self::NodesUnknown => f.write_str("no API server says which nodes are Ready"),
        }
    }
}

fn are(count: usize, names: &str) -> String {
    format!("{names} {}", if count == 1 { "is" } else { "are" })
}
