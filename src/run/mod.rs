//! Carrying out: connections, probes, secrets, and the dispatcher that runs a plan.

mod batch;
mod clock;
mod dispatch;
mod event;
mod link;
mod outcome;
mod probe;
mod progress;
mod schedule;
mod secrets;
mod target;

pub use clock::{Clock, random_bytes};
pub use dispatch::Dispatcher;
pub use event::{Event, EventKind, Events, FORMAT, Lane, Sink, Told, elapsed};
pub use link::{Links, connect_all};
pub use outcome::{Outcome, StepFailure};
pub use probe::{LookAt, look, probe_all};
pub use secrets::{Secrets, SystemRandomness, Token};
pub use target::targets;
