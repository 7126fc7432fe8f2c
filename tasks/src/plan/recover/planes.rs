//! The control planes that go on with the new etcd.

use super::{API_SERVER, MEMBER, READY, STARTED};
use crate::observe::Observations;
use crate::operations::{ApiServerReady, KubeletRegisters, ManifestsBack, Operation};
use crate::plan::draft::Draft;
use crate::plan::id::StepId;
use crate::plan::reason::Reason;
use crate::recovery::Recovery;

/// An API server that answers by the new etcd. The kubelet beside it was started while there was none, and asks it at once then.
pub(super) fn api_server(draft: &mut Draft<'_>, seen: &Observations, after: &StepId) {
    let ready = draft.add(API_SERVER, Operation::ApiServerReady(ApiServerReady::default()));
    draft.within(READY);
    draft.needs(&ready, after, Reason::Because("it is not ready before etcd is"));
    if let Some(operation) = KubeletRegisters::without_api_server(seen) {
        let asks = draft.add("asks-again", Operation::KubeletRegisters(operation));
        draft.needs(&asks, &ready, Reason::Because("it would find nobody again"));
    }
}

/// A control plane whose etcd is no part of it goes on with what it had.
pub(super) fn starts_again(draft: &mut Draft<'_>, recovery: &Recovery, seen: &Observations) {
    let started = draft.add(STARTED, Operation::ManifestsBack(ManifestsBack { recovery: recovery.clone() }));
    let member = StepId::new(&recovery.host, super::TASK, MEMBER);
    draft.needs(&started, &member, Reason::Because("it is not ready before etcd is"));
    api_server(draft, seen, &started);
}
