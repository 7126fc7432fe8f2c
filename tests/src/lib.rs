//! The lab, the release and the end-to-end tests of kokctl.

pub mod release;
