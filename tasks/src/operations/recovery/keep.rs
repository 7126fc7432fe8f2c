//! Data that are kept as they are, and what becomes of them in the end.

use super::is_of;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::recovery::{ASIDE, FOLDER, MARKER, Recovery, STARTED};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// The host's data of etcd are kept under another name, and nothing is in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepData {
    /// The recovery.
    pub recovery: Recovery,
}

/// By a rename, so that they need no room, and are the very ones. What is there once that is done is the new etcd's.
const KEEP: &str = r#"[ "$(cat "$aside" 2>/dev/null || :)" != "$id" ] || exit 0
mkdir -p -m 700 /var/lib/kokctl/recovery "$kept"
if [ -e /var/lib/etcd/member ] && [ ! -e "$kept/member" ]; then mv -T /var/lib/etcd/member "$kept/member"; fi
[ -e "$kept/member" ] || : >"$kept/none"
sync /var/lib/etcd "$kept"
printf '%s\n' "$id" >"$aside.part"
sync "$aside.part"
mv -f "$aside.part" "$aside"
sync /var/lib/kokctl/recovery
"#;

fn variables(recovery: &Recovery) -> String {
    let (id, kept) = (quote(&recovery.id), quote(&recovery.kept()));
    format!("id={id}\nkept={kept}\naside={ASIDE}\nstarted={STARTED}\n")
}

impl KeepData {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        [Look::Content(ASIDE.to_owned()), Look::Path(ASIDE.to_owned())].into()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        seen!(seen.paths.get(ASIDE));
        if is_of(ASIDE, &self.recovery.id, seen) {
            Verdict::Same
        } else {
            Verdict::differs(ChangeKind::Record, "they are in their place still")
        }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("{}{KEEP}", variables(&self.recovery))))
    }

    pub(in super::super) fn title(&self) -> String {
        format!("data of etcd kept in {}", self.recovery.kept())
    }
}

/// Nothing on the host says any more that a recovery is under way. The data of before stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndRecovery;

impl EndRecovery {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(MARKER.to_owned())]
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(MARKER)) {
            PathState::Missing => Verdict::Same,
            PathState::Present(_) => Verdict::differs(ChangeKind::Remove, format!("{MARKER} says that it is under way")),
        }
    }

    /// The marker goes first: what says how far it has come is of no use without it, and is never taken for another one's.
    pub(in super::super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("rm -f {MARKER}\nsync /var/lib/kokctl\nrm -rf {FOLDER}\n")))
    }

    pub(in super::super) fn title(&self) -> String {
        "recovery ended".to_owned()
    }
}

/// The host's data, manifests and all are where they were before the recovery began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeBack {
    /// The recovery.
    pub recovery: Recovery,
}

/// Whether there were data before is known by what is kept. Once they are back nothing says so any more, and nothing is removed.
const BACK: &str = r#"if [ "$(cat "$started" 2>/dev/null || :)" = "$id" ]; then
  echo 'the new etcd was started, and may have been written to' >&2
  exit 1
fi
for name in kokctl-recover-etcd kokctl-recover-restore; do
  /usr/local/bin/ctr -n k8s.io tasks delete -f "$name" >/dev/null 2>&1 || :
  /usr/local/bin/ctr -n k8s.io containers delete "$name" >/dev/null 2>&1 || :
done
if [ -e "$kept/member" ]; then
  rm -rf /var/lib/etcd/member
  mv -T "$kept/member" /var/lib/etcd/member
elif [ -e "$kept/none" ]; then
  rm -rf /var/lib/etcd/member
fi
rm -rf "$kept"
[ ! -d /var/lib/etcd ] || sync /var/lib/etcd
for manifest in /var/lib/kokctl/recovery/manifests/*.yaml; do
  [ -f "$manifest" ] || continue
  name=${manifest##*/}
  cp -p -- "$manifest" "/etc/kubernetes/manifests/.kokctl-$name"
  mv -f -- "/etc/kubernetes/manifests/.kokctl-$name" "/etc/kubernetes/manifests/$name"
done
rm -f /var/lib/kokctl/recover
sync /var/lib/kokctl
rm -rf /var/lib/kokctl/recovery
"#;

impl TakeBack {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(MARKER.to_owned())]
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(MARKER)) {
            PathState::Missing => Verdict::Same,
            PathState::Present(_) => Verdict::differs(ChangeKind::Restart, "its data are aside"),
        }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        let script = format!("{}{BACK}", variables(&self.recovery));
        fragment.feed(Content::Bytes(script.as_bytes()), "job take-back");
        Act::Script(fragment)
    }

    pub(in super::super) fn title(&self) -> String {
        "as before the recovery".to_owned()
    }
}
