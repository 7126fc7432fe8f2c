//! kube-proxy and CoreDNS, by kubeadm's phases.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::ready::unanswered;
use crate::operations::{KUBECTL, SOURCE_ANNOTATION};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// kube-proxy and CoreDNS in the version and with the configuration of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addons {
    /// Path of kubeadm's configuration on the host.
    pub configuration: String,
    /// Its sha256; stands as an annotation of both objects.
    pub source: String,
    /// Whether kube-proxy is one of them.
    pub proxy: bool,
    /// Where kube-proxy's pods are ended, so that new ones begin; nowhere, if the rollout does it. One stops for good at a node that is away, for its pod counts as the one
    /// that may be unavailable (`maxUnavailable`), and a pod that is ended is made anew all the same.
    pub renewed_on: Vec<String>,
}

const PROXY: (&str, &str) = ("DaemonSet", "kube-proxy");
const DNS: (&str, &str) = ("Deployment", "coredns");

impl Addons {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Apply, state);
        }
        for (kind, name) in self.proxy.then_some(PROXY).into_iter().chain([DNS]) {
            match state.object(kind, "kube-system", name) {
                None => return Verdict::differs(ChangeKind::Apply, format!("{kind} {name} does not exist")),
                Some(object) if object.text(SOURCE_ANNOTATION) != Some(&self.source) => {
                    return Verdict::differs(ChangeKind::Apply, format!("{kind} {name} was made from another configuration"));
                }
                Some(_) => {}
            }
        }
        Verdict::Same
    }

    /// kube-proxy reads its configuration once, so one that runs already is restarted; where it is only assumed that it has another one, since
    /// nobody could be asked, it is asked first.
    pub(super) fn act(&self, change: &Change) -> Act {
        let (configuration, source) = (quote(&self.configuration), quote(&self.source));
        let asked = if change.assumed { self.ends_if_there(&source) } else { String::new() };
        let renewed = self.renewed();
        let script = if self.proxy {
            format!(
                "{KUBECTL}{asked}running=$(kube -n kube-system get daemonset kube-proxy --ignore-not-found -o name)\n\
                 kubeadm init phase addon all --config={configuration}\n\
                 [ -z \"$running\" ] || kube -n kube-system rollout restart daemonset/kube-proxy >/dev/null\n{renewed}\
                 kube -n kube-system annotate --overwrite daemonset/kube-proxy deployment/coredns kokctl.io/source-sha256={source} >/dev/null\n"
            )
        } else {
            format!(
                "{KUBECTL}{asked}kubeadm init phase addon coredns --config={configuration}\n\
                 kube -n kube-system annotate --overwrite deployment/coredns kokctl.io/source-sha256={source} >/dev/null\n"
            )
        };
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job addons");
        Act::Script(fragment)
    }

    fn renewed(&self) -> String {
        if self.renewed_on.is_empty() {
            return String::new();
        }
        let nodes: Vec<String> = self.renewed_on.iter().map(|node| quote(node)).collect();
        // Pods that are made before the controller has heard of the new template are old ones.
        format!(
            "generation=$(kube -n kube-system get daemonset kube-proxy -o 'jsonpath={{.metadata.generation}}')\n\
             kube -n kube-system wait daemonset/kube-proxy --for=jsonpath='{{.status.observedGeneration}}'=\"$generation\" --timeout=30s >/dev/null\n\
             for node in {}; do\n\
             \x20 kube -n kube-system delete pod -l k8s-app=kube-proxy --field-selector=spec.nodeName=\"$node\" >/dev/null\n\
             done\n",
            nodes.join(" ")
        )
    }

    fn ends_if_there(&self, source: &str) -> String {
        let objects = if self.proxy { "daemonset/kube-proxy deployment/coredns" } else { "deployment/coredns" };
        format!(
            "others=0\n\
             for object in {objects}; do\n\
             \x20 made_from=$(kube -n kube-system get \"$object\" --ignore-not-found -o jsonpath='{{.metadata.annotations.kokctl\\.io/source-sha256}}')\n\
             \x20 [ \"$made_from\" = {source} ] || others=1\n\
             done\n\
             [ $others = 1 ] || exit 0\n"
        )
    }

    pub(super) fn title(&self) -> String {
        if self.proxy { "kube-proxy and CoreDNS" } else { "CoreDNS" }.to_owned()
    }
}
