//! etcd on other hosts, as a control plane reaches it.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{ETCD_HEALTHY, Look, Observations};
use crate::resources::Act;

/// More than half of the members answer the control plane, with the certificate that its API server will have, and have a leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdAnswers {
    /// URLs of all members.
    pub endpoints: Vec<String>,
}

impl EtcdAnswers {
    pub(super) fn looks(&self) -> Vec<Look> {
        self.endpoints.iter().cloned().map(Look::EtcdEndpoint).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let (mut healthy, mut last) = (0, None);
        for url in &self.endpoints {
            match seen!(seen.etcd_endpoints.get(url)) {
                answer if answer == ETCD_HEALTHY => healthy += 1,
                answer => last = Some((url, answer)),
            }
        }
        if healthy * 2 > self.endpoints.len() {
            return Verdict::Same;
        }
        let answer = last.map(|(url, answer)| {
            let line = answer.lines().next_back().unwrap_or_default();
            // What kubectl adds is meant for somebody who typed the address.
            format!("; {url}: {}", line.split(" - did you").next().unwrap_or_default())
        });
        let (all, answer) = (self.endpoints.len(), answer.unwrap_or_default());
        Verdict::differs(ChangeKind::Wait, format!("{healthy} of {all} members of etcd answer, and more than half have to{answer}"))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "etcd answers the control plane".to_owned()
    }
}
