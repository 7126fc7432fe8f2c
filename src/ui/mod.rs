//! What people and machines see: failures in one form, and the consumers of the event stream.

mod failure;
mod json;
mod text;
mod writer;

pub use failure::{Failure, Kind};
pub use json::Json;
pub use text::Terminal;
pub use writer::{line, status_line};
