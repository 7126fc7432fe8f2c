//! What a user has done on hosts before or after something that kokctl does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Content, Text};
use crate::Position;

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookPlace {
    /// Before anything is changed on a host.
    BeforePreparation,
    /// When a host has all that Kubernetes needs of it, and before anything of Kubernetes is started there.
    AfterPreparation,
    /// Before the kubelet of a host is started or changed.
    BeforeJoin,
    /// When the host is a node.
    AfterJoin,
    /// When new pods are kept away from a node, and before those that are there leave it.
    BeforeDrain,
    /// When the pods have left the node, and before anything is stopped there.
    AfterDrain,
    /// Before something on a host gets another version of Kubernetes.
    BeforeUpgrade,
    /// When everything on a host has it, and its node takes pods again.
    AfterUpgrade,
    /// Before a host leaves the cluster.
    BeforeRemoval,
    /// When nothing of the cluster is left on a host.
    AfterRemoval,
}

impl HookPlace {
    /// All of them, in the order of a host's life.
    pub const ALL: [Self; 10] = [
        Self::BeforePreparation,
        Self::AfterPreparation,
        Self::BeforeJoin,
        Self::AfterJoin,
        Self::BeforeDrain,
        Self::AfterDrain,
        Self::BeforeUpgrade,
        Self::AfterUpgrade,
        Self::BeforeRemoval,
        Self::AfterRemoval,
    ];

    /// Those that hosts without Kubernetes have.
    pub const OF_FLEETS: [Self; 2] = [Self::BeforePreparation, Self::AfterPreparation];

    /// Whether it comes after what it is named for.
    #[must_use]
    pub const fn comes_after(self) -> bool {
        matches!(self, Self::AfterPreparation | Self::AfterJoin | Self::AfterDrain | Self::AfterUpgrade | Self::AfterRemoval)
    }

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforePreparation => "beforePreparation",
            Self::AfterPreparation => "afterPreparation",
            Self::BeforeJoin => "beforeJoin",
            Self::AfterJoin => "afterJoin",
            Self::BeforeDrain => "beforeDrain",
            Self::AfterDrain => "afterDrain",
            Self::BeforeUpgrade => "beforeUpgrade",
            Self::AfterUpgrade => "afterUpgrade",
            Self::BeforeRemoval => "beforeRemoval",
            Self::AfterRemoval => "afterRemoval",
        }
    }
}

/// What becomes of a run whose hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// What comes after the hook is not begun.
    #[default]
    Stop,
    /// The run goes on, and says so.
    Go,
}

/// A script of a user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Its name, which no other hook has.
    pub name: String,
    /// When it runs.
    pub at: HookPlace,
    /// Names of the hosts that it is for, each of which is there.
    pub hosts: BTreeSet<String>,
    /// Whether it runs on one host alone, for all of them: in a Cluster a control plane, in a Fleet the first of them.
    pub once: bool,
    /// What it runs; a template is none.
    pub script: Content,
    /// A path that says by being there that nothing is to be done.
    pub creates: Option<String>,
    /// A command of the shell that says by ending well that nothing is to be done.
    pub unless: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// Variables of its environment that nobody may see.
    pub secrets: BTreeMap<String, Text>,
    /// What becomes of the run if it fails.
    pub on_failure: OnFailure,
    /// Where it begins in the file.
    pub origin: Position,
}
