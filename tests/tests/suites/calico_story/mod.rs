//! The parts of the test.

pub mod bgp;
pub mod policy;
pub mod sample;
