//! Plans that keep pods away from nodes, take them off, or let them come again. Only the API is told; nothing is done on the nodes' hosts.

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};

use super::draft::{Draft, Edge};
use super::graph::Plan;
use super::leave::{drained, lost_pods};
use super::make::{Making, Seen, compared, defect, enter};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::drain::{Cordon, Cordoner, DrainSettings};
use crate::observe::{ApiServerState, KubernetesState};
use crate::operations::{CordonNode, Operation, UncordonNodes};
use crate::preconditions;
use crate::speaker::speaker;

/// What is to be done with nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside<'a> {
    /// The hosts whose nodes are meant.
    pub hosts: &'a [String],
    /// What is to be done.
    pub how: How,
}

/// What is to be done with nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// New pods are kept away.
    Cordon,
    /// The pods leave them, too.
    Drain(DrainSettings),
    /// They take pods again.
    Uncordon,
}

const TASK: &str = "node";

/// The plan for these nodes, one after the other as the gate lets them.
///
/// # Errors
/// [`Refusal`] where the host of the API server belongs to another cluster, where none answers, for a host without a node, for a cordon that is not
/// ours to lift, and for pods that would be lost.
pub fn aside(cluster: &Cluster, wanted: &Aside<'_>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let answers = |host: &&Host| seen.observations(&host.name).api_server == Some(ApiServerState::Ready);
    let Some(speaker) = speaker(cluster, seen).filter(answers) else {
        let refusal = Refusal::new("no API server of the cluster answers, and one has to be told");
        return Err(vec![refusal.hint("see `kokctl status`, and mend a control plane first").passing()]);
    };
    let (mut plan, mut edges) = (Plan::default(), Vec::new());
    for name in wanted.hosts {
        edges.extend(enter(&mut plan, draft(name, wanted, speaker)).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    let making = compared(plan, seen, &Selection::whole())?;
    let refusals: Vec<Refusal> = wanted.hosts.iter().filter_map(|name| refused(name, &wanted.how, seen, speaker)).collect();
    if refusals.is_empty() { Ok(making) } else { Err(refusals) }
}

fn draft<'a>(name: &'a str, wanted: &Aside<'_>, speaker: &Host) -> Draft<'a> {
    let mut draft = Draft::new(name, TASK);
    let stays = Operation::CordonNode(CordonNode { node: name.to_owned(), by: Cordoner::Word });
    match &wanted.how {
        How::Cordon => drop(draft.add_on(&speaker.name, "stays-cordoned", stays)),
        How::Uncordon => {
            let lifted = UncordonNodes { nodes: vec![name.to_owned()], by: Cordoner::Word };
            draft.add_on(&speaker.name, "uncordoned", Operation::UncordonNodes(lifted));
        }
        How::Drain(settings) => {
            let drained = drained(&mut draft, name, speaker, (settings, wanted.hosts.len()));
            // Until then it is as if nothing had been: a drain that fails leaves the node as it was.
            let stays = draft.add_on(&speaker.name, "stays-cordoned", stays);
            draft.needs(&stays, &drained, Reason::Because("a drain that fails lifts its own cordon"));
        }
    }
    draft
}

fn refused(name: &str, how: &How, seen: &Seen, speaker: &Host) -> Option<Refusal> {
    let state = seen.observations(&speaker.name).kubernetes.as_ref()?;
    let KubernetesState::Ready { nodes, .. } = state else { return None };
    let Some(node) = nodes.get(name) else {
        let known = listed(nodes.keys().map(String::as_str));
        return Some(
            Refusal::new(format!("the cluster has no node {name}")).because(format!("its nodes are {known}")).hint("see `kokctl status`"),
        );
    };
    match how {
        How::Uncordon if node.cordon == Cordon::Others => {
            let refusal = Refusal::new(format!("{name} was not cordoned by kokctl")).at(format!("node {name}"));
            let refusal = refusal.because("whoever did it may still need it");
            Some(refusal.hint(format!("find out who; then `kubectl uncordon {name}`")))
        }
        How::Drain(settings) => lost_pods(name, settings, seen, speaker),
        _ => None,
    }
}
