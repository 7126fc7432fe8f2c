//! Events for verbs that change nothing and show their result alone: only what is waited for is said.

use super::status_line;
use super::trouble::{note, trouble};
use crate::event::{Event, EventKind, Sink};

/// Says on standard error what a verb without a run waits for.
pub struct Notes;

impl Sink for Notes {
    fn take(&mut self, event: &Event) {
        note(&event.kind).iter().for_each(|text| status_line(text));
        if matches!(event.kind, EventKind::HostBusy { .. }) {
            trouble(&event.kind).iter().for_each(|text| status_line(text));
        }
    }
}
