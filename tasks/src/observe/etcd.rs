//! What a member of etcd says of itself and of the others.
//!
//! Asked on the member's own host, with the certificate that kubeadm makes for health checks: etcd answers JSON beside gRPC on its port for
//! clients (etcd, "gRPC gateway"), and kubectl is the one program there that can send a request with a certificate.

use serde::Deserialize;

use super::parse::{ParseError, Section, text_of};

/// One question for the member, one for its list. Without a certificate or kubectl there is no member of ours yet.
pub(super) const SCRIPT: &str = r#"mark etcd-status
if [ -s /etc/kubernetes/pki/etcd/healthcheck-client.key ] && [ -s /etc/kubernetes/manifests/etcd.yaml ] && [ -x /usr/local/bin/kubectl ]; then
  ask_etcd() {
    echo '{}' | HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl --server=https://127.0.0.1:2379 --request-timeout=5s \
      --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
      --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key create --raw "$1" -f - 2>&1
  }
  if ask_etcd /v3/maintenance/status; then
    mark etcd-members
    ask_etcd /v3/cluster/member/list
  fi
else
  echo absent
fi
"#;

/// A member of etcd, as it shows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EtcdState {
    /// Nothing of it was set up yet.
    Absent,
    /// It doesn't answer; what was said instead.
    NotReady(String),
    /// It answers.
    Ready(EtcdMember),
}

/// What a member says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdMember {
    /// The id of the cluster that it belongs to.
    pub cluster_id: String,
    /// Its version, without a leading `v`.
    pub version: String,
    /// Whether the cluster has a leader that it knows of.
    pub has_leader: bool,
    /// Whether it only learns, and has no vote.
    pub is_learner: bool,
    /// What it complains of (`NOSPACE`, `CORRUPT` …).
    pub errors: Vec<String>,
    /// All members that it knows of, by name.
    pub members: Vec<EtcdPeer>,
}

/// An entry in a member's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdPeer {
    /// Name of the member; empty while one that was added was never started.
    pub name: String,
    /// Where the others reach it.
    pub peer_url: String,
    /// Whether it has been started at least once.
    pub is_started: bool,
}

impl EtcdPeer {
    /// As in etcd's `--initial-cluster`: `NAME=URL`.
    #[must_use]
    pub fn listed(&self) -> String {
        format!("{}={}", if self.name.is_empty() { "(not started)" } else { &self.name }, self.peer_url)
    }
}

#[derive(Deserialize)]
struct Header {
    cluster_id: String,
}

/// Zeros and empty lists are left out of the answer (protobuf's JSON).
#[derive(Deserialize)]
struct Status {
    header: Header,
    #[serde(default)]
    version: String,
    #[serde(default)]
    leader: String,
    #[serde(default, rename = "isLearner")]
    is_learner: bool,
    #[serde(default)]
    errors: Vec<String>,
}

#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    members: Vec<Peer>,
}

#[derive(Deserialize)]
struct Peer {
    #[serde(default)]
    name: String,
    #[serde(default, rename = "clientURLs")]
    client_urls: Vec<String>,
    #[serde(default, rename = "peerURLs")]
    peer_urls: Vec<String>,
}

pub(super) fn read(sections: &[Section<'_>]) -> Result<EtcdState, ParseError> {
    let text = text_of(sections, "etcd-status")?.trim();
    if text == "absent" {
        return Ok(EtcdState::Absent);
    }
    let members = text_of(sections, "etcd-members").unwrap_or_default().trim();
    // A member that does not answer, or went away between the two questions, has said something else.
    let (Ok(status), Ok(Members { members })) = (serde_json::from_str::<Status>(text), serde_json::from_str::<Members>(members)) else {
        return Ok(EtcdState::NotReady(if members.is_empty() { text } else { members }.chars().take(1000).collect()));
    };
    let peer = |peer: Peer| EtcdPeer {
        is_started: !peer.client_urls.is_empty(),
        name: peer.name,
        peer_url: peer.peer_urls.into_iter().next().unwrap_or_default(),
    };
    let mut members: Vec<EtcdPeer> = members.into_iter().map(peer).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(EtcdState::Ready(EtcdMember {
        cluster_id: status.header.cluster_id,
        version: status.version,
        has_leader: !matches!(status.leader.as_str(), "" | "0"),
        is_learner: status.is_learner,
        errors: status.errors,
        members,
    }))
}
