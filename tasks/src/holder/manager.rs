//! Who keeps a cluster as it is described: a mark in the holder record of each host, between runs.
//!
//! An operator whose Cluster is declared would mend what anybody else changes, and another one that has the same hosts would do so for ever. So each
//! of its runs leaves its mark beside the epoch, and whoever is not that controller is refused as if it held the host, until it is taken over.

use std::collections::{BTreeMap, BTreeSet};

use super::{Standing, word};
use crate::plan::Refusal;

/// The controller that keeps a host as it is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// The controller of its runs, as [`Holder::controller`](super::Holder::controller).
    pub controller: String,
    /// `CLUSTER@NAMESPACE` of the operator, for people.
    pub by: String,
}

impl Manager {
    /// What a record says of it, if it says so.
    pub(super) fn read(field: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        let controller = field("manager").filter(|controller| !controller.is_empty())?;
        Some(Self { controller, by: field("by").unwrap_or_else(|| "unknown".to_owned()) })
    }
}

/// What a run leaves in the record when it lets go: its epoch, and who keeps the host from now on.
#[must_use]
pub fn left_line(epoch: u64, manager: Option<&Manager>) -> String {
    match manager {
        Some(Manager { controller, by }) => format!("epoch={epoch} manager={} by={}", word(controller), word(by)),
        None => format!("epoch={epoch}"),
    }
}

/// Somebody else who keeps hosts as they are described there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherManager {
    /// For people.
    pub by: String,
    /// The hosts that have its mark.
    pub hosts: BTreeSet<String>,
}

impl OtherManager {
    /// Those whose marks hosts have, besides `controller`.
    #[must_use]
    pub fn all(standing: &BTreeMap<String, Standing>, controller: &str) -> Vec<Self> {
        let mut others: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
        for (host, standing) in standing {
            if let Some(manager) = standing.manager.as_ref().filter(|manager| manager.controller != controller) {
                others.entry((&manager.controller, &manager.by)).or_default().insert(host.clone());
            }
        }
        others.into_iter().map(|((_, by), hosts)| Self { by: by.to_owned(), hosts }).collect()
    }

    /// Why nothing is done on these hosts.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let hosts = self.hosts.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let by = &self.by;
        Refusal::new("an operator keeps these hosts as its Cluster describes them")
            .at(format!("host {hosts}"))
            .because(format!("the last run there was of {by}, which has `mode: Declarative`: it would mend what is changed here"))
            .hint("change that Cluster, or give it `mode: OnDemand` and run an operation; if that operator is no more, run once with --take-over")
            .passing()
    }
}
