//! Room in the file of a member of etcd: what it holds for nothing goes, and the alarm of a file that had reached its quota ends. Each is asked of the
//! host's own member (etcd, "Maintenance").

use std::collections::BTreeSet;

use crate::change::{Change, ChangeKind, Verdict};
use crate::observe::{EtcdAlarm, EtcdMember, EtcdState, Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;

/// The file of the host's member is smaller than it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefragmentMember {
    /// Up to this revision, which was the last one, earlier values of keys are given up before, where they are kept still.
    pub compact: Option<u64>,
    /// The bytes that it had.
    pub smaller_than: u64,
}

/// No member says that its file has reached the quota, and etcd takes writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisarmAlarms {
    /// The ids of the members that say so.
    pub members: BTreeSet<u64>,
}

/// Asks the host's own member: by etcdctl where etcd is a unit, by kubectl and etcd's gateway beside an API server. What is long is bounded by the step.
/// The key that is written stands beside those of Kubernetes, and is taken away again; the gateway has keys in base64.
const ASK: &str = r#"if [ -s /etc/etcd/etcd.yaml ] && [ -x /usr/local/bin/etcdctl ]; then
  etcd() {
    /usr/local/bin/etcdctl --endpoints=https://127.0.0.1:2379 --dial-timeout=3s --command-timeout=590s --cacert=/etc/kubernetes/pki/etcd/ca.crt \
      --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "$@"
  }
  compact() { etcd compaction --physical "$1" >/dev/null; }
  defragment() { etcd defrag >/dev/null; }
  # etcdctl ends all alarms at once, and one of data that differ has to be seen.
  disarm() {
    alarms=$(etcd alarm list) || return
    case $alarms in *CORRUPT*) echo "a member has data that differ from the others': $alarms" >&2; return 1 ;; esac
    etcd alarm disarm >/dev/null
  }
  write_and_delete() { etcd put kokctl.io/written kokctl >/dev/null && etcd del kokctl.io/written >/dev/null; }
else
  etcd() {
    printf '%s\n' "$2" | HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl --server=https://127.0.0.1:2379 --request-timeout=590s \
      --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
      --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key create --raw "$1" -f - >/dev/null
  }
  compact() { etcd /v3/kv/compaction "{\"revision\":\"$1\",\"physical\":true}"; }
  defragment() { etcd /v3/maintenance/defragment '{}'; }
  disarm() {
    for id; do etcd /v3/maintenance/alarm "{\"action\":\"DEACTIVATE\",\"memberID\":\"$id\",\"alarm\":\"NOSPACE\"}" || return; done
  }
  write_and_delete() {
    etcd /v3/kv/put '{"key":"a29rY3RsLmlvL3dyaXR0ZW4=","value":"a29rY3Rs"}' && etcd /v3/kv/deleterange '{"key":"a29rY3RsLmlvL3dyaXR0ZW4="}'
  }
fi
"#;

fn script(line: &str) -> Act {
    let mut fragment = Fragment::text(ASK);
    fragment.line(line);
    Act::Script(fragment)
}

/// What the host's member says, or that it says nothing.
fn member(seen: &Observations) -> Result<&EtcdMember, Verdict> {
    match &seen.etcd {
        None => Err(Verdict::Unseen),
        Some(EtcdState::Ready(member)) => Ok(member),
        Some(EtcdState::NotReady(output)) => Err(Verdict::differs(ChangeKind::Wait, format!("etcd does not answer: {}", output.trim()))),
        Some(EtcdState::Absent) => Err(Verdict::differs(ChangeKind::Wait, "there is no member of etcd")),
    }
}

/// Bytes in MiB, with one digit behind the point.
pub(crate) fn mebibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

impl DefragmentMember {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Etcd]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match member(seen) {
            Err(verdict) => verdict,
            Ok(member) if member.size < self.smaller_than => Verdict::Same,
            Ok(member) => {
                let (size, in_use) = (mebibytes(member.size), mebibytes(member.in_use));
                Verdict::differs(ChangeKind::Write, format!("its file has {size}, of which {in_use} are in use"))
            }
        }
    }

    /// That earlier values are gone already is no failure: what counts is the file, in the end.
    pub(super) fn act(&self, _: &Change) -> Act {
        let compact = self.compact.map(|revision| format!("compact {revision} || :\n")).unwrap_or_default();
        script(&format!("{compact}defragment"))
    }

    pub(super) fn title(&self) -> String {
        "etcd's file without what it holds for nothing".to_owned()
    }
}

impl DisarmAlarms {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Etcd]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match member(seen) {
            Err(verdict) => verdict,
            Ok(member) if member.alarms().all(|(_, alarm)| alarm != EtcdAlarm::NoSpace) => Verdict::Same,
            Ok(_) => Verdict::differs(ChangeKind::Close, "etcd takes nothing new: NOSPACE"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let ids: Vec<String> = self.members.iter().map(u64::to_string).collect();
        script(&format!("disarm {} && write_and_delete", ids.join(" ")))
    }

    pub(super) fn title(&self) -> String {
        "etcd takes writes".to_owned()
    }
}
