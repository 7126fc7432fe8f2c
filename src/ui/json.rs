//! Events as JSON Lines on standard output.

use crate::run::{Event, Sink};
use crate::ui::line;

/// Prints every event as one line of JSON.
#[derive(Debug, Default)]
pub struct Json;

impl Sink for Json {
    fn take(&mut self, event: &Event) {
        if let Ok(text) = serde_json::to_string(event) {
            line(&text);
        }
    }
}
