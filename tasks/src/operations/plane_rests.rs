//! Before a kubelet of another version starts, which makes all static pods anew.

use super::members::give_lead;
use super::tasks_of::end_scripts;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{API_SERVER, CONTROLLERS, Look, Observations};
use crate::resources::Act;
use crate::script::{Content, Fragment};

/// The host's kubelet rests, and API server, controller manager and scheduler have ended in their own time: clients have gone to others, and leases are given back
/// while there is an API server to give them to. From then on manifests may be written, and all of them count at once when a kubelet starts again. etcd goes on
/// until then; another member leads it before, while nobody writes ([`super::lead`]). The script moves a lead that came back since, or that could not be moved then:
/// a member that is asked to end does it by itself, but in the middle of everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlaneRests {
    /// Where the others reach the members that may lead instead of the host's own, those first that have had their turn, so that the lead is not given away again. Empty
    /// where that one goes on, or is alone.
    pub leaders: Vec<String>,
}

const KUBELET: &str = "kubelet.service";

const ENDS: [&str; 3] = [API_SERVER, CONTROLLERS[0], CONTROLLERS[1]];

impl PlaneRests {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Unit(KUBELET.to_owned()), Look::Programs]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let unit = seen!(seen.units.get(KUBELET));
        if unit.active == "active" || unit.active == "activating" {
            return Verdict::differs(ChangeKind::Stop, "it would start anew what is ended, and each manifest for itself");
        }
        let programs = seen!(&seen.programs);
        match ENDS.into_iter().find(|program| programs.contains_key(*program)) {
            Some(program) => {
                Verdict::differs(ChangeKind::Stop, format!("{program} would have its port yet when the kubelet starts another one"))
            }
            None => Verdict::Same,
        }
    }

    /// What does not end is killed as its kubelet would have done.
    pub(super) fn act(&self, _: &Change) -> Act {
        let script = format!("systemctl stop {KUBELET}\n{}{}", give_lead(&self.leaders), end_scripts(&ENDS));
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job plane-rests");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "kubelet rests, control plane ended".to_owned()
    }
}
