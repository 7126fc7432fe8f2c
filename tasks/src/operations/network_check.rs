//! The proof that the network carries: pods of all nodes answer each other.
//!
//! Four steps share this file, because they share one condition: the check is needed while the cluster's own record of it (ConfigMap
//! `kube-system/kokctl`) does not name exactly the present nodes and the present network manifest.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde::Deserialize;

use super::manifest::ApplyManifest;
use super::ready::{WAIT, WorkloadReady, unanswered};
use crate::change::{Change, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// One step of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkCheck {
    /// Which one.
    pub stage: Stage,
    /// sum of the manifest of the network plugin.
    pub network: String,
    /// Names of the nodes that take part: all.
    pub nodes: Vec<String>,
    /// How many addresses each of their pods has.
    pub families: usize,
    /// Whether kube-proxy carries packets for the service.
    pub proxy: bool,
}

/// The steps of a network check, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// A pod on every node that answers and asks.
    Deploy(ApplyManifest),
    /// They run.
    Running(WorkloadReady),
    /// Each answers each, and the cluster's DNS and service addresses work from each.
    Answer,
    /// The result is recorded and the pods are removed.
    Record,
}

/// Namespace of the pods of the check.
pub const NAMESPACE: &str = "kokctl-network-check";

#[derive(Deserialize)]
struct Answer {
    target: String,
    ok: bool,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    status: Option<u16>,
}

impl NetworkCheck {
    pub(super) fn looks(&self) -> Vec<Look> {
        match self.stage {
            Stage::Answer => vec![Look::Kubernetes, Look::NetworkCheck],
            _ => vec![Look::Kubernetes],
        }
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        let KubernetesState::Ready { nodes, .. } = state else {
            return unanswered(self.summary(), state);
        };
        let uids = nodes.iter().map(|(name, node)| format!("{name}={}", node.uid));
        let expected: BTreeSet<String> = uids.chain([format!("network={}", self.network)]).collect();
        // A node that is still to join is not proven, although nobody knows its uid yet.
        let all_there = self.nodes.iter().all(|name| nodes.contains_key(name));
        let recorded = state.object("ConfigMap", "kube-system", "kokctl").and_then(|map| map.text("/data/network-check"));
        if all_there && recorded.is_some_and(|text| text.lines().map(str::to_owned).collect::<BTreeSet<_>>() == expected) {
            return Verdict::Same;
        }
        // What is in a namespace that goes may still look whole, for as long as no controller manager leads.
        let namespace = state.object("Namespace", "", NAMESPACE);
        let goes = namespace.is_some_and(|namespace| namespace.text("/metadata/deletionTimestamp").is_some());
        match &self.stage {
            Stage::Running(_) | Stage::Answer if goes => Verdict::differs(WAIT, "its pods are being removed"),
            Stage::Deploy(_) if goes => Verdict::differs("apply", format!("the namespace {NAMESPACE} is being removed")),
            Stage::Deploy(manifest) => manifest.diff(seen),
            Stage::Running(workload) => workload.diff(seen),
            Stage::Answer => self.answers(seen),
            Stage::Record => Verdict::differs("record", "the network of the present nodes is not proven yet"),
        }
    }

    fn summary(&self) -> &'static str {
        match self.stage {
            Stage::Deploy(_) => "apply",
            Stage::Running(_) | Stage::Answer => WAIT,
            Stage::Record => "record",
        }
    }

    /// Each pod must have asked every pod, itself included, and the service by its name, and got an answer.
    fn answers(&self, seen: &Observations) -> Verdict {
        let wait = |because: String| Verdict::differs(WAIT, because);
        let reports = seen!(&seen.network_check);
        let missing: Vec<&str> = self.nodes.iter().filter(|node| !reports.contains_key(*node)).map(String::as_str).collect();
        match missing.as_slice() {
            [] => {}
            [one] => return wait(format!("the pod of node {one} has not reported")),
            several => return wait(format!("the pods of the nodes {} have not reported", several.join(", "))),
        }
        let unasked: Vec<&str> = reports
            .iter()
            .filter(|(_, report)| serde_json::from_str::<Vec<Answer>>(report).is_err())
            .map(|(node, _)| node.as_str())
            .collect();
        if let Some(said) = unasked.first().filter(|_| unasked.len() > 1).and_then(|first| reports.get(*first)) {
            let said = said.trim().chars().take(200).collect::<String>();
            return wait(format!("the pods of the nodes {} could not be asked; of the first: {said}", unasked.join(", ")));
        }
        for (node, report) in reports {
            let Ok(answers) = serde_json::from_str::<Vec<Answer>>(report) else {
                return wait(format!("the pod of node {node} could not be asked: {}", report.trim().chars().take(200).collect::<String>()));
            };
            let targets = self.nodes.len() * self.families + 1;
            if answers.len() < targets {
                return wait(format!("the pod of node {node} asked at {} of {targets} addresses", answers.len()));
            }
            if let Some(failed) = answers.iter().find(|answer| !answer.ok) {
                let why = failed.error.clone().unwrap_or_else(|| format!("status {}", failed.status.unwrap_or_default()));
                let of_service = !self.proxy && !is_address(&failed.target);
                let by = if of_service { "; there is no kube-proxy (kube_proxy_remove), so the network has to carry Services" } else { "" };
                return wait(format!("from node {node}, {} does not answer: {why}{by}", failed.target));
            }
        }
        Verdict::Same
    }

    pub(super) fn act(&self, change: &Change) -> Act {
        match &self.stage {
            Stage::Deploy(manifest) => deploy(manifest, change),
            Stage::Running(_) | Stage::Answer => Act::Wait,
            Stage::Record => Act::Script(Fragment::text(format!(
                "{KUBECTL}proven=$(kube get nodes -o jsonpath='{{range .items[*]}}{{.metadata.name}}={{.metadata.uid}}{{\"\\n\"}}{{end}}'; printf 'network=%s' {})\n\
                 kube -n kube-system create configmap kokctl --from-literal=network-check=\"$proven\" --dry-run=client -o json | \
                 kube apply --server-side --field-manager=kokctl --force-conflicts -f - >/dev/null\n\
                 kube delete namespace {NAMESPACE} --ignore-not-found --wait=false >/dev/null\n",
                quote(&self.network)
            ))),
        }
    }

    pub(super) fn title(&self) -> String {
        match &self.stage {
            Stage::Deploy(_) => "pods of the network check".to_owned(),
            Stage::Running(_) => "pods of the network check running".to_owned(),
            Stage::Answer => "every pod answers every other".to_owned(),
            Stage::Record => "record of the network check".to_owned(),
        }
    }
}

/// Pods are asked by their addresses, those of IPv6 in brackets, the service by its name.
fn is_address(url: &str) -> bool {
    let rest = url.split("//").nth(1).unwrap_or_default();
    rest.starts_with('[') || rest.split([':', '/']).next().unwrap_or_default().parse::<Ipv4Addr>().is_ok()
}

/// The pods of a check that ended a moment ago may still be on their way out; nothing can be made in their namespace until it is gone.
fn deploy(manifest: &ApplyManifest, change: &Change) -> Act {
    let mut fragment = Fragment::text(format!(
        "{KUBECTL}if [ -n \"$(kube get namespace {NAMESPACE} --ignore-not-found -o jsonpath='{{.metadata.deletionTimestamp}}')\" ]; then\n\
         kube wait --for=delete namespace/{NAMESPACE} --timeout=90s >/dev/null\nfi\n"
    ));
    if let Act::Script(apply) = manifest.act(change) {
        fragment.append(apply);
    }
    Act::Script(fragment)
}
