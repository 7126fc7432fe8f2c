//! Workers that an upgrade takes together.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Serial;
use crate::Position;

/// Workers whose kubelets an upgrade changes before those of the next pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Its name, which no other has.
    pub name: String,
    /// Its hosts, each of one pool alone.
    pub hosts: BTreeSet<String>,
    /// How many of them may be away at a time; the cluster's `serial` where it is not said.
    pub serial: Option<Serial>,
    /// Pools of a lower one come first; of the same, those that stand first in the file.
    pub order: i64,
    /// How long a node has to be Ready with its new kubelet before another one is taken.
    pub soak: Duration,
    /// Where it stands.
    pub origin: Position,
}
