//! The start of the control plane beside the new etcd.

use super::{is_of, manifest};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::recovery::{Recovery, STARTED};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// The manifests are back, by which the kubelet starts etcd on its new data and the control plane beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAnew {
    /// The recovery.
    pub recovery: Recovery,
}

/// From its first line on the new etcd may have been written to, so that comes first, and is on the disk.
const SCRIPT: &str = r#"printf '%s\n' "$id" >"$started.part"
sync "$started.part"
mv -f "$started.part" "$started"
sync /var/lib/kokctl/recovery
for manifest in /var/lib/kokctl/recovery/manifests/*.yaml; do
  name=${manifest##*/}
  [ -f "$manifest" ] && [ ! -e "/etc/kubernetes/manifests/$name" ] || continue
  cp -p -- "$manifest" "/etc/kubernetes/manifests/.kokctl-$name"
  sync "/etc/kubernetes/manifests/.kokctl-$name"
  mv -f -- "/etc/kubernetes/manifests/.kokctl-$name" "/etc/kubernetes/manifests/$name"
done
systemctl is-active --quiet kubelet.service || systemctl start kubelet.service
"#;

impl StartAnew {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        let paths = ["etcd", "kube-apiserver"].map(|program| Look::Path(manifest(program)));
        paths.into_iter().chain([Look::Path(STARTED.to_owned()), Look::Content(STARTED.to_owned())]).collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        seen!(seen.paths.get(STARTED));
        if !is_of(STARTED, &self.recovery.id, seen) {
            return Verdict::differs(ChangeKind::Start, "it stands still");
        }
        for program in ["etcd", "kube-apiserver"] {
            if *seen!(seen.paths.get(&manifest(program))) == PathState::Missing {
                return Verdict::differs(ChangeKind::Start, format!("the manifest of {program} is aside still"));
            }
        }
        Verdict::Same
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("id={}\nstarted={STARTED}\n{SCRIPT}", quote(&self.recovery.id))))
    }

    pub(in super::super) fn title(&self) -> String {
        "etcd and the control plane started anew".to_owned()
    }
}
