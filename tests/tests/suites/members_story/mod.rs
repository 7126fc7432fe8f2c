//! What the story of members needs.

pub mod killed;
pub mod load;
