//! A recovery that is taken back.

use super::{MANIFESTS_BACK, begin};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::recovery::{MARKER, Recovery};
use crate::resources::Act;
use crate::script::{Content, Fragment};

/// The host's data, manifests and all are where they were before the recovery began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeBack {
    /// The recovery.
    pub recovery: Recovery,
}

/// Whether there were data before is known by what is kept. Before they are on their way back nothing says any more that they are aside, so that whoever goes
/// on instead puts them aside anew, and takes them for nobody else's. Nothing of what is kept is removed that may be the member's.
const BACK: &str = r#"if says "$started"; then
  echo 'the new etcd was started, and may have been written to' >&2
  exit 1
fi
if [ -e "$unit_aside" ]; then systemctl stop kokctl-recover-etcd.service 2>/dev/null || :; fi
for name in kokctl-recover-etcd kokctl-recover-restore; do
  /usr/local/bin/ctr -n k8s.io tasks delete -f "$name" >/dev/null 2>&1 || :
  /usr/local/bin/ctr -n k8s.io containers delete "$name" >/dev/null 2>&1 || :
done
rm -f "$aside" "$made"
[ ! -d /var/lib/kokctl/recovery ] || sync /var/lib/kokctl/recovery
if is_there "$kept/member"; then
  rm -f "$kept/none"
  rm -rf /var/lib/etcd/member
  mv -T "$kept/member" /var/lib/etcd/member
elif [ -e "$kept/none" ]; then
  rm -rf /var/lib/etcd/member
fi
[ ! -d /var/lib/etcd ] || sync /var/lib/etcd
rm -rf "$kept/work" "$kept/snapshot.db" "$kept/snapshot.db.part" "$kept/none"
[ ! -d "$kept" ] || rmdir "$kept"
had_data_back
if [ -e "$unit_aside" ]; then
  systemctl enable --quiet etcd.service
  systemctl start --no-block etcd.service
fi
manifests_back
rm -rf /var/lib/kokctl/recovery
sync /var/lib/kokctl
rm -f /var/lib/kokctl/recover
sync /var/lib/kokctl
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
        let script = format!("{}{MANIFESTS_BACK}{BACK}", begin(&self.recovery));
        fragment.feed(Content::Bytes(script.as_bytes()), "job take-back");
        Act::Script(fragment)
    }

    pub(in super::super) fn title(&self) -> String {
        "as before the recovery".to_owned()
    }
}
