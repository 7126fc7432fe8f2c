//! After a control plane's kubelet got another version: its static pods have been made anew, and work.

use super::ready::said_briefly;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{API_SERVER, ApiServerState, CONTROLLERS, ETCD, EtcdState, Look, Observations};
use crate::resources::Act;

/// A kubelet of another version may take the static pods that run for others than those that it reads: it knows them by a sum over all fields that its version
/// has (`kubelet/config/common.go`, `applyDefaults`). It then starts new ones and ends the old ones within some seconds, API server and etcd among them,
/// whatever is asked of them meanwhile. Nothing is done here but to wait until that is over: before, neither another control plane may be disturbed nor a load
/// balancer made anew, which takes every API server for ready at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPodsSettled {
    /// When the kubelet was started that was seen before the run, in microseconds since boot: that one makes nothing anew.
    pub was_started_microseconds: Option<u64>,
    /// Whether a member of etcd is among them.
    pub with_etcd: bool,
}

/// A program that can't have its port yet, for the old one has it, has ended by then.
const SETTLED_NANOSECONDS: i128 = 3_000_000_000;

/// What it has not begun by then it does not do: it reads manifests at its start, and again after this time (`fileCheckFrequency`, 20 s), on a busy host later.
const BEGUN_NANOSECONDS: i128 = 30_000_000_000;

const KUBELET: &str = "kubelet.service";

impl StaticPodsSettled {
    pub(super) fn looks(&self) -> Vec<Look> {
        let etcd = self.with_etcd.then_some(Look::Etcd);
        [Look::Unit(KUBELET.to_owned()), Look::Programs, Look::ApiServer].into_iter().chain(etcd).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let unit = seen!(seen.units.get(KUBELET));
        let programs = seen!(&seen.programs);
        let wait = |because: String| Verdict::differs(ChangeKind::Wait, because);
        let Some(kubelet) = seen.started_nanoseconds(KUBELET).filter(|_| unit.active == "active") else {
            return wait(format!("the kubelet is {}; `journalctl -u kubelet` on the host says why", unit.active));
        };
        let is_another = self.was_started_microseconds != Some(unit.started_microseconds);
        let has_begun = !is_another || seen.clock_nanoseconds - kubelet >= BEGUN_NANOSECONDS;
        for program in [API_SERVER].into_iter().chain(CONTROLLERS).chain(self.with_etcd.then_some(ETCD)) {
            match programs.get(program) {
                None => return wait(format!("{program} does not run")),
                Some(started) if *started < kubelet && has_begun => {}
                Some(started) if *started < kubelet => return wait(format!("the new kubelet may still make {program} anew")),
                Some(started) if seen.clock_nanoseconds - started >= SETTLED_NANOSECONDS => {}
                Some(_) => return wait(format!("{program} was started just now")),
            }
        }
        self.answers(seen)
    }

    fn answers(&self, seen: &Observations) -> Verdict {
        let wait = |because: String| Verdict::differs(ChangeKind::Wait, because);
        match seen!(&seen.api_server) {
            ApiServerState::Ready => {}
            ApiServerState::NotReady(output) => return wait(said_briefly(output)),
            ApiServerState::Absent => return wait("the API server can't be asked".to_owned()),
        }
        if !self.with_etcd {
            return Verdict::Same;
        }
        match seen!(&seen.etcd) {
            EtcdState::Ready(member) if member.has_leader => Verdict::Same,
            _ => wait("the member of etcd does not answer yet".to_owned()),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "static pods are as the kubelet of another version makes them".to_owned()
    }
}
