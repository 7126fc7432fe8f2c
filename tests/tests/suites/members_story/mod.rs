//! What the story of members needs.

pub mod died;
pub mod killed;
pub mod load;
