//! What the story of histories needs.

pub mod document;
pub mod life;
