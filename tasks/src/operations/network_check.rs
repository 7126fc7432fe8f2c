//! The proof that the network carries: pods of all nodes answer each other.
//!
//! Four steps share this file, because they share one condition: the check is needed while the cluster's own record of it (ConfigMap
//! `kube-system/kokctl`) does not name exactly the present nodes and the present network manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde::Deserialize;

use super::manifest::ApplyManifest;
use super::network_sample::ASKED_BY;
use super::ready::{WorkloadReady, unanswered};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, NOT_ASKED, Observations};
use crate::operations::KUBECTL;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// One step of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkCheck {
    /// Which one.
    pub stage: NetworkCheckStage,
    /// sum of the manifest of the network plugin.
    pub network: String,
    /// Names of the nodes that take part: all.
    pub nodes: Vec<String>,
    /// Those of them whose pods ask ([`super::askers`]); all where they are few.
    pub askers: Vec<String>,
    /// How many addresses each of their pods has.
    pub families: usize,
    /// Whether kube-proxy carries packets for the service.
    pub proxy: bool,
}

/// The steps of a network check, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkCheckStage {
    /// A pod on every node that answers and asks.
    Deploy(ApplyManifest),
    /// They run.
    Running(WorkloadReady),
    /// Each that asks gets an answer of each that it asks, and the cluster's DNS and service addresses work from it.
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
    /// Whose pod answered.
    #[serde(default)]
    node: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    status: Option<u16>,
}

impl NetworkCheck {
    pub(super) fn looks(&self) -> Vec<Look> {
        match self.stage {
            NetworkCheckStage::Answer => vec![Look::Kubernetes, Look::NetworkCheck(self.askers.clone())],
            _ => vec![Look::Kubernetes],
        }
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        let KubernetesState::Ready { nodes, .. } = state else {
            return unanswered(self.kind(), state);
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
            NetworkCheckStage::Running(_) | NetworkCheckStage::Answer if goes => {
                Verdict::differs(ChangeKind::Wait, "its pods are being removed")
            }
            NetworkCheckStage::Deploy(_) if goes => {
                Verdict::differs(ChangeKind::Apply, format!("the namespace {NAMESPACE} is being removed"))
            }
            NetworkCheckStage::Deploy(manifest) => manifest.diff(seen),
            NetworkCheckStage::Running(workload) => workload.diff(seen),
            NetworkCheckStage::Answer => self.answers(seen),
            NetworkCheckStage::Record => Verdict::differs(ChangeKind::Record, "the network of the present nodes is not proven yet"),
        }
    }

    fn kind(&self) -> ChangeKind {
        match self.stage {
            NetworkCheckStage::Deploy(_) => ChangeKind::Apply,
            NetworkCheckStage::Running(_) | NetworkCheckStage::Answer => ChangeKind::Wait,
            NetworkCheckStage::Record => ChangeKind::Record,
        }
    }

    /// Each pod that asks must have asked every pod that asks, itself included, and the service by its name, and got an answer; each other
    /// pod must have answered some of them.
    fn answers(&self, seen: &Observations) -> Verdict {
        let wait = |because: String| Verdict::differs(ChangeKind::Wait, because);
        let reports = seen!(&seen.network_check);
        let missing: Vec<&str> = self.askers.iter().filter(|node| !reports.contains_key(*node)).map(String::as_str).collect();
        match missing.as_slice() {
            [] => {}
            [one] => return wait(format!("the pod of node {one} has not reported")),
            several => return wait(format!("the pods of the nodes {} have not reported", several.join(", "))),
        }
        if let Some(because) = unasked(reports) {
            return wait(because);
        }
        let mut answered: BTreeMap<String, usize> = BTreeMap::new();
        for (node, report) in reports {
            let answers = parsed(report).unwrap_or_default();
            let targets = self.askers.len() * self.families + 1;
            if answers.len() < targets {
                return wait(format!("the pod of node {node} asked at {} of {targets} addresses", answers.len()));
            }
            if let Some(failed) = answers.iter().find(|answer| !answer.ok) {
                return wait(self.failed(node, failed));
            }
            // Whichever pod answers for the service was not asked itself.
            for answer in answers.into_iter().filter(|answer| is_address(&answer.target)) {
                *answered.entry(answer.node).or_default() += 1;
            }
        }
        let only_answer = self.nodes.iter().filter(|node| !self.askers.contains(node));
        let silent = only_answer.filter(|node| answered.get(*node).is_none_or(|count| *count < ASKED_BY * self.families));
        let silent: Vec<&str> = silent.map(String::as_str).collect();
        if silent.is_empty() {
            return Verdict::Same;
        }
        wait(format!("not every pod was asked by {ASKED_BY} others; fewer have asked those of the nodes {}", silent.join(", ")))
    }

    fn failed(&self, node: &str, failed: &Answer) -> String {
        let why = failed.error.clone().unwrap_or_else(|| format!("status {}", failed.status.unwrap_or_default()));
        let of_service = !self.proxy && !is_address(&failed.target);
        let by = if of_service { "; there is no kube-proxy (kube_proxy_remove), so the network has to carry Services" } else { "" };
        format!("from node {node}, {} does not answer: {why}{by}", failed.target)
    }

    pub(super) fn act(&self, change: &Change) -> Act {
        match &self.stage {
            NetworkCheckStage::Deploy(manifest) => deploy(manifest, change),
            NetworkCheckStage::Running(_) | NetworkCheckStage::Answer => Act::Wait,
            NetworkCheckStage::Record => Act::Script(Fragment::text(format!(
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
            NetworkCheckStage::Deploy(_) => "pods of the network check".to_owned(),
            NetworkCheckStage::Running(_) => "pods of the network check running".to_owned(),
            NetworkCheckStage::Answer if self.askers.len() < self.nodes.len() => {
                let (askers, all) = (self.askers.len(), self.nodes.len());
                format!("a sample: pods of {askers} of {all} nodes ask each other, and of every other node, {ASKED_BY} of them each")
            }
            NetworkCheckStage::Answer => "every pod answers every other".to_owned(),
            NetworkCheckStage::Record => "record of the network check".to_owned(),
        }
    }
}

fn parsed(report: &str) -> Option<Vec<Answer>> {
    serde_json::from_str(report).ok()
}

/// Names all pods that were asked and said nothing of others. Those that these left no time for are no culprits, so they are only counted.
fn unasked(reports: &BTreeMap<String, String>) -> Option<String> {
    let without = reports.iter().filter(|(_, report)| parsed(report).is_none());
    let (late, silent): (Vec<_>, Vec<_>) = without.partition(|(_, report)| report.starts_with(NOT_ASKED));
    let shortened = |report: &str| report.trim().chars().take(200).collect::<String>();
    let left = match late.len() {
        0 => String::new(),
        count => format!("; there was no time left to ask {count} more"),
    };
    match silent.as_slice() {
        [] if late.is_empty() => None,
        [] => Some(format!("there was no time to ask {} of {} pods: this control plane is slow", late.len(), reports.len())),
        [(node, report)] => Some(format!("the pod of node {node} could not be asked: {}{left}", shortened(report))),
        [(_, first), ..] => {
            let nodes: Vec<&str> = silent.iter().map(|(node, _)| node.as_str()).collect();
            Some(format!("the pods of the nodes {} could not be asked; of the first: {}{left}", nodes.join(", "), shortened(first)))
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
