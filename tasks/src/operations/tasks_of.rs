//! Which containers run a program of the control plane.

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
