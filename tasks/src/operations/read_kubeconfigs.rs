//! Controller manager and scheduler know their present kubeconfigs.

use super::tasks_of::TASKS_OF;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;

/// Controller manager and scheduler of a control plane run with the kubeconfigs that are there. They read them at their start and never again,
/// so one that is older than its kubeconfig is ended, and the kubelet starts it anew. One that does not run will read what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadKubeconfigs;

/// Program and kubeconfig.
const READERS: [(&str, &str); 2] =
    [("kube-controller-manager", "/etc/kubernetes/controller-manager.conf"), ("kube-scheduler", "/etc/kubernetes/scheduler.conf")];

/// A controller manager gives its lease back within seconds; one that hangs does not get more than the kubelet would give its pod.
const SCRIPT: &str = r#"for program in kube-controller-manager kube-scheduler; do
  tasks_of "$program" | while read -r container process; do
    /usr/local/bin/ctr -n k8s.io tasks kill --signal SIGTERM "$container" || :
    left=150
    while [ -e "/proc/$process" ] && [ "$left" -gt 0 ]; do
      left=$((left - 1))
      sleep 0.2
    done
    [ ! -e "/proc/$process" ] || /usr/local/bin/ctr -n k8s.io tasks kill --signal SIGKILL "$container" || :
  done
done
"#;

impl ReadKubeconfigs {
    pub(super) fn looks(&self) -> Vec<Look> {
        let files = READERS.iter().map(|(_, path)| Look::Path((*path).to_owned()));
        files.chain([Look::Programs]).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let programs = seen!(&seen.programs);
        for (program, path) in READERS {
            seen!(seen.paths.get(path));
            if programs.get(program).is_some_and(|started| seen.is_older(*started, path)) {
                return Verdict::differs(ChangeKind::Restart, format!("{path} changed after {program} was started"));
            }
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(TASKS_OF);
        fragment.line(SCRIPT);
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "controller manager and scheduler know their kubeconfigs".to_owned()
    }
}
