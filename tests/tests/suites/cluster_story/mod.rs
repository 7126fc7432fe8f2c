//! The chapters of the story, in their order.

pub mod addons;
pub mod drift;
pub mod journal;
pub mod killed;
pub mod other_clock;
pub mod outside;
pub mod reset;
pub mod saved;
