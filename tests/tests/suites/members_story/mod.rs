//! What the story of members needs.

pub mod load;
