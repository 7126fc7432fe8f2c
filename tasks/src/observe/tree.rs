//! What was unpacked of an archive, looked at without its answer growing with the archive.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use kok_crds::model::{Member, MemberKind};

use crate::shell::quote;

/// What has to be below a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedTree {
    /// The folder, absolute.
    pub into: String,
    /// What `stat` prints of owners: words of its format, each followed by a blank.
    pub owner_format: String,
    /// The same words as they have to be.
    pub owner: String,
    /// Each path that has to be there. More may be there.
    pub members: Arc<[Member]>,
}

/// The last line of the list. No path is like it, so a list that something cut off lacks it.
const END: &str = "--END-OF-LIST--";

/// As many of what differs are told by a host.
const MOST_TOLD: usize = 20;

/// The S_IFMT bits of stat(2) that the mode of a link has, whatever it was made with.
const LINK: u32 = 0o120_777;

impl ExpectedTree {
    /// What `stat`, `sha256sum` and `readlink` print of it, one a line.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Member { path, kind } in self.members.iter() {
            let mode = match kind {
                MemberKind::File { mode, .. } => 0o100_000 | mode,
                MemberKind::Folder { mode } => 0o040_000 | mode,
                MemberKind::Link { .. } => LINK,
            };
            lines.push(format!("{mode:x} {}{path}", self.owner));
            match kind {
                MemberKind::File { sha256, .. } => lines.push(format!("{sha256}  {path}")),
                MemberKind::Link { target } => lines.push(format!("{path}\t-> {target}")),
                MemberKind::Folder { .. } => {}
            }
        }
        lines
    }

    fn paths(&self, is_wanted: fn(&MemberKind) -> bool) -> String {
        let paths = self.members.iter().filter(|member| is_wanted(&member.kind));
        paths.map(|member| quote(&member.path)).collect::<Vec<_>>().join(" ")
    }

    /// A script that prints those of the lines that are not so, and the last line of the list.
    pub(super) fn look(&self) -> String {
        let (all, files, links) = (
            self.paths(|_| true),
            self.paths(|kind| matches!(kind, MemberKind::File { .. })),
            self.paths(|kind| matches!(kind, MemberKind::Link { .. })),
        );
        let mut script = format!("( cd -- {} || exit 0\n", quote(&self.into));
        // Without a path they would wait for an input.
        if !all.is_empty() {
            let _ = writeln!(script, "stat -c {} -- {all}", quote(&format!("%f {}%n", self.owner_format)));
        }
        if !files.is_empty() {
            let _ = writeln!(script, "sha256sum -- {files}");
        }
        if !links.is_empty() {
            let _ = writeln!(script, "for link in {links}; do printf '%s\\t-> %s\\n' \"$link\" \"$(readlink -- \"$link\")\"; done");
        }
        let most = MOST_TOLD + 1;
        let _ = writeln!(script, ") 2>/dev/null | LC_ALL=C grep -avxF -f - /dev/fd/3 3<<'{END}-' | tail -n {most}");
        for line in self.lines() {
            let _ = writeln!(script, "{line}");
        }
        let _ = write!(script, "{END}\n{END}-");
        script
    }

    /// The paths that are not as they have to be, as far as they were told; nothing where it could not be found out.
    #[must_use]
    pub fn wrong<'a>(&'a self, answer: &str) -> Option<Vec<&'a str>> {
        let mut lines: Vec<&str> = answer.lines().collect();
        if lines.pop() != Some(END) {
            return None;
        }
        let paths: BTreeSet<&str> = lines.iter().filter_map(|line| self.path_of(line)).collect();
        let wrong: Vec<&str> = self.members.iter().map(|member| member.path.as_str()).filter(|path| paths.contains(path)).collect();
        // A host may say what it likes.
        if wrong.is_empty() && !lines.is_empty() { None } else { Some(wrong) }
    }

    fn path_of<'a>(&self, line: &'a str) -> Option<&'a str> {
        /// Digits of a digest by SHA-256.
        const DIGITS: usize = 64;
        if let Some((path, _)) = line.split_once("\t-> ") {
            return Some(path);
        }
        let of_sum = line.split_at_checked(DIGITS).filter(|(sum, _)| sum.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if let Some(path) = of_sum.and_then(|(_, rest)| rest.strip_prefix("  ")) {
            return Some(path);
        }
        line.split_once(' ')?.1.strip_prefix(&self.owner)
    }

    /// Whether more may be wrong than was told.
    #[must_use]
    pub fn is_cut_off(answer: &str) -> bool {
        answer.lines().count() > MOST_TOLD
    }
}
