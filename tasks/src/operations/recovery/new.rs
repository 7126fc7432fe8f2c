//! The data of a new etcd with one member, made from those of a member or from a snapshot.

use super::{begin, file_looks, is_of};
use crate::artifact::Artifact;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::recovery::{MADE, Origin, Recovery, STARTED};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// What says whether the new etcd's data are there.
fn made_looks() -> Vec<Look> {
    [MADE, STARTED].into_iter().flat_map(file_looks).collect()
}

/// Whether they are, or were before it was started.
fn is_made(recovery: &Recovery, seen: &Observations) -> Option<bool> {
    let says = |path: &str| seen.paths.contains_key(path).then(|| is_of(path, &recovery.id, seen));
    Some(says(MADE)? || says(STARTED)?)
}

/// A snapshot is beside the data that are kept, unless what is made from it is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeSnapshot {
    /// Where it is put.
    pub path: String,
    /// The snapshot on the machine that sends it.
    pub artifact: Artifact,
    /// The recovery.
    pub recovery: Recovery,
}

/// It holds every secret of the cluster, so nobody else ever may read it. As with programs, the shell lives on when the connection breaks.
const TAKE: &str = r#"trap '' PIPE
temporary="$target.part"
trap 'rm -f "$temporary"' EXIT
rm -f "$temporary"
(umask 077; : >"$temporary")
timeout "${kokctl_limit:-900}" cat >"$temporary"
sync "$temporary"
sum=$(sha256sum <"$temporary")
[ "${sum%% *}" = "$wanted" ] || { echo "what arrived has another sha256: ${sum%% *}" >&2; exit 1; }
mv -fT "$temporary" "$target"
"#;

impl TakeSnapshot {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        [Look::LargeFile(self.path.clone())].into_iter().chain(made_looks()).collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        if seen!(is_made(&self.recovery, seen)) {
            return Verdict::Same;
        }
        match seen!(seen.paths.get(&self.path)) {
            PathState::Present(is) if is.sha256.as_deref() == Some(self.artifact.sha256.as_str()) => Verdict::Same,
            _ => Verdict::differs(ChangeKind::Install, "the host does not have it"),
        }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let script = format!("target={}\nwanted={}\n{TAKE}", quote(&self.path), quote(&self.artifact.sha256));
        Act::Stream { script: Fragment::text(script), artifact: self.artifact.clone() }
    }

    pub(in super::super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(in super::super) fn title(&self) -> String {
        self.artifact.title.clone()
    }
}

/// The data of an etcd with this one member. Its cluster and its member have other ids than any before, so that no member of before can take part, and
/// its revision is far beyond all that were ever seen, and compacted: whoever watches the API lists anew, and takes nothing older for newer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEtcd {
    /// The recovery.
    pub recovery: Recovery,
    /// Where the others will reach the member.
    pub peer_url: String,
    /// Whether the member is a unit of systemd.
    pub unit: bool,
}

/// What is in the place of the data is what an earlier attempt has left, or an etcd that was started meanwhile by mistake: what the host had is aside, and
/// that is looked at.
const BEGIN: &str = r#"if says "$started" || says "$made"; then exit 0; fi
says "$aside" || { echo 'what it has is not kept yet' >&2; exit 1; }
is_there "$kept/member" || [ -e "$kept/none" ] || { echo "$kept has nothing of what was put aside" >&2; exit 1; }
[ ! -e /etc/kubernetes/manifests/etcd.yaml ] || { echo 'the manifest of etcd is in its place, so that it may write to these data' >&2; exit 1; }
work="$kept/work"
"#;

/// The programs are those of etcd's own image, in containers without a network but their own loopback. `utl` knows what is kept as `$kept_there`, `alone` what is
/// made as `$work_there`.
const BY_IMAGE: &str = r#"image=$(sed -n 's/^ *image: *//p' /var/lib/kokctl/recovery/manifests/etcd.yaml | head -n 1)
[ -n "$image" ] || { echo 'the manifest of etcd names no image' >&2; exit 1; }
kept_there=/kept
work_there=/new
ctr() { /usr/local/bin/ctr -n k8s.io "$@"; }
end() {
  for name in kokctl-recover-etcd kokctl-recover-restore; do
    ctr tasks delete -f "$name" >/dev/null 2>&1 || :
    ctr containers delete "$name" >/dev/null 2>&1 || :
  done
}
utl() { ctr run --rm --mount "type=bind,src=$kept,dst=/kept,options=rbind:rw" "$image" kokctl-recover-restore /usr/local/bin/etcdutl "$@"; }
alone() { ctr run -d --mount "type=bind,src=$work,dst=/new,options=rbind:rw" "$image" kokctl-recover-etcd /usr/local/bin/etcd "$@"; }
is_alone() { ctr tasks ls 2>/dev/null | grep -q '^kokctl-recover-etcd .*RUNNING'; }
ctl() { ctr tasks exec --exec-id "ask-$asked" kokctl-recover-etcd /usr/local/bin/etcdctl "$@"; }
"#;

/// The programs are those that the unit runs, and its own a unit with a network of which it has nothing but a loopback (systemd.exec(5), `PrivateNetwork=`).
const BY_PROGRAMS: &str = r#"case $(systemctl show --property=ActiveState --value etcd.service) in
  inactive | failed | '') ;;
  *) echo 'etcd runs, and may write to these data' >&2; exit 1 ;;
esac
kept_there=$kept
work_there=$work
end() { systemctl stop kokctl-recover-etcd.service 2>/dev/null || :; }
utl() { /usr/local/bin/etcdutl "$@"; }
alone() { systemd-run --quiet --collect --unit=kokctl-recover-etcd --property=PrivateNetwork=yes --property=UMask=0077 /usr/local/bin/etcd "$@"; }
is_alone() { systemctl is-active --quiet kokctl-recover-etcd.service; }
ctl() { nsenter "--net=/proc/$(systemctl show --property=MainPID --value kokctl-recover-etcd.service)/ns/net" /usr/local/bin/etcdctl "$@"; }
"#;

const CLEAR: &str = r#"trap end EXIT
end
rm -rf "$work" /var/lib/etcd/member
mkdir -m 700 "$work"
restore() {
  snapshot=$1
  shift
  utl snapshot restore "$kept_there/$snapshot" "--data-dir=$kept_there/work/restored" "--name=$member" "--initial-cluster=$member=$url" \
    "--initial-advertise-peer-urls=$url" "--initial-cluster-token=$token" "$@" >"$work/said" 2>&1 ||
    { tail -n 3 "$work/said" >&2; exit 1; }
}
"#;

/// A copy, of what a link leads to as well: what was put aside is never written to.
const FROM_MEMBER: &str = r#"[ -f "$kept/member/snap/db" ] || { echo "$kept/member has no database of etcd any more" >&2; exit 1; }
mkdir -m 700 "$work/member"
cp -aL -- "$kept/member/snap" "$kept/member/wal" "$work/member/"
"#;

/// As a member has it, so that both go on alike.
const FROM_SNAPSHOT: &str = r#"restore snapshot.db
mv -T "$work/restored/member" "$work/member"
rm -rf "$work/restored"
"#;

/// Entries that stand in the member's log alone count too: an etcd of its own takes them for decided. It is started on a copy. What was full stays so in a
/// snapshot, and an etcd that takes nothing is of no use: what nobody can read any more is thrown away, and it is said that there is room.
const ALONE: &str = r#"alone "--data-dir=$work_there" \
  "--name=$member" --force-new-cluster --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
  --listen-peer-urls=http://127.0.0.1:2380 --quota-backend-bytes=17179869184 --log-level=error
asked=0
ask() {
  asked=$((asked + 1))
  within=$1
  shift
  ctl --endpoints=http://127.0.0.1:2379 "--command-timeout=$within" "$@" >"$work/said" 2>&1
}
must() { ask 600s "$@" || { cat "$work/said" >&2; exit 1; }; }
until ask 5s get kokctl --limit=1; do
  is_alone || { cat "$work/said" >&2; echo 'etcd does not start on a copy of these data' >&2; exit 1; }
  [ "$asked" -lt 240 ] || { cat "$work/said" >&2; echo 'etcd does not get ready on a copy of these data' >&2; exit 1; }
  sleep 0.5
done
must endpoint status --write-out=json
revision=$(sed -n 's/.*"revision":\([0-9][0-9]*\).*/\1/p' "$work/said" | head -n 1)
[ "${revision:-0}" -ge "$least" ] || { echo "these data end with revision ${revision:-0}, and had $least when the recovery began" >&2; exit 1; }
must alarm list
if grep -q NOSPACE "$work/said"; then
  ask 600s compaction --physical "$revision" || grep -q 'has been compacted' "$work/said" || { cat "$work/said" >&2; exit 1; }
  must defrag
  must alarm disarm
  must alarm list
fi
! grep 'alarm:' "$work/said" >&2 || { echo 'etcd complains of these data' >&2; exit 1; }
"#;

/// The hosts of before are gone, and so is where they asked the API: a kubelet makes its node anew, and an apply the rest, as where there was none (kubeadm design,
/// "Upload kubeadm ClusterConfiguration", "Create the public cluster-info ConfigMap"). Pods of nodes that are none go (Kubernetes, "Pod garbage collection").
const ELSEWHERE: &str = r#"must del --prefix /registry/minions/
must del /registry/configmaps/kube-system/kubeadm-config
must del /registry/configmaps/kube-public/cluster-info
must endpoint status --write-out=json
revision=$(sed -n 's/.*"revision":\([0-9][0-9]*\).*/\1/p' "$work/said" | head -n 1)
"#;

/// What the new etcd is made from.
const SAVED: &str = r#"must snapshot save "$work_there/snapshot.db"
end
rm -rf "$work/member"
"#;

/// A revision that no cluster comes to: ten years of a thousand writes a second are 3 × 10^11, and nobody who watches is so far behind that a billion
/// is not enough (etcd, "Restoring with revision bump"); counted from the last one that any member had, for the data may be from before an earlier
/// restore. What is there under the member's name is there whole, and on the disk before anything says so.
const RESTORE: &str = r#"bump=1000000000
[ "$newest" -le "$revision" ] || bump=$((bump + newest - revision))
restore work/snapshot.db "--bump-revision=$bump" --mark-compacted
own "$work/restored/member"
sync "$work/restored/member/snap/db" "$work"/restored/member/wal/*.wal
sync -f "$work/restored/member"
mv -T "$work/restored/member" /var/lib/etcd/member
sync /var/lib/etcd
say "$made"
rm -rf "$work" "$kept/snapshot.db"
"#;

/// As a founding leaves it beside data of a static pod.
const OF_POD: &str = "own() { ln -sfn /etc/kubernetes/pki/etcd/ca.crt \"$1/kokctl-ca.crt\"; }\n";

/// As whom the unit runs.
const OF_UNIT: &str = "own() { chown -R etcd:etcd \"$1\"; }\n";

impl NewEtcd {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        made_looks()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        if seen!(is_made(&self.recovery, seen)) { Verdict::Same } else { Verdict::differs(ChangeKind::Create, "it has none yet") }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let Recovery { id, host, origin, least, newest, .. } = &self.recovery;
        let (url, token) = (quote(&self.peer_url), quote(&format!("kokctl-{id}")));
        let from = if *origin == Origin::Member { FROM_MEMBER } else { FROM_SNAPSHOT };
        let variables = format!("member={}\nurl={url}\ntoken={token}\nleast={least}\nnewest={newest}\n", quote(host));
        let elsewhere = if matches!(origin, Origin::Backup { is_elsewhere: true, .. }) { ELSEWHERE } else { "" };
        let (programs, own) = if self.unit { (BY_PROGRAMS, OF_UNIT) } else { (BY_IMAGE, OF_POD) };
        let script = format!("{}{variables}{BEGIN}{programs}{CLEAR}{own}{from}{ALONE}{elsewhere}{SAVED}{RESTORE}", begin(&self.recovery));
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job new-etcd");
        Act::Script(fragment)
    }

    pub(in super::super) fn title(&self) -> String {
        match self.recovery.origin {
            Origin::Member => "an etcd of one member made from the data that it had".to_owned(),
            Origin::Snapshot { .. } | Origin::Backup { .. } => "an etcd of one member made from the snapshot".to_owned(),
        }
    }
}
