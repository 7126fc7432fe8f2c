//! What a member of etcd says of itself and of the others.
//!
//! Asked on the member's own host, with the certificate that kubeadm makes for health checks: etcd answers JSON beside gRPC on its port for
//! clients (etcd, "gRPC gateway"), and kubectl is the one program of a control plane that can send a request with a certificate. Where etcd is a
//! unit there is etcdctl, whose answers are the same but for numbers that are no texts. Where there is curl it asks both questions in a tenth of the
//! time; what it gets no answer to kubectl asks again, so that what is said of a member that is not well is the same on every host.

use serde::Deserialize;
use serde_json::Value;

use super::parse::{ParseError, Section, text_of};

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
  newline='
'
  answers=$(curl -q -sf --max-time 3 --noproxy '*' --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/healthcheck-client.crt \
    --key /etc/kubernetes/pki/etcd/healthcheck-client.key -d '{}' -w '\n' https://127.0.0.1:2379/v3/maintenance/status \
    https://127.0.0.1:2379/v3/cluster/member/list 2>/dev/null)
  case $answers in
    '{'*"$newline{"*)
      printf '%s\n' "${answers%%"$newline"*}"
      mark etcd-members
      printf '%s\n' "${answers#*"$newline"}";;
    *)
      if ask_etcd /v3/maintenance/status; then
        mark etcd-members
        ask_etcd /v3/cluster/member/list
      fi;;
  esac
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdMember {
    /// The id of the cluster that it belongs to.
    pub cluster_id: String,
    /// Its own id in that cluster; 0 if it has not said it.
    pub id: u64,
    /// The id of the leader that it knows of; 0 if it knows of none.
    pub leader: u64,
    /// The term of that leader.
    pub term: u64,
    /// The last entry of the log that it has applied.
    pub applied_index: u64,
    /// The revision of its data.
    pub revision: u64,
    /// Bytes of its data's file.
    pub size: u64,
    /// Bytes of it that are in use; the rest is freed by defragmenting.
    pub in_use: u64,
    /// Bytes that the file may have; nothing from versions that don't say it.
    pub quota: Option<u64>,
    /// Its version, without a leading `v`.
    pub version: String,
    /// Whether the cluster has a leader that it knows of.
    pub has_leader: bool,
    /// Whether it only learns, and has no vote.
    pub is_learner: bool,
    /// What it complains of (`NOSPACE`, `CORRUPT` …): alarms of all members, and what is wrong with itself.
    pub errors: Vec<String>,
    /// All members that it knows of, by name; none from one that only learns.
    pub members: Vec<EtcdPeer>,
}

/// An alarm of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EtcdAlarm {
    /// Its file has reached the quota: the cluster takes nothing new.
    NoSpace,
    /// Its data are not those of the others.
    Corrupt,
}

impl EtcdMember {
    /// The alarms that it tells of, each with the id of the member that has it. An alarm without an id that can be read is its own.
    pub fn alarms(&self) -> impl Iterator<Item = (u64, EtcdAlarm)> {
        self.errors.iter().filter_map(|error| {
            let alarm = match error {
                error if error.contains("CORRUPT") => EtcdAlarm::Corrupt,
                error if error.contains("NOSPACE") => EtcdAlarm::NoSpace,
                _ => return None,
            };
            let number = error.split_once("memberID:").map(|(_, rest)| rest.trim_start()).unwrap_or_default();
            let digits = number.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(number.len());
            Some((number.get(..digits).and_then(|id| id.parse().ok()).unwrap_or(self.id), alarm))
        })
    }
}

/// An entry in a member's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdPeer {
    /// Its id.
    pub id: u64,
    /// Whether it only learns, and has no vote.
    pub is_learner: bool,
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
    #[serde(default)]
    member_id: Value,
    #[serde(default)]
    revision: Value,
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
    #[serde(default, rename = "raftTerm")]
    term: Value,
    #[serde(default, rename = "raftAppliedIndex")]
    applied_index: Value,
    #[serde(default, rename = "dbSize")]
    size: Value,
    #[serde(default, rename = "dbSizeInUse")]
    in_use: Value,
    #[serde(default, rename = "dbSizeQuota")]
    quota: Value,
    #[serde(default, rename = "isLearner")]
    is_learner: bool,
    #[serde(default)]
    errors: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Members {
    #[serde(default)]
    members: Vec<Peer>,
}

#[derive(Deserialize)]
struct Peer {
    #[serde(default, rename = "ID")]
    id: Value,
    #[serde(default, rename = "isLearner")]
    is_learner: bool,
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
    let (status, list) = (status(text), serde_json::from_str::<Members>(members));
    // Who only learns is asked for no list (etcd: "rpc not supported for learner").
    let list = if status.as_ref().is_some_and(|status| status.is_learner) { Ok(list.unwrap_or_default()) } else { list };
    let (Some(status), Ok(Members { members })) = (status, list) else {
        // Beside what is wrong, etcdctl answers that there is nothing to answer.
        let answer = if members.is_empty() { text } else { members }.trim_end_matches("null").trim_end();
        return Ok(EtcdState::NotReady(answer.chars().take(1000).collect()));
    };
    if members.len() > MOST_MEMBERS {
        return Ok(EtcdState::NotReady(format!("its list has {} members", members.len())));
    }
    let peer = |peer: Peer| EtcdPeer {
        id: number(&peer.id).unwrap_or_default(),
        is_learner: peer.is_learner,
        is_started: !peer.client_urls.is_empty(),
        name: peer.name,
        peer_url: peer.peer_urls.into_iter().next().unwrap_or_default(),
    };
    let mut members: Vec<EtcdPeer> = members.into_iter().map(peer).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(EtcdState::Ready(member_of(status, members)))
}

/// What a member says, with the list that it knows.
fn member_of(status: Status, members: Vec<EtcdPeer>) -> EtcdMember {
    let count = |value: &Value| number(value).unwrap_or_default();
    EtcdMember {
        cluster_id: id(&status.header.cluster_id),
        id: count(&status.header.member_id),
        leader: count(&status.leader),
        term: count(&status.term),
        applied_index: count(&status.applied_index),
        revision: count(&status.header.revision),
        size: count(&status.size),
        in_use: count(&status.in_use),
        quota: number(&status.quota),
        has_leader: !matches!(id(&status.leader).as_str(), "" | "0" | "null"),
        version: status.version,
        is_learner: status.is_learner,
        errors: status.errors,
        members,
    }
}

fn status(text: &str) -> Option<Status> {
    let of_endpoint = || serde_json::from_str::<Vec<OfEndpoint>>(text).ok()?.into_iter().next().map(|answer| answer.status);
    serde_json::from_str(text).ok().or_else(of_endpoint)
}

/// No etcd works with more members than a few; a list of more is none.
const MOST_MEMBERS: usize = 100;

/// A number that may be written as text. Nothing where there is none, or none that etcd could have.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn id(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a member says that works as part of more than half of them.
pub const HEALTHY: &str = "healthy";
