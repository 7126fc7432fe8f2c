//! Who gets the keys, and who reads them, in which order.

use kok_crds::model::{Cluster, Host};

use super::super::draft::Draft;
use super::super::id::{StepId, StepName};
use super::super::make::Seen;
use super::super::reason::Reason;
use super::{ENDED_WITHIN, READY, RUN, STARTED_WITHIN, TASK, TokenKeyRotation, TokenKeyStage, keys, signing_key, wanted};
use crate::gate::{Disruption, Need};
use crate::observe::NodeState;
use crate::operations::{ApiServerReady, ControllersRun, NodesReady, Operation, ReadTokenKeys, TokenKeysReader};
use crate::resources::{File, Resource};
use crate::speaker::speaker;
use crate::token_keys::TOKEN_KEYS;

/// Step after which the node of a control plane is Ready again.
const NODE_READY: StepName<'static> = StepName::new(TASK, "node");

/// The files of all hosts at once, for whoever runs has read his; then who reads them, one host after the other.
pub(super) fn of_host<'a>(
    (cluster, host): (&Cluster, &'a Host),
    rotation: &TokenKeyRotation<'_>,
    seen: &Seen,
    before: Option<&Host>,
) -> Draft<'a> {
    let mut draft = Draft::new(&host.name, TASK);
    let signs = signing_key(rotation, seen, host).map(|file| draft.add("key", Resource::File(file)));
    let keys = wanted(rotation, &keys(seen, host));
    let known = draft.add("keys", Resource::File(File::text(TOKEN_KEYS, keys.text()).mode(0o600)));
    if let Some(signs) = &signs {
        draft.needs(&known, signs, Reason::Because("it says which key signs"));
    }
    let read = draft.add("api-server-reads", Operation::ReadTokenKeys(ReadTokenKeys { reader: TokenKeysReader::ApiServer }));
    draft.within(ENDED_WITHIN);
    draft.gated(&read, Disruption::RestartApiServer { host: host.name.clone() }, Need::Wanted);
    draft.follows(&read, &known, Reason::Reads);
    if let Some(signs) = &signs {
        draft.follows(&read, signs, Reason::Reads);
    }
    let ready = draft.add(READY, Operation::ApiServerReady(ApiServerReady { version: None }));
    draft.within(STARTED_WITHIN);
    draft.follows(&ready, &read, Reason::Because("the kubelet starts it again"));
    node_ready(&mut draft, (cluster, host), seen, &ready);
    if let Some(before) = before {
        let in_turn = Reason::InTurn("what works is started anew only while everything before it works");
        if ready_node(cluster, seen, before).is_some() {
            draft.needs(&read, &NODE_READY.on(&before.name), in_turn);
        } else {
            draft.needs(&read, &READY.on(&before.name), in_turn);
        }
    }
    if rotation.stage == TokenKeyStage::Signs {
        controllers(&mut draft, (signs.as_ref(), &ready), before);
    }
    draft
}

fn controllers(draft: &mut Draft<'_>, (signs, ready): (Option<&StepId>, &StepId), before: Option<&Host>) {
    let read = draft.add("controllers-read", Operation::ReadTokenKeys(ReadTokenKeys { reader: TokenKeysReader::ControllerManager }));
    draft.within(ENDED_WITHIN);
    draft.needs(&read, ready, Reason::Because("it gives back its lease through the API server beside it"));
    if let Some(signs) = signs {
        draft.follows(&read, signs, Reason::Reads);
    }
    if let Some(before) = before {
        draft.needs(&read, &RUN.on(&before.name), Reason::InTurn("of several controller managers one has to go on"));
    }
    let run = draft.add(RUN, Operation::ControllersRun(ControllersRun));
    draft.within(STARTED_WITHIN);
    draft.follows(&run, &read, Reason::Because("the kubelet starts it again"));
}

/// The node of a control plane, where it is Ready before the run.
fn ready_node<'a>(cluster: &Cluster, seen: &'a Seen, host: &Host) -> Option<&'a NodeState> {
    let kubernetes = seen.observations(&speaker(cluster, seen)?.name).kubernetes.as_ref()?;
    kubernetes.node(&host.name).filter(|node| node.ready)
}

/// The kubelet beside it asks no other API server, and its node may be taken for lost until it is heard again.
fn node_ready(draft: &mut Draft<'_>, (cluster, host): (&Cluster, &Host), seen: &Seen, ready: &StepId) {
    let (Some(node), Some(speaker)) = (ready_node(cluster, seen, host), speaker(cluster, seen)) else { return };
    let versions = [(host.name.clone(), node.kubelet_version.trim_start_matches('v').to_owned())].into();
    let step = draft.add_on(&speaker.name, NODE_READY, Operation::NodesReady(NodesReady { versions }));
    draft.within(STARTED_WITHIN);
    draft.follows(&step, ready, Reason::Because("its kubelet asks the API server beside it"));
}
