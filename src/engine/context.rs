//! What a caller of the engine brings along.

use crate::event::Events;
use crate::remote::Transport;
use crate::state::Controller;

/// Who calls, whom it tells, and by what it reaches hosts. Whatever a run learns of secrets is in here, and ends with it.
#[derive(Clone)]
pub struct Context {
    /// Whose run it is, as it stands in the holder records of hosts.
    pub controller: Controller,
    /// Where it is told what happens.
    pub events: Events,
    /// By what hosts are reached.
    pub transport: Transport,
}
