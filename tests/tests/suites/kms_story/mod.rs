//! What the story of a KMS plugin needs.

pub mod befalls;
pub mod plugin;
pub mod seen;
