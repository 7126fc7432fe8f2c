//! The chapters of the story, in their order.

pub mod again;
pub mod drift;
pub mod killed;
pub mod outside;
pub mod reset;
pub mod workload;
