//! The start of the control plane beside the new etcd.

use super::{MANIFESTS_BACK, PROGRAMS, UNIT, begin, file_looks, is_of, manifest, manifest_aside};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::recovery::{Recovery, STARTED};
use crate::resources::Act;
use crate::script::Fragment;

/// The manifests are back, by which the kubelet starts etcd on its new data and the control plane beside it; where it is a unit, systemd has started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAnew {
    /// The recovery.
    pub recovery: Recovery,
    /// Whether a control plane is there, of which etcd may be a part.
    pub plane: bool,
    /// Whether the member is a unit of systemd.
    pub unit: bool,
}

/// From the moment on in which that is on the disk the new etcd may have been written to, so it comes first; and without its data, never.
const SCRIPT: &str = r#"if ! says "$started"; then
  says "$made" || { echo 'the data of the new etcd are not in their place' >&2; exit 1; }
  say "$started"
fi
rm -rf "$kept/work" "$kept/snapshot.db" "$kept/snapshot.db.part"
had_data_back
"#;

/// An API server waits for etcd by itself.
const UNIT_STARTS: &str = r#"systemctl enable --quiet etcd.service
systemctl start etcd.service
"#;

const PLANE_STARTS: &str = r#"manifests_back
systemctl is-active --quiet kubelet.service || systemctl start kubelet.service
"#;

impl StartAnew {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        let of_unit = Some(Look::Unit(UNIT.to_owned())).filter(|_| self.unit);
        let of_plane = Some(manifest_looks()).filter(|_| self.plane).into_iter().flatten();
        of_plane.chain(of_unit).chain(file_looks(STARTED)).collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        seen!(seen.paths.get(STARTED));
        if !is_of(STARTED, &self.recovery.id, seen) {
            return Verdict::differs(ChangeKind::Start, "it stands still");
        }
        if self.unit {
            let unit = seen!(seen.units.get(UNIT));
            if unit.active != "active" || unit.file != "enabled" {
                return Verdict::differs(ChangeKind::Start, "etcd stands still");
            }
        }
        let needed: &[&str] = if self.unit { &["kube-apiserver"] } else { &["etcd", "kube-apiserver"] };
        if self.plane { missing(needed, seen) } else { Verdict::Same }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let unit = if self.unit { UNIT_STARTS } else { "" };
        let plane = if self.plane { PLANE_STARTS } else { "" };
        Act::Script(Fragment::text(format!("{}{MANIFESTS_BACK}{SCRIPT}{unit}{plane}", begin(&self.recovery))))
    }

    pub(in super::super) fn title(&self) -> String {
        if self.plane { "etcd and the control plane started anew" } else { "etcd started anew" }.to_owned()
    }
}

fn manifest_looks() -> impl Iterator<Item = Look> {
    PROGRAMS.iter().flat_map(|program| [manifest(program), manifest_aside(program)]).map(Look::Path)
}

/// Whether the manifest of a program is not in its place that is aside, or that has to be there.
fn missing(needed: &[&str], seen: &Observations) -> Verdict {
    for program in PROGRAMS {
        let is_aside = *seen!(seen.paths.get(&manifest_aside(program))) != PathState::Missing;
        let is_needed = is_aside || needed.contains(&program);
        if *seen!(seen.paths.get(&manifest(program))) == PathState::Missing && is_needed {
            return Verdict::differs(ChangeKind::Start, format!("the manifest of {program} is aside still"));
        }
    }
    Verdict::Same
}

/// The manifests of a control plane without a member of its own are back, by which the kubelet starts it. One that had none gets none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestsBack {
    /// The recovery.
    pub recovery: Recovery,
}

impl ManifestsBack {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        manifest_looks().collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        missing(&[], seen)
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("{}{MANIFESTS_BACK}{PLANE_STARTS}", begin(&self.recovery))))
    }

    pub(in super::super) fn title(&self) -> String {
        "the control plane started anew".to_owned()
    }
}
