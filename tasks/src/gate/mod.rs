//! The gate: whether something may be disturbed now, on a view of the cluster that is seconds old. Pure.
//!
//! Who asks says what is to be done and whether it is only wanted or repairs what is broken. Every disruption goes through here: nothing else
//! decides that a member of etcd, an API server or a node may go away for a while.

mod cause;
mod looks;
mod rules;
mod view;

pub use cause::Cause;
pub use looks::{first_looks, further_looks};
pub use view::{Lists, Member, MemberState, NodeLife, Plane, View, api_server_url, member_url, workers_at_a_time};

/// What disturbs something that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disruption {
    /// A member is added that learns.
    AddLearner {
        /// Its host.
        host: String,
    },
    /// A member that learns gets its vote.
    Promote {
        /// Its host.
        host: String,
    },
    /// A member leaves etcd's list.
    RemoveMember {
        /// Its id.
        member: u64,
        /// Why it goes.
        why: Removal,
    },
    /// Another member leads.
    MoveLeader {
        /// The id of the one that leads.
        from: u64,
    },
    /// A member is started anew.
    RestartMember {
        /// Its host.
        host: String,
    },
    /// An API server is started anew.
    RestartApiServer {
        /// Its host.
        host: String,
    },
    /// A host is stopped, and its member with it.
    StopHost {
        /// The host.
        host: String,
    },
    /// The data of a member are defragmented; it does not answer meanwhile.
    Defragment {
        /// Its host.
        host: String,
    },
    /// The pods of a worker go elsewhere.
    DrainWorker {
        /// The host.
        host: String,
    },
    /// A kubelet is started anew: the pods of its node are taken for not ready for some seconds.
    RestartKubelet {
        /// The host.
        host: String,
    },
}

/// Why a member leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It works, and its host leaves the cluster.
    Leaving,
    /// It is dead.
    Dead,
    /// It was never started.
    Unstarted,
    /// It only learns.
    Learner,
}

/// Whether a disruption is only wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// What is disturbed works.
    Wanted,
    /// What is disturbed did not work, and this mends it.
    Repair,
}

/// What the gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// Now.
    Allow,
    /// Not now; it may come about by itself.
    Wait(Cause),
    /// Not before somebody has done something about it.
    Refuse(Cause),
}

impl Disruption {
    /// Whether it is one of etcd.
    #[must_use]
    pub const fn is_of_etcd(&self) -> bool {
        !matches!(self, Self::RestartApiServer { .. } | Self::DrainWorker { .. } | Self::RestartKubelet { .. })
    }

    /// Whether it is one of nodes.
    #[must_use]
    pub const fn is_of_nodes(&self) -> bool {
        matches!(self, Self::DrainWorker { .. } | Self::RestartKubelet { .. })
    }
}

/// Whether `op` may be done now.
#[must_use]
pub fn gate(op: &Disruption, need: Need, view: &View) -> Ruling {
    rules::judge(op, need, view).map_or_else(|ruling| ruling, |()| Ruling::Allow)
}

// Here and not among the tests of the whole crate, for they take single conditions out of the gate, which no release can.
#[cfg(test)]
#[path = "../../tests/decide/gate.rs"]
mod tests;
