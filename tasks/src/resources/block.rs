//! Lines of ours in a file that others write too.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{BLOCK_BEGIN, BLOCK_END, Look, Observations, Piece, literal, marks};
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// A block between two marks in a file that belongs to the owner of the host. Lines outside of it are not touched; blocks that stand twice
/// become one, at the end of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Absolute path. The file is made if it is not there.
    pub path: String,
    /// The lines between the marks, each ended.
    pub text: String,
    /// What stands behind the marks of a block that a user declares, of which a file may have several; ours has none.
    pub mark: Option<String>,
}

impl Block {
    /// A block of ours.
    #[must_use]
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), mark: None }
    }

    fn marks(&self) -> (String, String) {
        self.mark.as_ref().map_or_else(|| (BLOCK_BEGIN.to_owned(), BLOCK_END.to_owned()), |mark| marks(mark))
    }

    fn marked(&self) -> String {
        let (begin, end) = self.marks();
        format!("{begin}\n{}{end}\n", self.text)
    }

    fn piece(&self) -> Option<Piece> {
        self.mark.as_ref().map(|mark| Piece::Block { path: self.path.clone(), mark: mark.clone() })
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![self.piece().map_or_else(|| Look::Block(self.path.clone()), Look::Piece)]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let found = seen!(self.piece().map_or_else(|| seen.blocks.get(&self.path), |piece| seen.pieces.get(&piece)));
        if *found == self.marked() {
            return Verdict::Same;
        }
        let (kind, because) = match found.lines().filter(|line| *line == self.marks().0).count() {
            0 => (ChangeKind::Add, "it has no block of kokctl"),
            1 => (ChangeKind::Replace, "its block is not what it should be"),
            _ => (ChangeKind::Replace, "it has more than one block of kokctl"),
        };
        let mut change = Change::new(kind, because);
        change.diff = Some(super::unified(&self.path, found, &self.marked()));
        Verdict::Differs(change)
    }

    /// Where a mark has lost its other half, only the marks are removed: what stands behind may be the owner's.
    pub(super) fn act(&self, _: &Change) -> Act {
        let path = quote(&self.path);
        let (begin, end) = self.marks();
        let (first, last) = (format!("/^{}$/", literal(&begin)), format!("/^{}$/", literal(&end)));
        let range = quote(&format!("{first},{last}d"));
        let mut fragment = Fragment::text(format!(
            "file={path}\ntemporary=\"${{file%/*}}/.kokctl-${{file##*/}}\"\ntrap '[ ! -e \"$temporary\" ] || rm -f \"$temporary\"' EXIT\nclear_temporary\n\
             [ -e \"$file\" ] || (umask 022; : >\"$file\")\ncp -p -- \"$file\" \"$temporary\"\n\
             if [ \"$(grep -cxF -e {} \"$file\" || :)\" = \"$(grep -cxF -e {} \"$file\" || :)\" ]; then\n\
             \x20 sed {range} \"$file\" >\"$temporary\"\n\
             else\n  sed -e {} -e {} \"$file\" >\"$temporary\"\nfi\n\
             [ -z \"$(tail -c 1 \"$temporary\")\" ] || echo >>\"$temporary\"\n",
            quote(&begin),
            quote(&end),
            quote(&format!("{first}d")),
            quote(&format!("{last}d")),
        ));
        fragment.feed(Content::Bytes(self.marked().as_bytes()), "cat >>\"$temporary\"");
        fragment.line("sync \"$temporary\"\nmv -fT \"$temporary\" \"$file\"");
        fragment.renames_into(&self.path);
        Act::Script(fragment)
    }

    pub(super) fn writes(&self) -> Vec<String> {
        let mark = self.mark.as_ref().map(|mark| format!("block {mark} of {}", self.path));
        vec![mark.unwrap_or_else(|| self.path.clone())]
    }

    pub(super) fn title(&self) -> String {
        format!("block in {}", self.path)
    }
}
