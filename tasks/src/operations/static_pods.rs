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
    /// Its sha256.
    pub source: String,
}

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
        let script = format!("{forget}kubeadm init phase {phase} --config={}\n{keep}", quote(&self.configuration));
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), &format!("job {}", self.name()));
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        format!("static pods of {}", self.name())
    }
}
