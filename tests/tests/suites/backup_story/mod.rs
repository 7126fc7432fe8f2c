//! Parts of the story of a backup.

pub mod rehearsed;
