//! Notes about wishes that are not done yet, or done in another way: what happens instead.

use super::Input;
use crate::Notice;
use crate::variables::{Outcome, variable};

/// Adds the note of each variable that has one and whose value is not done yet, or does what it says by other means.
pub(super) fn remark(input: &mut Input) {
    let noted = input.variables.iter().filter(|given| matches!(given.outcome, Outcome::NotYet | Outcome::Honoured));
    let found = noted.filter_map(|given| {
        let note = variable(&given.name)?.note?;
        Some(Notice::new(note.message).at(&given.position).because(note.because).hint(note.hint))
    });
    let found: Vec<Notice> = found.collect();
    input.notices.extend(found);
}
