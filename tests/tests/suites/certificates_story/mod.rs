//! What the story of certificates does to hosts.

pub mod aged;
mod under_load;
