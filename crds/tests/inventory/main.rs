//! Inventories: who is in which group, in which order, and which of several values counts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

mod bad;
mod forms;
mod hostile;
mod large;
mod precedence;
mod round_trip;
mod select;
mod support;
