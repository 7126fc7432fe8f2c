//! What is pushed, where to, and by whom.

pub mod site;
pub mod small;
