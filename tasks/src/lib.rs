//! Facts, resources, operations, tasks and the plan: everything that decides, without I/O.
pub mod bundle;
pub mod shell;
