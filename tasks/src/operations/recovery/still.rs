//! The end of everything that writes to etcd, and of etcd.

use super::{PROGRAMS, begin, file_looks, is_of, manifest};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::operations::tasks_of::TASKS_OF;
use crate::recovery::{OF, Recovery};
use crate::resources::Act;
use crate::script::Fragment;

/// No program of the control plane runs on the host, nor would the kubelet start one: their manifests are aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandStill {
    /// The recovery.
    pub recovery: Recovery,
}

/// The kubelet ends them by their manifests, and is not waited for: it may not run, and gives each half a minute. What asks etcd has nothing to lose, and
/// would wait for etcd's answer; etcd itself ends as it should. What an earlier recovery has left is none of this one's, and goes before anything is put there.
const SCRIPT: &str = r#"if ! says "$of"; then
  rm -rf /var/lib/kokctl/recovery
  mkdir -p -m 700 /var/lib/kokctl/recovery
  say "$of"
fi
manifests=/var/lib/kokctl/recovery/manifests
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
        PROGRAMS.iter().map(|program| Look::Path(manifest(program))).chain([Look::Programs]).chain(file_looks(OF)).collect()
    }

    pub(in super::super) fn diff(&self, seen: &Observations) -> Verdict {
        for program in PROGRAMS {
            if *seen!(seen.paths.get(&manifest(program))) != PathState::Missing {
                return Verdict::differs(ChangeKind::Stop, "the kubelet would start it");
            }
        }
        seen!(seen.paths.get(OF));
        if !is_of(OF, &self.recovery.id, seen) {
            return Verdict::differs(ChangeKind::Stop, "nothing says yet what was put aside");
        }
        let running = seen!(&seen.programs);
        match PROGRAMS.iter().find(|program| running.contains_key(**program)) {
            Some(program) => Verdict::differs(ChangeKind::Stop, format!("{program} runs still")),
            None => Verdict::Same,
        }
    }

    pub(in super::super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(format!("{TASKS_OF}{}", begin(&self.recovery)));
        fragment.line(SCRIPT);
        Act::Until { script: fragment, give_up: None }
    }

    pub(in super::super) fn title(&self) -> String {
        "etcd and the control plane stand still".to_owned()
    }
}
