//! The seam between the dispatcher, which decides, and whatever reaches the hosts: SSH, or a model of hosts in tests.

use std::time::Duration;

use kok_tasks::observe::{Looks, Observations};
use kok_tasks::plan::Step;
use kok_tasks::resources::Act;

use super::schedule::HostLane;

/// Steps of one host that are done by one script.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) host: String,
    pub(super) lane: HostLane,
    pub(super) steps: Vec<(Step, Act)>,
    /// How often the first of the steps was begun, this time included.
    pub(super) attempt: u32,
    pub(super) deadline: Duration,
}

/// What was said of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Acted {
    /// The action ended without an error; the second look decides.
    Ended,
    /// The action ended with an error; what it printed.
    Failed(String),
    /// An earlier step of the order failed, so this one was not begun.
    NotBegun,
    /// Nobody heard; the second look decides.
    Unknown,
}

/// What came of an order.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// Of each step, in the order of the steps.
    pub(super) acted: Vec<Acted>,
    /// What was printed by steps of which that is told, by their places among the steps.
    pub(super) outputs: Vec<(usize, String)>,
    /// What the second look saw.
    pub(super) seen: Observations,
    /// Whether the host was started anew since the run began.
    pub(super) restarted: bool,
}

/// Why an order has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OrderTrouble {
    /// The link broke or was not there. Whether anything was begun is known or not; looking again tells.
    Lost { because: String, begun: bool },
    /// No end within the deadline. It may still be at work.
    Late { because: String },
    /// The host did not come back, or does not let us in any more.
    Gone {
        /// Why.
        because: String,
        /// Whether nothing answers there, or nothing lets anybody in.
        is_away: bool,
    },
    /// Another run holds the host.
    Held { because: String },
    /// Anything else; trying again would not help.
    Failed { because: String, unknown: bool },
}

/// Reaches hosts.
pub(super) trait Hosts: Send + Sync + 'static {
    /// Carries out an order, and looks at what became of it.
    fn act(&self, order: &Order) -> impl Future<Output = Result<Answer, OrderTrouble>> + Send;

    /// After an order without an answer: reaches the host again, waits until nothing of the order is at work any more (at the most
    /// `patience`), and says what is known of it. Acts never.
    fn settle(&self, order: &Order, patience: Duration) -> impl Future<Output = Result<Answer, OrderTrouble>> + Send;

    /// Looks at a host.
    fn look(&self, host: &str, looks: Looks) -> impl Future<Output = Result<Observations, OrderTrouble>> + Send;

    /// Whether there is a connection to a host at all: to those that are no part of the run there is none.
    fn reaches(&self, host: &str) -> bool;

    /// `text` without any secret in it, for everything that leaves the program.
    fn redact(&self, text: &str) -> String;
}
