//! The parts of the test.

pub mod nodes;
pub mod objects;
