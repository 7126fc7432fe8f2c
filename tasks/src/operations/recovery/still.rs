//! The end of everything that writes to etcd, and of etcd.

use super::{PROGRAMS, manifest};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::operations::tasks_of::TASKS_OF;
use crate::resources::Act;
use crate::script::Fragment;

/// No program of the control plane runs on the host, nor would the kubelet start one: their manifests are aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandStill;

/// The kubelet ends them by their manifests, and is not waited for: it may not run, and gives each half a minute. What asks etcd has nothing to lose, and
/// would wait for etcd's answer; etcd itself ends as it should.
const SCRIPT: &str = r#"kept=/var/lib/kokctl/recovery/manifests
mkdir -p -m 700 "$kept"
for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
  manifest="/etc/kubernetes/manifests/$program.yaml"
  if [ -f "$manifest" ]; then
    cp -p -- "$manifest" "$kept/.part"
    sync "$kept/.part"
    mv -f -- "$kept/.part" "$kept/$program.yaml"
    sync "$kept"
    rm -f -- "$manifest"
  fi
done
for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
  signal=SIGKILL
  [ "$program" != etcd ] || signal=SIGTERM
  tasks_of "$program" | while read -r container process; do
    /usr/local/bin/ctr -n k8s.io tasks kill --signal "$signal" "$container" || :
  done
done
"#;

impl StandStill {
    pub(in super::super) fn looks(&self) -> Vec<Look> {
        PROGRAMS.iter().map(|program| Look::Path(manifest(program))).chain([Look::Programs]).collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        for program in PROGRAMS {
            if *seen!(seen.paths.get(&manifest(program))) != PathState::Missing {
                return Verdict::differs(ChangeKind::Stop, "the kubelet would start it");
            }
        }
        let running = seen!(&seen.programs);
        match PROGRAMS.iter().find(|program| running.contains_key(**program)) {
            Some(program) => Verdict::differs(ChangeKind::Stop, format!("{program} runs still")),
            None => Verdict::Same,
        }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(TASKS_OF);
        fragment.line(SCRIPT);
        Act::Until { script: fragment, give_up: None }
    }

    pub(in super::super) fn title(&self) -> String {
        "etcd and the control plane stand still".to_owned()
    }
}
