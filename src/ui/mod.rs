//! What people and machines see: failures in one form, and the consumers of the event stream.

mod board;
mod duration;
mod group;
mod json;
mod live;
mod notes;
mod text;
mod trace;
mod trouble;
mod writer;

pub use duration::duration;
pub use group::grouped;
pub(crate) use group::of_any_host;
pub use json::{Json, json_line};
pub use notes::Notes;
pub use text::Terminal;
pub use trace::Trace;
pub(crate) use writer::with_terminal;
pub use writer::{line, status_line, written};
