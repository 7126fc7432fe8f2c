//! The lab, the release, the benchmark and the end-to-end tests of kokctl.

pub mod bench;
pub mod dist;
pub mod lab;
pub mod release;
pub mod upstream;
