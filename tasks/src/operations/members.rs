//! Who is a member of etcd: one is announced, gets its vote, gives the lead away, leaves. Each is asked of another member than the one that it is about,
//! on that one's host; what is said of it is what that member's list says afterwards (etcd, "Runtime reconfiguration").

use crate::change::{Change, ChangeKind, Verdict};
use crate::membership::has_vote;
use crate::observe::{EtcdMember, EtcdPeer, EtcdState, Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// The member's list has one more, which learns: it gets the data, and no vote (KEP-3614, etcd "Learner").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnounceMember {
    /// Its host.
    pub host: String,
    /// Where the others will reach it.
    pub peer_url: String,
}

/// A member that learned has its vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromoteMember {
    /// Its host, for people.
    pub host: String,
    /// Where the others reach it.
    pub peer_url: String,
}

/// Another member leads than the one that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveLeader {
    /// Where the others reach the one that is to lead.
    pub to: String,
}

/// The member of this id is none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveMember {
    /// Its host, or its name in the list, for people.
    pub host: String,
    /// Its id, by which it leaves.
    pub id: u64,
}

/// Asks the host's own member, for `LIMIT` seconds at most. `id_of URL` says the id of the member that is reached there; `add URL NAME`, `promote ID` and
/// `remove DECIMAL HEXADECIMAL` change the list; `lead ID`, or `lead DECIMAL HEXADECIMAL`, moves the lead. Where etcd is a unit there is etcdctl, whose ids are
/// hexadecimal; beside an API server there is kubectl, and etcd's gateway has decimal ones.
const ASK: &str = r#"if [ -s /etc/etcd/etcd.yaml ] && [ -x /usr/local/bin/etcdctl ]; then
  etcd() {
    /usr/local/bin/etcdctl --endpoints=https://127.0.0.1:2379 --dial-timeout=3s --command-timeout=LIMITs --cacert=/etc/kubernetes/pki/etcd/ca.crt \
      --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "$@"
  }
  id_of() { etcd member list --write-out=simple | grep -F ", $1, " | sed -n 's/^\([0-9a-f]*\), .*/\1/p'; }
  add() { etcd member add "$2" --learner --peer-urls="$1"; }
  promote() { etcd member promote "$1"; }
  lead() { etcd move-leader "${2:-$1}"; }
  remove() { etcd member remove "$2"; }
else
  etcd() {
    printf '%s\n' "$2" | HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl --server=https://127.0.0.1:2379 --request-timeout=LIMITs \
      --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
      --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key create --raw "$1" -f -
  }
  id_of() { etcd /v3/cluster/member/list '{}' | tr '{' '\n' | grep -F "\"$1\"" | sed -n 's/.*"ID":"\([0-9]*\)".*/\1/p'; }
  add() { etcd /v3/cluster/member/add "{\"peerURLs\":[\"$1\"],\"isLearner\":true}"; }
  promote() { etcd /v3/cluster/member/promote "{\"ID\":\"$1\"}"; }
  lead() { etcd /v3/maintenance/transfer-leadership "{\"targetID\":\"$1\"}"; }
  remove() { etcd /v3/cluster/member/remove "{\"ID\":\"$1\"}"; }
fi
"#;

/// How long etcd has for an answer, where nobody waits for it.
const LIMIT_SECONDS: u8 = 10;

/// The functions by which a script asks the host's own member, each for so many seconds at most.
pub(super) fn ask(limit_seconds: u8) -> String {
    ASK.replace("LIMIT", &limit_seconds.to_string())
}

/// Another member leads instead of the host's own, if that one does: the first that takes it of those that are reached there. For a static pod's member. Where
/// nobody takes it, that one goes on.
const GIVE_LEAD: &str = r#"give_lead() {
  status=$(etcd /v3/maintenance/status '{}') || return 0
  own=$(printf '%s\n' "$status" | sed -n 's/.*"member_id":"\([0-9]*\)".*/\1/p')
  leader=$(printf '%s\n' "$status" | sed -n 's/.*"leader":"\([0-9]*\)".*/\1/p')
  [ -n "$own" ] && [ "$own" = "$leader" ] || return 0
  for url; do
    id=$(id_of "$url") || :
    [ -z "$id" ] || ! lead "$id" >/dev/null 2>&1 || return 0
  done
}
"#;

/// A script that gives the lead away.
pub(super) fn give_lead(to: &[String]) -> String {
    if to.is_empty() {
        return String::new();
    }
    let urls: Vec<String> = to.iter().map(|url| quote(url)).collect();
    format!("{}{GIVE_LEAD}give_lead {}\n", ask(LIMIT_SECONDS), urls.join(" "))
}

/// The list that the asked member has, or what it says instead.
fn list(seen: &Observations) -> Result<&EtcdMember, Verdict> {
    match &seen.etcd {
        None => Err(Verdict::Unseen),
        Some(EtcdState::Ready(member)) if !member.members.is_empty() => Ok(member),
        Some(EtcdState::NotReady(output)) => Err(Verdict::differs(ChangeKind::Wait, format!("etcd does not answer: {}", output.trim()))),
        Some(_) => Err(Verdict::differs(ChangeKind::Wait, "the member that is asked does not know the others")),
    }
}

fn at<'a>(member: &'a EtcdMember, peer_url: &str) -> Option<&'a EtcdPeer> {
    member.members.iter().find(|peer| peer.peer_url == peer_url)
}

/// Asked again until the list says so: etcd refuses for seconds after an earlier change, until all members have heard of it.
fn until(script: &str) -> Act {
    let mut fragment = Fragment::text(ask(LIMIT_SECONDS));
    fragment.line(script);
    Act::Until { script: fragment, give_up: None }
}

impl AnnounceMember {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Etcd]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match list(seen) {
            Err(verdict) => verdict,
            Ok(member) if at(member, &self.peer_url).is_some() => Verdict::Same,
            Ok(_) => Verdict::differs(ChangeKind::Add, "etcd has no member there"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        until(&format!("add {} {} || :", quote(&self.peer_url), quote(&self.host)))
    }

    pub(super) fn title(&self) -> String {
        format!("etcd expects the member of {}", self.host)
    }
}

impl PromoteMember {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Etcd]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match list(seen).map(|member| at(member, &self.peer_url)) {
            Err(verdict) => verdict,
            Ok(Some(peer)) if has_vote(peer) => Verdict::Same,
            Ok(_) => Verdict::differs(ChangeKind::Set, format!("the member of {} has no vote yet", self.host)),
        }
    }

    /// etcd refuses while the member is behind.
    pub(super) fn act(&self, _: &Change) -> Act {
        let url = quote(&self.peer_url);
        until(&format!("id=$(id_of {url})\n[ -z \"$id\" ] || promote \"$id\" || :"))
    }

    pub(super) fn title(&self) -> String {
        format!("the member of {} has its vote", self.host)
    }
}

impl MoveLeader {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Etcd]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match list(seen) {
            Err(verdict) => verdict,
            Ok(member) if member.has_leader && member.leader != member.id => Verdict::Same,
            Ok(_) => Verdict::differs(ChangeKind::Set, "its member leads etcd"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let url = quote(&self.to);
        until(&format!("id=$(id_of {url})\n[ -z \"$id\" ] || lead \"$id\" || :"))
    }

    pub(super) fn title(&self) -> String {
        "another member leads etcd".to_owned()
    }
}

impl RemoveMember {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Etcd]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match list(seen) {
            Err(verdict) => verdict,
            Ok(member) if member.members.iter().all(|peer| peer.id != self.id) => Verdict::Same,
            Ok(_) => Verdict::differs(ChangeKind::Remove, format!("etcd counts {} as a member", self.host)),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        until(&format!("remove {id} {id:x} || :", id = self.id))
    }

    pub(super) fn title(&self) -> String {
        format!("etcd without the member of {}", self.host)
    }
}
