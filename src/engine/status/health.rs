//! Whether API servers and members of etcd are well.

use std::fmt;

use kok_crds::count;
use kok_crds::model::Cluster;
use kok_tasks::observe::{EtcdState, KubernetesState};
use kok_tasks::operations::{said_briefly, without_means};
use kok_tasks::plan::Seen;
use serde::{Serialize, Serializer};

use super::is_ours;

/// How an API server is. Shown and serialized as a text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiServerHealth {
    /// Its host could not be asked.
    Unknown,
    /// Its host belongs to another cluster.
    Foreign,
    /// It is not there.
    NotInstalled,
    /// What would ask it is not there, though it may be: why.
    NotAsked(&'static str),
    /// It says that it is not ready, or does not answer.
    NotReady(String),
    /// It is ready, and does not answer questions.
    Unanswered(String),
    /// It is ready.
    Ready,
}

impl ApiServerHealth {
    pub(super) fn from_seen(cluster: &Cluster, seen: &Seen, host: &str) -> Self {
        match seen.facts(host).map(|facts| facts.cluster.as_ref()) {
            None => return Self::Unknown,
            Some(Some(owner)) if *owner != cluster.name => return Self::Foreign,
            Some(_) => {}
        }
        match seen.observations(host).kubernetes.as_ref().filter(|_| is_ours(cluster, seen, host)) {
            None | Some(KubernetesState::Absent) => without_means(seen.observations(host)).map_or(Self::NotInstalled, Self::NotAsked),
            Some(KubernetesState::NotReady(output)) => {
                Self::NotReady(said_briefly(output).trim_start_matches("the API server ").to_owned())
            }
            Some(KubernetesState::Unanswered(output)) => Self::Unanswered(output.lines().next().unwrap_or_default().to_owned()),
            Some(KubernetesState::Ready { .. }) => Self::Ready,
        }
    }
}

impl fmt::Display for ApiServerHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown: the control plane could not be asked"),
            Self::Foreign => f.write_str("none of this cluster"),
            Self::NotInstalled => f.write_str("not installed"),
            Self::NotAsked(why) => f.write_str(why),
            Self::NotReady(output) => f.write_str(output),
            Self::Unanswered(output) => write!(f, "ready, but it does not answer questions: {output}"),
            Self::Ready => f.write_str("ready"),
        }
    }
}

impl Serialize for ApiServerHealth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How a member of etcd is. Shown and serialized as a text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EtcdHealth {
    /// Its host could not be asked.
    Unknown,
    /// It is not there, or is another cluster's.
    NotInstalled,
    /// It says that it is not ready, or does not answer.
    NotReady(String),
    /// It answers, and the members have no leader.
    NoLeader,
    /// It answers, and has no vote until it has caught up.
    Learns,
    /// It answers, with these errors.
    Complains(Vec<String>),
    /// It is a member, and has a leader.
    Ready {
        /// How many members it knows.
        members: usize,
        /// Its version.
        version: String,
    },
}

impl EtcdHealth {
    pub(super) fn from_seen(cluster: &Cluster, seen: &Seen, host: &str) -> Self {
        match seen.observations(host).etcd.as_ref().filter(|_| is_ours(cluster, seen, host)) {
            None if seen.facts(host).is_none() => Self::Unknown,
            None | Some(EtcdState::Absent) => Self::NotInstalled,
            Some(EtcdState::NotReady(output)) => Self::NotReady(output.lines().next_back().unwrap_or_default().to_owned()),
            Some(EtcdState::Ready(member)) if !member.has_leader => Self::NoLeader,
            Some(EtcdState::Ready(member)) if !member.errors.is_empty() => Self::Complains(member.errors.clone()),
            Some(EtcdState::Ready(member)) if member.is_learner => Self::Learns,
            Some(EtcdState::Ready(member)) => Self::Ready { members: member.members.len(), version: member.version.clone() },
        }
    }

    /// Whether nothing is wrong with it.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready { .. })
    }
}

impl fmt::Display for EtcdHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::NotInstalled => f.write_str("not installed"),
            Self::NotReady(output) => write!(f, "not ready: {output}"),
            Self::NoLeader => f.write_str("not ready: the members have no leader"),
            Self::Learns => f.write_str("learns what the others have, and has no vote yet; `kokctl apply` goes on with it"),
            Self::Complains(errors) => write!(f, "complains: {}", errors.join(", ")),
            Self::Ready { members, version } => write!(f, "ready, {}, {version}", count(*members, "member")),
        }
    }
}

impl Serialize for EtcdHealth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
