//! The data of a new etcd with one member, made from those of a member or from a snapshot.

use crate::artifact::Artifact;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::operations::MEMBER_DATA;
use crate::recovery::{ASIDE, Origin, Recovery};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// A snapshot is beside the data that are kept, unless what is made from it is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeSnapshot {
    /// Where it is put.
    pub path: String,
    /// The snapshot on the machine that sends it.
    pub artifact: Artifact,
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
        vec![Look::LargeFile(self.path.clone()), Look::Path(MEMBER_DATA.to_owned())]
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        if *seen!(seen.paths.get(MEMBER_DATA)) != PathState::Missing {
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
}

/// The programs are those of etcd's own image, in containers without a network but their own loopback.
const BEGIN: &str = r#"[ ! -d /var/lib/etcd/member/wal ] || exit 0
[ "$(cat "$aside")" = "$id" ] || { echo 'what it has is not kept yet' >&2; exit 1; }
image=$(sed -n 's/^ *image: *//p' /var/lib/kokctl/recovery/manifests/etcd.yaml | head -n 1)
[ -n "$image" ] || { echo 'the manifest of etcd names no image' >&2; exit 1; }
ctr() { /usr/local/bin/ctr -n k8s.io "$@"; }
end() {
  for name in kokctl-recover-etcd kokctl-recover-restore; do
    ctr tasks delete -f "$name" >/dev/null 2>&1 || :
    ctr containers delete "$name" >/dev/null 2>&1 || :
  done
}
trap end EXIT
end
work="$kept/work"
rm -rf "$work" /var/lib/etcd/member
mkdir -m 700 "$work"
"#;

/// Entries that stand in the member's log alone count too: an etcd of its own takes them for decided. It is started on a copy.
const FROM_MEMBER: &str = r#"cp -a "$kept/member" "$work/member"
ctr run -d --mount "type=bind,src=$work,dst=/new,options=rbind:rw" "$image" kokctl-recover-etcd /usr/local/bin/etcd --data-dir=/new \
  "--name=$member" --force-new-cluster --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
  --listen-peer-urls=http://127.0.0.1:2380 --log-level=error
tries=0
until ctr tasks exec --exec-id "health-$tries" kokctl-recover-etcd /usr/local/bin/etcdctl --endpoints=http://127.0.0.1:2379 \
  endpoint health >"$work/said" 2>&1; do
  tries=$((tries + 1))
  ctr tasks ls 2>/dev/null | grep -q '^kokctl-recover-etcd .*RUNNING' || { cat "$work/said" >&2; echo 'etcd does not start on a copy of these data' >&2; exit 1; }
  [ "$tries" -lt 240 ] || { cat "$work/said" >&2; echo 'etcd does not get ready on a copy of these data' >&2; exit 1; }
  sleep 0.5
done
ctr tasks exec --exec-id snapshot kokctl-recover-etcd /usr/local/bin/etcdctl --endpoints=http://127.0.0.1:2379 \
  snapshot save /new/snapshot.db >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
end
rm -rf "$work/member"
snapshot=work/snapshot.db
"#;

const FROM_SNAPSHOT: &str = "snapshot=snapshot.db\n";

/// A revision that no cluster comes to: ten years of a thousand writes a second are 3 × 10^11, and nobody who watches is so far behind that a billion
/// is not enough (etcd, "Restoring with revision bump"). What is there under the member's name is there whole.
const RESTORE: &str = r#"ctr run --rm --mount "type=bind,src=$kept,dst=/kept,options=rbind:rw" "$image" kokctl-recover-restore /usr/local/bin/etcdutl \
  snapshot restore "/kept/$snapshot" --data-dir=/kept/work/restored "--name=$member" "--initial-cluster=$member=$url" \
  "--initial-advertise-peer-urls=$url" "--initial-cluster-token=$token" --bump-revision=1000000000 --mark-compacted >"$work/said" 2>&1 ||
  { tail -n 3 "$work/said" >&2; exit 1; }
ln -sfn /etc/kubernetes/pki/etcd/ca.crt "$work/restored/member/kokctl-ca.crt"
sync "$work/restored/member/snap/db" "$work"/restored/member/wal/*.wal "$work/restored/member"
mv -T "$work/restored/member" /var/lib/etcd/member
sync /var/lib/etcd
rm -rf "$work" "$kept/snapshot.db"
"#;

impl NewEtcd {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(MEMBER_DATA.to_owned())]
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(MEMBER_DATA)) {
            PathState::Missing => Verdict::differs(ChangeKind::Create, "it has none yet"),
            PathState::Present(_) => Verdict::Same,
        }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let Recovery { id, host, origin, .. } = &self.recovery;
        let (kept, url, token) = (quote(&self.recovery.kept()), quote(&self.peer_url), quote(&format!("kokctl-{id}")));
        let from = if *origin == Origin::Member { FROM_MEMBER } else { FROM_SNAPSHOT };
        let script = format!(
            "id={}\naside={ASIDE}\nkept={kept}\nmember={}\nurl={url}\ntoken={token}\n{BEGIN}{from}{RESTORE}",
            quote(id),
            quote(host)
        );
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job new-etcd");
        Act::Script(fragment)
    }

    pub(in super::super) fn title(&self) -> String {
        match self.recovery.origin {
            Origin::Member => "an etcd of one member made from the data that it had".to_owned(),
            Origin::Snapshot { .. } => "an etcd of one member made from the snapshot".to_owned(),
        }
    }
}
