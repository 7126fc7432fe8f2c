//! Parts of the story of a backup.

pub mod five;
pub mod rehearsed;
pub mod timer;
