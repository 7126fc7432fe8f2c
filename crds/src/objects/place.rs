//! Where the text of a value stands in its file, character by character, so that what is wrong in an inventory is shown at its line of
//! the file that the user has open.

use std::sync::Arc;

use crate::{Place, Position};

/// A file by lines.
pub(super) struct Lines<'t> {
    file: Arc<str>,
    lines: Vec<&'t str>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(name: &str, text: &'t str) -> Self {
        Self { file: Arc::from(name), lines: text.lines().collect() }
    }

    /// Where a value stands that begins at a position. The file is compared with the value, so that a text in another spelling (folded,
    /// with escapes, through an alias) is never taken for one that stands there word by word.
    pub(super) fn place(&self, position: &Position, value: &str) -> Place {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let column = usize::try_from(position.column).unwrap_or(usize::MAX);
        let within = (!value.contains('\n')).then(|| self.within(line, column, value)).flatten();
        // A block begins at its `|`, at its first line, or at the first one that is not blank.
        let blank = value.lines().take_while(|line| line.trim().is_empty()).count();
        let block = || {
            let starts = [line, line.saturating_add(1), line.saturating_sub(blank), line.saturating_add(1).saturating_sub(blank)];
            starts.into_iter().find_map(|start| self.block(start, value))
        };
        let found = within.or_else(block);
        found.map_or_else(|| Place::At(position.clone()), |(line, indent)| self.found(line, indent))
    }

    fn found(&self, line: usize, indent: usize) -> Place {
        let number = |value| u64::try_from(value).unwrap_or(u64::MAX);
        Place::Block { file: Arc::clone(&self.file), first_line: number(line), indent: number(indent) }
    }

    fn line(&self, number: usize) -> Option<&'t str> {
        self.lines.get(number.checked_sub(1)?).copied()
    }

    /// A value on one line, plain or in quotes.
    fn within(&self, line: usize, column: usize, value: &str) -> Option<(usize, usize)> {
        let text = self.line(line)?;
        let stands_at = |column: usize| {
            let (start, _) = text.char_indices().nth(column)?;
            text.get(start..)?.starts_with(value).then_some((line, column))
        };
        let before = column.checked_sub(1)?;
        stands_at(before).or_else(|| stands_at(column))
    }

    /// A value of which each line stands behind as many spaces.
    fn block(&self, line: usize, value: &str) -> Option<(usize, usize)> {
        let outer = self.lines.get(line.checked_sub(1)?..)?;
        let mut pairs = value.lines().zip(outer);
        let indent = pairs.find(|(inner, _)| !inner.is_empty()).and_then(|(inner, outer)| outer.strip_suffix(inner))?;
        let stands = |(inner, outer): (&str, &&str)| match inner {
            "" => outer.trim().is_empty(),
            _ => outer.strip_prefix(indent) == Some(inner),
        };
        let all = outer.len() >= value.lines().count() && value.lines().zip(outer).all(stands);
        (all && indent.chars().all(|c| c == ' ')).then_some((line, indent.len()))
    }
}
