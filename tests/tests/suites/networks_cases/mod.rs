//! The parts of the tests.

pub mod balanced;
pub mod both;
pub mod flannel;
pub mod manifest;
pub mod moving;
pub mod take_over;
