//! Manifests of etcd, API server, controller manager and scheduler, by kubeadm's own phases.

use super::record::Record;
use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// Which static pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// etcd.
    Etcd,
    /// API server, controller manager and scheduler.
    ControlPlane,
}

/// Manifests of a control plane's static pods. The kubelet starts them; here they are only written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPods {
    /// Which ones.
    pub component: Component,
    /// Path of kubeadm's configuration on the host.
    pub configuration: String,
    /// Path of the one that is taken instead where etcd has data: a member that was started once must found nothing, should it lose them.
    pub of_member: Option<String>,
    /// Sha256 of the first one.
    pub source: String,
}

/// The processes of the pod before its manifest is written again, asked of containerd by what the kubelet labels containers with: a user's
/// pod may run a program of the same name. Where containerd does not answer there is nothing to wait for that the next step does not see.
const BEFORE: &str = r#"before=$(cat "$manifest" 2>/dev/null || :)
old=
if [ -n "$before" ] && systemctl is-active --quiet kubelet.service; then
  label='labels."io.kubernetes'
  containers=$(/usr/local/bin/ctr -n k8s.io containers ls -q \
    "$label.pod.namespace\"==kube-system,$label.pod.name\"~=\"^$program-\",$label.container.name\"==$program" 2>/dev/null || :)
  old=$(/usr/local/bin/ctr -n k8s.io tasks ls 2>/dev/null | while read -r container process state; do
    case " $(echo $containers) $state" in *" $container "*RUNNING) echo "/proc/$process";; esac
  done || :)
fi
"#;

/// The kubelet ends what ran before it starts what is to run. Until then the old one answers, and whoever asked it would take it for the new
/// one. The kubelet notices a manifest within 20 seconds, and gives a pod 30 to end; one that takes longer is left to the step that waits for
/// its successor.
const UNTIL_OLD_IS_GONE: &str = r#"if [ -n "$old" ] && [ "$(cat "$manifest")" != "$before" ]; then
  left=60
  for process in $old; do
    while [ -e "$process" ] && [ "$left" -gt 0 ]; do
      left=$((left - 1))
      sleep 1
    done
  done
fi
"#;

/// Where etcd writes first of all.
const MEMBER_DATA: &str = "/var/lib/etcd/member/wal";

impl StaticPods {
    fn files(&self) -> &'static [&'static str] {
        match self.component {
            Component::Etcd => &["/etc/kubernetes/manifests/etcd.yaml"],
            Component::ControlPlane => &[
                "/etc/kubernetes/manifests/kube-apiserver.yaml",
                "/etc/kubernetes/manifests/kube-controller-manager.yaml",
                "/etc/kubernetes/manifests/kube-scheduler.yaml",
            ],
        }
    }

    fn name(&self) -> &'static str {
        match self.component {
            Component::Etcd => "etcd",
            Component::ControlPlane => "control-plane",
        }
    }

    fn record(&self) -> Record<'_> {
        Record { name: self.name(), source: &self.source, files: self.files() }
    }

    pub(super) fn outputs(&self) -> Vec<String> {
        self.files().iter().map(|path| (*path).to_owned()).collect()
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        self.record().looks()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        self.record().diff(seen)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let phase = match self.component {
            Component::Etcd => "etcd local",
            Component::ControlPlane => "control-plane all",
        };
        let (forget, keep) = (self.record().forget(), self.record().keep());
        let (program, manifest) = match self.component {
            Component::Etcd => ("etcd", "/etc/kubernetes/manifests/etcd.yaml"),
            Component::ControlPlane => ("kube-apiserver", "/etc/kubernetes/manifests/kube-apiserver.yaml"),
        };
        let script = format!(
            "{forget}program={program}\nmanifest={manifest}\n{BEFORE}{}kubeadm init phase {phase} --config=\"$configuration\"\n{keep}{UNTIL_OLD_IS_GONE}",
            self.choice()
        );
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), &format!("job {}", self.name()));
        Act::Script(fragment)
    }

    /// Only the host knows by then whether its member was started.
    fn choice(&self) -> String {
        let first = format!("configuration={}\n", quote(&self.configuration));
        let of_member = self.of_member.as_deref().map(|path| format!("if [ -d {MEMBER_DATA} ]; then configuration={}; fi\n", quote(path)));
        first + &of_member.unwrap_or_default()
    }

    pub(super) fn title(&self) -> String {
        format!("static pods of {}", self.name())
    }
}
