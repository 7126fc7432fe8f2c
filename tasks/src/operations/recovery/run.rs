//! The start of the control plane beside the new etcd.

use super::{MANIFESTS_BACK, PROGRAMS, begin, file_looks, is_of, manifest, manifest_aside};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::recovery::{Recovery, STARTED};
use crate::resources::Act;
use crate::script::Fragment;

/// The manifests are back, by which the kubelet starts etcd on its new data and the control plane beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAnew {
    /// The recovery.
    pub recovery: Recovery,
}

/// From the moment on in which that is on the disk the new etcd may have been written to, so it comes first; and without its data, never.
const SCRIPT: &str = r#"if ! says "$started"; then
  says "$made" || { echo 'the data of the new etcd are not in their place' >&2; exit 1; }
  say "$started"
fi
rm -rf "$kept/work" "$kept/snapshot.db" "$kept/snapshot.db.part"
manifests_back
systemctl is-active --quiet kubelet.service || systemctl start kubelet.service
"#;

impl StartAnew {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        let paths = PROGRAMS.iter().flat_map(|program| [manifest(program), manifest_aside(program)]).map(Look::Path);
        paths.chain(file_looks(STARTED)).collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        seen!(seen.paths.get(STARTED));
        if !is_of(STARTED, &self.recovery.id, seen) {
            return Verdict::differs(ChangeKind::Start, "it stands still");
        }
        for program in PROGRAMS {
            let is_aside = *seen!(seen.paths.get(&manifest_aside(program))) != PathState::Missing;
            let is_needed = is_aside || matches!(program, "etcd" | "kube-apiserver");
            if *seen!(seen.paths.get(&manifest(program))) == PathState::Missing && is_needed {
                return Verdict::differs(ChangeKind::Start, format!("the manifest of {program} is aside still"));
            }
        }
        Verdict::Same
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("{}{MANIFESTS_BACK}{SCRIPT}", begin(&self.recovery))))
    }

    pub(in super::super) fn title(&self) -> String {
        "etcd and the control plane started anew".to_owned()
    }
}
