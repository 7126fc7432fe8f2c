//! Notes about wishes that are not done yet: what happens instead.

use super::Input;
use crate::Notice;
use crate::variables::{Outcome, variable};

/// Adds the note of each variable that has one and whose value is not done yet.
pub(super) fn remark(input: &mut Input) {
    let undone = input.variables.iter().filter(|given| given.outcome == Outcome::NotYet);
    let found = undone.filter_map(|given| {
        let note = variable(&given.name)?.note?;
        Some(Notice::new(note.message).at(&given.position).because(note.because).hint(note.hint))
    });
    let found: Vec<Notice> = found.collect();
    input.notices.extend(found);
}
