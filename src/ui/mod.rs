//! What people and machines see: failures in one form, and the consumers of the event stream.

mod board;
mod duration;
mod fetch_bar;
mod group;
mod json;
mod live;
mod notes;
mod question;
mod text;
mod trouble;
mod writer;

pub use duration::duration;
pub use fetch_bar::FetchBar;
pub use group::grouped;
pub(crate) use group::of_any_host;
pub use json::{Json, json_line};
pub use notes::Notes;
pub(crate) use question::{ask_hidden, is_terminal};
pub use text::Terminal;
pub use writer::{line, status_line, written};
