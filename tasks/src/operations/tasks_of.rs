//! Which containers run a program of the control plane, and how one is ended that went by files of before.

use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;

/// `tasks_of PROGRAM` prints container and process of each task that runs in the program's static pod, asked of containerd by what the kubelet labels
/// containers with: a user's pod may run a program of the same name. Nothing where containerd does not answer.
pub(super) const TASKS_OF: &str = r#"tasks_of() {
  label='labels."io.kubernetes'
  containers=" $(echo $(/usr/local/bin/ctr -n k8s.io containers ls -q \
    "$label.pod.namespace\"==kube-system,$label.pod.name\"~=\"^$1-\",$label.container.name\"==$1" 2>/dev/null)) "
  /usr/local/bin/ctr -n k8s.io tasks ls 2>/dev/null | while read -r container process state; do
    case "$containers$state" in *" $container "*RUNNING) echo "$container $process";; esac
  done
}
"#;

/// `end_task PROGRAM` ends it, and the kubelet starts it anew. It gets the time that a kubelet would give its pod (`terminationGracePeriodSeconds` of kubeadm's
/// manifests): a controller manager gives its lease back within seconds; an API server that is watched would take a minute more by itself, in which it takes no new
/// connection, and its own node would be lost. After [`TASKS_OF`].
const END_TASK: &str = r#"end_task() {
  tasks_of "$1" | while read -r container process; do
    /usr/local/bin/ctr -n k8s.io tasks kill --signal SIGTERM "$container" || :
    left=150
    while [ -e "/proc/$process" ] && [ "$left" -gt 0 ]; do
      left=$((left - 1))
      sleep 0.2
    done
    [ ! -e "/proc/$process" ] || /usr/local/bin/ctr -n k8s.io tasks kill --signal SIGKILL "$container" || :
  done
}
"#;

/// Programs that read these files at their start and never again, each with one of its files.
pub(super) type Readers<'a> = &'a [(&'a str, &'a str)];

/// What says whether they were started after their files.
pub(super) fn looks_of(readers: Readers<'_>) -> Vec<Look> {
    let files = readers.iter().map(|(_, path)| Look::Path((*path).to_owned()));
    files.chain([Look::Programs]).collect()
}

/// Whether they were. One that does not run will read what is there.
pub(super) fn diff_of(readers: Readers<'_>, seen: &Observations) -> Verdict {
    let programs = seen!(&seen.programs);
    for (program, path) in readers {
        seen!(seen.paths.get(*path));
        if programs.get(*program).is_some_and(|started| seen.is_older(*started, path)) {
            return Verdict::differs(ChangeKind::Restart, format!("{path} changed after {program} was started"));
        }
    }
    Verdict::Same
}

/// Ends these programs.
pub(super) fn end(programs: &[&str]) -> Act {
    let mut fragment = Fragment::default();
    add_end(&mut fragment, programs);
    Act::Script(fragment)
}

/// The script that ends programs, those that run, all at once.
pub(super) fn end_scripts(programs: &[&str]) -> String {
    let all: String = programs.iter().map(|program| format!("end_task {program} &\n")).collect();
    format!("{TASKS_OF}{END_TASK}{all}wait\n")
}

/// Adds what ends these programs, where they run.
pub(super) fn add_end(fragment: &mut Fragment, programs: &[&str]) {
    fragment.line(TASKS_OF);
    fragment.line(END_TASK);
    programs.iter().for_each(|program| fragment.line(&format!("end_task {program}")));
}
