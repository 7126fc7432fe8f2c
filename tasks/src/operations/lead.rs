//! etcd's lead goes to another member while nobody writes.
//!
//! raft drops what is proposed while the lead moves. Whoever has sent it through another member hears nothing, and waits for 7 s (etcd's `ReqTimeout`); through the
//! one that led, it is an error (etcd `server/etcdserver/v3_server.go`, raft `leadTransferee`). No client can be told to wait for these milliseconds, so API servers
//! are held: they get no processor, and all that is asked of them waits in their sockets. What they had sent before comes to its end meanwhile.

use std::slice::from_ref;

use super::Operation;
use super::members::ask;
use super::tasks_of::TASKS_OF;
use crate::gate::{Disruption, Need};
use crate::membership::has_vote;
use crate::observe::{EtcdState, Observations};
use crate::plan::{Action, Step};

/// The transient unit that holds an API server.
const UNIT: &str = "kokctl-hold.service";

/// Seconds after which an API server goes on, whoever has begun this and whatever became of him: its kubelet would wait for 15 s before it thinks ill of it, and a client
/// for as long as it likes.
const AT_MOST: u8 = 2;

/// systemd lets it go on when the unit ends, in whatever way. Its command is a file, for systemd reads its own file of a transient unit wrong where a command has quotes. The file
/// stays until a reset: a unit that ends late needs it.
const HOLD: &str = r#"set -eu
[ -d /run/kokctl ] || mkdir -p -m 700 /run/kokctl
printf '%s\n' 'signal=$1' shift 'kill "-$signal" "$@"' '[ "$signal" = CONT ] || exec sleep SECONDS' >/run/kokctl/hold.new
mv -f /run/kokctl/hold.new /run/kokctl/hold.sh
held=
for process in $(tasks_of kube-apiserver | sed 's/.* //'); do
  case $(readlink "/proc/$process/exe") in */kube-apiserver) held="$held $process";; esac
done
[ -n "$held" ] || exit 3
systemctl stop UNIT 2>/dev/null || :
systemd-run --quiet --collect --unit=UNIT --description='kokctl: API server held while the lead of etcd moves' --property=Type=exec \
  --property="ExecStopPost=/bin/sh /run/kokctl/hold.sh CONT$held" /bin/sh /run/kokctl/hold.sh STOP$held
left=50
for process in $held; do
  while ! grep -q '^State:[[:space:]]*T' "/proc/$process/status" && [ "$left" -gt 0 ]; do
    left=$((left - 1))
    sleep 0.01
  done
done
"#;

/// Holds the API server of a host, for two seconds at most; fails where none runs.
#[must_use]
pub fn hold_script() -> String {
    format!("{TASKS_OF}{}", HOLD.replace("UNIT", UNIT).replace("SECONDS", &AT_MOST.to_string()))
}

/// Lets it go on.
#[must_use]
pub fn go_on_script() -> String {
    format!("systemctl stop {UNIT} 2>/dev/null || :\n")
}

/// Whether another member should lead before a step: it ends a member that works, or moves the lead itself. Then the URLs of members that should lead, the best one first;
/// where it names none, any other one may.
#[must_use]
pub fn ends_leader(step: &Step) -> Option<&[String]> {
    match (&step.action, &step.gate) {
        (Action::Operation(Operation::PlaneRests(rests)), _) if rests.leaders.is_empty() => None,
        (Action::Operation(Operation::PlaneRests(rests)), _) => Some(&rests.leaders),
        (Action::Operation(Operation::MoveLeader(moves)), _) => Some(from_ref(&moves.to)),
        (_, Some((Disruption::RestartMember { .. } | Disruption::StopHost { .. }, Need::Wanted))) => Some(&[]),
        _ => None,
    }
}

/// The ids of the members that may lead instead of a host's own: those of the URLs in `first` come first. None where the host's own says that it does not lead, or where no other
/// one has a vote.
#[must_use]
pub fn successors(first: &[String], seen: &Observations) -> Vec<u64> {
    let Some(EtcdState::Ready(member)) = &seen.etcd else { return Vec::new() };
    if member.id == 0 || member.leader != member.id {
        return Vec::new();
    }
    let mut others: Vec<_> = member.members.iter().filter(|peer| peer.id != member.id && has_vote(peer)).collect();
    others.sort_by_key(|peer| first.iter().position(|url| *url == peer.peer_url).unwrap_or(first.len()));
    others.into_iter().map(|peer| peer.id).collect()
}

/// How long each successor has: one that is up to date leads within milliseconds, and no API server is held for longer than [`AT_MOST`].
const SUCCESSOR_SECONDS: u8 = 1;

/// Gives the lead of the host's own member to the first one that takes it.
#[must_use]
pub fn give_script(ids: &[u64]) -> String {
    let all: String = ids.iter().map(|id| format!("lead {id} {id:x} >/dev/null 2>&1 && exit 0\n")).collect();
    format!("{}{all}exit 1\n", ask(SUCCESSOR_SECONDS))
}
