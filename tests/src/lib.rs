//! The lab, the release and the end-to-end tests of kokctl.

pub mod lab;
pub mod release;
