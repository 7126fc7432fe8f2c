//! The plan: what is to be done on which host, in which order and why. Data, and nothing else.

mod draft;
mod graph;
mod lint;
mod make;
mod refusal;

pub use draft::{Draft, HostView};
pub use graph::{Action, Plan, Reason, Step, StepId};
pub use lint::{Finding, lint};
pub use make::{Inputs, Making, Seen, looks, make, reset};
pub use refusal::Refusal;
