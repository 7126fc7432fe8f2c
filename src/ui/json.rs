//! Events as JSON Lines on standard output.

use serde::Serialize;

use super::status_line;
use super::trouble::note;
use crate::event::{Event, Sink};
use crate::failure::{Failure, Kind};
use crate::ui::line;

/// Prints every event as one line of JSON.
#[derive(Debug, Default)]
pub struct Json;

impl Sink for Json {
    fn take(&mut self, event: &Event) {
        if let Ok(text) = serde_json::to_string(event) {
            line(&text);
        }
        note(&event.kind).iter().for_each(|text| status_line(text));
    }
}

/// Prints a document as one line of JSON.
///
/// # Errors
/// [`Failure`] if it has no form in JSON, which is a defect.
pub fn json_line(document: &impl Serialize) -> Result<(), Vec<Failure>> {
    let text = serde_json::to_string(document).map_err(|error| vec![Failure::new(Kind::Internal, error.to_string())])?;
    line(&text);
    Ok(())
}
