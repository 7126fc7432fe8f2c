//! Lines of ours in a file that others write too.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{BLOCK_BEGIN, BLOCK_END, Look, Observations};
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
}

impl Block {
    fn marked(&self) -> String {
        format!("{BLOCK_BEGIN}\n{}{BLOCK_END}\n", self.text)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Block(self.path.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let found = seen!(seen.blocks.get(&self.path));
        if *found == self.marked() {
            return Verdict::Same;
        }
        let (kind, because) = match found.matches(BLOCK_BEGIN).count() {
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
        let mut fragment = Fragment::text(format!(
            "file={path}\ntemporary=\"${{file%/*}}/.kokctl-${{file##*/}}\"\ntrap 'rm -f \"$temporary\"' EXIT\nrm -f \"$temporary\"\n\
             if [ -e \"$file\" ]; then cp -p -- \"$file\" \"$temporary\"; else (umask 022; : >\"$file\"; : >\"$temporary\"); fi\n\
             if [ \"$(grep -c '^{BLOCK_BEGIN}$' \"$file\" || :)\" = \"$(grep -c '^{BLOCK_END}$' \"$file\" || :)\" ]; then\n\
             \x20 sed '/^{BLOCK_BEGIN}$/,/^{BLOCK_END}$/d' \"$file\" >\"$temporary\"\n\
             else\n  sed -e '/^{BLOCK_BEGIN}$/d' -e '/^{BLOCK_END}$/d' \"$file\" >\"$temporary\"\nfi\n\
             [ -z \"$(tail -c 1 \"$temporary\")\" ] || echo >>\"$temporary\"\n"
        ));
        fragment.feed(Content::Bytes(self.marked().as_bytes()), "cat >>\"$temporary\"");
        fragment.line("sync \"$temporary\"\nmv -fT \"$temporary\" \"$file\"\nsync \"${file%/*}\"");
        Act::Script(fragment)
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("block in {}", self.path)
    }
}
