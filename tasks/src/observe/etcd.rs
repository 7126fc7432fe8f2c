//! What a member of etcd says of itself and of the others.
//!
//! Asked on the member's own host, with the certificate that kubeadm makes for health checks: etcd answers JSON beside gRPC on its port for
//! clients (etcd, "gRPC gateway"), and kubectl is the one program of a control plane that can send a request with a certificate. Where etcd is a
//! unit there is etcdctl, whose answers are the same but for numbers that are no texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::parse::{ParseError, Section, body_of, text_of};
use crate::shell::quote;

/// One question for the member, one for its list. Without a certificate and what asks with it, there is no member of ours yet.
pub(super) const SCRIPT: &str = r#"mark etcd-status
if [ -s /etc/etcd/etcd.yaml ] && [ -s /etc/kubernetes/pki/etcd/healthcheck-client.key ] && [ -x /usr/local/bin/etcdctl ]; then
  ask_etcd() {
    /usr/local/bin/etcdctl --endpoints=https://127.0.0.1:2379 --dial-timeout=3s --command-timeout=5s --write-out=json \
      --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
      --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "$@" 2>&1
  }
  if ask_etcd endpoint status; then
    mark etcd-members
    ask_etcd member list --consistency=s
  fi
elif [ -s /etc/kubernetes/pki/etcd/healthcheck-client.key ] && [ -s /etc/kubernetes/manifests/etcd.yaml ] && [ -x /usr/local/bin/kubectl ]; then
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

/// Ids are texts where JSON comes from the gateway, and numbers where it comes from etcdctl.
#[derive(Deserialize)]
struct Header {
    cluster_id: Value,
}

/// etcdctl's answer has one of these for each member that it asks: here for one.
#[derive(Deserialize)]
struct OfEndpoint {
    #[serde(rename = "Status")]
    status: Status,
}

/// Zeros and empty lists are left out of the answer (protobuf's JSON).
#[derive(Deserialize)]
struct Status {
    header: Header,
    #[serde(default)]
    version: String,
    #[serde(default)]
    leader: Value,
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
    let (Some(status), Ok(Members { members })) = (status(text), serde_json::from_str::<Members>(members)) else {
        // Beside what is wrong, etcdctl answers that there is nothing to answer.
        let said = if members.is_empty() { text } else { members }.trim_end_matches("null").trim_end();
        return Ok(EtcdState::NotReady(said.chars().take(1000).collect()));
    };
    let peer = |peer: Peer| EtcdPeer {
        is_started: !peer.client_urls.is_empty(),
        name: peer.name,
        peer_url: peer.peer_urls.into_iter().next().unwrap_or_default(),
    };
    let mut members: Vec<EtcdPeer> = members.into_iter().map(peer).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(EtcdState::Ready(EtcdMember {
        cluster_id: id(&status.header.cluster_id),
        version: status.version,
        has_leader: !matches!(id(&status.leader).as_str(), "" | "0" | "null"),
        is_learner: status.is_learner,
        errors: status.errors,
        members,
    }))
}

fn status(text: &str) -> Option<Status> {
    let of_endpoint = || serde_json::from_str::<Vec<OfEndpoint>>(text).ok()?.into_iter().next().map(|answer| answer.status);
    serde_json::from_str(text).ok().or_else(of_endpoint)
}

fn id(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a member says that works as part of more than half of them.
pub const HEALTHY: &str = "healthy";

/// `/health` of a member reads through its leader. What is asked here matters before the API server is there, and not any more afterwards.
const ASK_ENDPOINT: &str = r#"ask_endpoint() {
  mark etcd-endpoint "$1"
  if [ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]; then echo healthy; return; fi
  [ -s /etc/kubernetes/pki/apiserver-etcd-client.key ] && [ -x /usr/local/bin/kubectl ] || { echo 'nothing can ask it yet'; return; }
  said=$(HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl --server="$1" --request-timeout=3s \
    --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/apiserver-etcd-client.crt \
    --client-key=/etc/kubernetes/pki/apiserver-etcd-client.key get --raw /health 2>&1)
  case $said in *'"health":"true"'*) echo healthy;; *) printf '%s\n' "$said";; esac
}
"#;

pub(super) fn push_endpoints(script: &mut String, urls: &BTreeSet<String>) {
    if !urls.is_empty() {
        script.push_str(ASK_ENDPOINT);
    }
    for url in urls {
        let _ = writeln!(script, "ask_endpoint {}", quote(url));
    }
}

pub(super) fn read_endpoints(sections: &[Section<'_>], urls: &BTreeSet<String>) -> Result<BTreeMap<String, String>, ParseError> {
    let said = |url: &String| Ok((url.clone(), String::from_utf8_lossy(body_of(sections, "etcd-endpoint", url)?).trim().to_owned()));
    urls.iter().map(said).collect()
}
