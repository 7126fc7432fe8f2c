//! Data that are kept as they are, and the end of a recovery that keeps them.

use super::{begin, file_looks, is_of};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::recovery::{ASIDE, MARKER, Recovery};
use crate::resources::Act;
use crate::script::Fragment;

/// The host's data of etcd are kept under another name, and nothing is in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepData {
    /// The recovery.
    pub recovery: Recovery,
    /// Whether the member is a unit of systemd.
    pub unit: bool,
}

/// By a rename, so that they need no room, and are the very ones. What is there once that is done is the new etcd's.
const KEEP: &str = r#"! says "$aside" || exit 0
[ ! -e /etc/kubernetes/manifests/etcd.yaml ] || { echo 'the manifest of etcd is in its place, so that it may write to its data' >&2; exit 1; }
mkdir -p -m 700 /var/lib/kokctl/recovery "$kept"
if is_there /var/lib/etcd/member && ! is_there "$kept/member"; then
  rm -f "$kept/none"
  mv -T /var/lib/etcd/member "$kept/member"
fi
is_there "$kept/member" || : >"$kept/none"
sync /var/lib/etcd "$kept"
"#;

/// Nobody but its unit starts etcd.
const ENDED_UNIT: &str = r#"case $(systemctl show --property=ActiveState --value etcd.service) in
  inactive | failed | '') ;;
  *) echo 'etcd runs, and may write to its data' >&2; exit 1 ;;
esac
"#;

/// That it had data goes with them, for it joins with none.
const KEEP_STARTED: &str = r#"if [ -f "$had_data" ]; then
  mv -f -- "$had_data" "$unit_started"
  sync "${had_data%/*}" /var/lib/kokctl/recovery
fi
"#;

impl KeepData {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        file_looks(ASIDE).into()
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
        let (ended, started) = if self.unit { (ENDED_UNIT, KEEP_STARTED) } else { ("", "") };
        Act::Script(Fragment::text(format!("{}{ended}{KEEP}{started}say \"$aside\"\n", begin(&self.recovery))))
    }

    pub(in super::super) fn title(&self) -> String {
        format!("data of etcd kept in {}", self.recovery.kept())
    }
}

/// Nothing on the host says any more that a recovery is under way, and it is said that it has ended and was not taken back. The data of before stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndRecovery {
    /// The recovery.
    pub recovery: Recovery,
}

/// Once it is said that it has ended, nothing else of it is needed. The marker goes last, so that whatever was left is seen.
const END: &str = r#"if ! grep -qxF -e "$id" "$ended" 2>/dev/null; then
  { cat "$ended" 2>/dev/null || :; printf '%s\n' "$id"; } >"$ended.part"
  sync "$ended.part"
  mv -f "$ended.part" "$ended"
  sync /var/lib/kokctl
fi
rm -rf /var/lib/kokctl/recovery
sync /var/lib/kokctl
rm -f /var/lib/kokctl/recover
sync /var/lib/kokctl
"#;

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

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("{}{END}", begin(&self.recovery))))
    }

    pub(in super::super) fn title(&self) -> String {
        "recovery ended".to_owned()
    }
}
