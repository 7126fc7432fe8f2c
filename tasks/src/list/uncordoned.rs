//! Nodes from which a run kept new pods away that did not come to its end take them again.

use kok_crds::model::Host;

use super::vacated;
use crate::drain::Cordoner;
use crate::observe::KubernetesState;
use crate::operations::{Operation, UncordonNodes};
use crate::plan::{Draft, HostView, Reason, StepId};

/// Adds the step to what the speaker does, if there is anything to lift. What somebody asked for by a word stays.
pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>, administrators: &StepId) {
    let Some(KubernetesState::Ready { nodes, .. }) = view.kubernetes() else { return };
    let is_left = |name: &&String| nodes.get(*name).is_some_and(|node| node.cordon.is_of_run());
    // A node that pods are to leave in this run is cordoned for that.
    let stay = |host: &&Host| !vacated::is_planned(view, host);
    let nodes: Vec<String> = view.cluster().nodes().filter(stay).map(|host| &host.name).filter(is_left).cloned().collect();
    if !nodes.is_empty() {
        let lifted = draft.add("uncordoned", Operation::UncordonNodes(UncordonNodes { nodes, by: Cordoner::Run }));
        draft.needs(&lifted, administrators, Reason::Because("only administrators may"));
    }
}
