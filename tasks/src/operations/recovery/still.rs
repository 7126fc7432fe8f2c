//! The end of everything that writes to etcd, and of etcd.

use super::{PROGRAMS, UNIT, begin, file_looks, is_of, manifest};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::operations::tasks_of::TASKS_OF;
use crate::recovery::{KUBELET, OF, Recovery};
use crate::resources::Act;
use crate::script::Fragment;

/// No program of the control plane runs on the host, nor would the kubelet start one: their manifests are aside. A member of etcd that is a unit has ended,
/// and systemd starts it neither now nor after the host was started anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandStill {
    /// The recovery.
    pub recovery: Recovery,
    /// Whether a control plane is there, of which etcd may be a part.
    pub plane: bool,
    /// Whether a member is there that is a unit of systemd.
    pub unit: bool,
}

/// What an earlier recovery has left is none of this one's, and goes before anything is put there.
const OWN: &str = r#"if ! says "$of"; then
  rm -rf /var/lib/kokctl/recovery
  mkdir -p -m 700 /var/lib/kokctl/recovery
  say "$of"
fi
"#;

/// The kubelet ends them by their manifests, and is not waited for: it may not run, and gives each half a minute. What asks etcd has nothing to lose, and
/// would wait for etcd's answer; etcd itself ends as it should.
///
/// A kubelet that has not heard from an API server since its start, as after a host was started anew without etcd, deletes no pod ("sources aren't ready",
/// `deletePod` of Kubernetes' kubelet), and starts no static pod of that name by another manifest as long as it knows the one before. So it is started anew
/// once, when there is nothing that it could know.
const SCRIPT: &str = r#"manifests=/var/lib/kokctl/recovery/manifests
mkdir -p -m 700 "$manifests"
for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
  manifest="/etc/kubernetes/manifests/$program.yaml"
  if [ -f "$manifest" ]; then
    cp -p -- "$manifest" "$manifests/.part"
    sync "$manifests/.part"
    mv -f -- "$manifests/.part" "$manifests/$program.yaml"
    sync "$manifests" /var/lib/kokctl/recovery
    rm -f -- "$manifest"
    sync /etc/kubernetes/manifests
  fi
done
if ! says "$kubelet"; then
  [ ! -f /etc/systemd/system/kubelet.service ] || systemctl try-restart kubelet.service
  say "$kubelet"
fi
for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
  signal=SIGKILL
  [ "$program" != etcd ] || signal=SIGTERM
  tasks_of "$program" | while read -r container process; do
    /usr/local/bin/ctr -n k8s.io tasks kill --signal "$signal" "$container" || :
  done
done
"#;

/// What has said of itself that it is to run is said to be aside before it ends. etcd ends as it should.
const STILL_UNIT: &str = r#"if [ -f /etc/systemd/system/etcd.service ]; then
  say "$unit_aside"
  systemctl disable --quiet etcd.service
  systemctl stop etcd.service
fi
"#;

impl StandStill {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        let of_plane = PROGRAMS.iter().map(|program| Look::Path(manifest(program))).chain([Look::Programs]).chain(file_looks(KUBELET));
        let of_plane = of_plane.filter(|_| self.plane);
        let of_unit = Some(Look::Unit(UNIT.to_owned())).filter(|_| self.unit);
        of_plane.chain(of_unit).chain(file_looks(OF)).collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        for program in PROGRAMS.iter().filter(|_| self.plane) {
            if *seen!(seen.paths.get(&manifest(program))) != PathState::Missing {
                return Verdict::differs(ChangeKind::Stop, "the kubelet would start it");
            }
        }
        seen!(seen.paths.get(OF));
        if !is_of(OF, &self.recovery.id, seen) {
            return Verdict::differs(ChangeKind::Stop, "nothing says yet what was put aside");
        }
        if self.plane {
            seen!(seen.paths.get(KUBELET));
            if !is_of(KUBELET, &self.recovery.id, seen) {
                return Verdict::differs(ChangeKind::Stop, "the kubelet may know what is aside");
            }
        }
        if self.unit {
            let unit = seen!(seen.units.get(UNIT));
            if !matches!(unit.active.as_str(), "inactive" | "failed") {
                return Verdict::differs(ChangeKind::Stop, "etcd runs still");
            }
            if unit.file == "enabled" {
                return Verdict::differs(ChangeKind::Stop, "systemd would start etcd");
            }
        }
        if !self.plane {
            return Verdict::Same;
        }
        let running = seen!(&seen.programs);
        match PROGRAMS.iter().find(|program| running.contains_key(**program)) {
            Some(program) => Verdict::differs(ChangeKind::Stop, format!("{program} runs still")),
            None => Verdict::Same,
        }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(format!("{TASKS_OF}{}", begin(&self.recovery)));
        fragment.line(OWN);
        if self.plane {
            fragment.line(SCRIPT);
        }
        if self.unit {
            fragment.line(STILL_UNIT);
        }
        Act::Until { script: fragment, give_up: None }
    }

    pub(in super::super) fn title(&self) -> String {
        "etcd and the control plane stand still".to_owned()
    }
}
