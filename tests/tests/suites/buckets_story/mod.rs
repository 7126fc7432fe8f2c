//! What the story of buckets needs.

pub mod line;
pub mod server;
