//! Reading what others write too: a field that we don't know is no mistake there, but its author is told that it does nothing.

use super::{Decoder, Field, Fields, Form};
use crate::tree::{Entry, Value};
use crate::words::{nearest, quote};
use crate::{Notice, Problem};

impl Decoder {
    /// Records what a user should know.
    pub(crate) fn note(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// The notices in the order of the file; they are forgotten here.
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.sort_by(|a, b| a.position.cmp(&b.position));
        self.notices.dedup();
        std::mem::take(&mut self.notices)
    }

    /// The fields of a map, with a notice for each that the form lacks. To misspell one of these is a mistake: whatever it leads to would
    /// count as never said.
    pub(crate) fn fields_but<'a>(&mut self, field: &Field<'a>, form: &Form, needed: &[&str]) -> Option<Fields<'a>> {
        let entries = self.entries(field, form.what)?;
        let unknown = |entry: &&Entry| !form.fields.contains(&entry.key.as_str()) && !matches!(entry.node.value, Value::Null);
        let is_there = |name: &str| entries.iter().any(|entry| entry.key == name);
        let mut misspelled = Vec::new();
        for entry in entries.iter().filter(unknown) {
            let meant = nearest(&entry.key, form.fields).filter(|name| needed.contains(name) && !is_there(name));
            match meant {
                Some(name) => self.report(misspelling(entry, name, form)),
                None => self.note(unused(entry, form)),
            }
            misspelled.extend(meant);
        }
        Some(Fields::new(field, form, entries, misspelled))
    }
}

impl Fields<'_> {
    /// Whether the field stands there under a misspelled name.
    pub(crate) fn is_misspelled(&self, name: &str) -> bool {
        self.misspelled.contains(&name)
    }
}

fn misspelling(entry: &Entry, name: &str, form: &Form) -> Problem {
    Problem::new(format!("unknown field {}", quote(&entry.key)))
        .at(&entry.key_position)
        .because(format!("{} has no field of that name, and what it leads to would not be read", form.what))
        .hint(format!("did you mean `{name}`?"))
}

fn unused(entry: &Entry, form: &Form) -> Notice {
    let notice = Notice::new(format!("{} of {} is not used", quote(&entry.key), form.what)).at(&entry.key_position);
    if let Some((_, because)) = form.refused.iter().find(|(name, _)| *name == entry.key) {
        return notice.because(*because);
    }
    let notice = notice.because("this version does not know the field");
    match nearest(&entry.key, form.fields) {
        Some(name) => notice.hint(format!("did you mean `{name}`?")),
        None => notice,
    }
}
