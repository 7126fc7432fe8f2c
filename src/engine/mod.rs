//! The verbs, for every caller: they return data, and never print, ask or read the environment.
//!
//! A caller brings a [`Context`]: who it is, whom it tells, by what it reaches hosts, and what it wishes meanwhile. Two of them in one
//! process know nothing of each other.

mod context;
mod converge;
mod given;
mod plan;

pub use context::Context;
pub use converge::{Planned, Tolerance, converge, take_down, take_out};
pub use given::Given;
pub use plan::{PlanRequest, plan};
