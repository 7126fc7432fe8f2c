//! Builds and runs Kubernetes clusters on your own Linux hosts over SSH.
//!
//! This crate is the only one with I/O: it connects, sends what `kok-tasks` has decided, and tells what happened.

/// What the program has, tests have too.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod artifacts;
pub mod backup;
pub mod cli;
pub mod clock;
pub mod engine;
pub mod event;
pub mod failure;
pub mod inputs;
#[cfg(feature = "operator")]
pub mod operator;
mod plain_file;
pub mod pools;
pub mod randomness;
pub mod remote;
#[cfg(test)]
mod rooms;
pub mod run;
pub mod state;
pub mod ui;
