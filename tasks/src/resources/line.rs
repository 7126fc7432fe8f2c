//! A line of a file that others write.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, Piece};
use crate::script::Fragment;
use crate::shell::quote;

/// A line that a file has. What else stands there is not touched, but for lines that give way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Absolute path. The file is made if it is not there.
    pub path: String,
    /// The line, without its end.
    pub line: String,
    /// Other lines that begin so are gone; the first of them is where the line is put if the file does not have it yet.
    pub starts_with: Option<String>,
}

/// The whole file with the line in it; values come by the environment, for an argument with `=` would be an assignment to awk.
const EDIT: &str = r#"BEGIN { line = ENVIRON["kok_line"]; start = ENVIRON["kok_start"] }
{ all[NR] = $0; if (($0 "") == (line "")) there = 1 }
END {
  for (i = 1; i <= NR; i++) {
    if ((all[i] "") != (line "") && start != "" && index(all[i], start) == 1) {
      if (!there) { print line; there = 1 }
      continue
    }
    print all[i]
  }
  if (!there) print line
}"#;

impl Line {
    fn piece(&self) -> Piece {
        Piece::Line { path: self.path.clone(), line: self.line.clone(), starts_with: self.starts_with.clone() }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Piece(self.piece())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let answer = seen!(seen.pieces.get(&self.piece()));
        let others: String = answer.lines().filter_map(|line| line.strip_prefix("- ")).map(|line| format!("{line}\n")).collect();
        let is_there = answer.lines().any(|line| line.strip_prefix("= ").is_some_and(|count| count != "0"));
        if is_there && others.is_empty() {
            return Verdict::Same;
        }
        let (kind, because) = match (is_there, others.is_empty()) {
            (false, true) => (ChangeKind::Add, "the line is missing"),
            (false, false) => (ChangeKind::Replace, "another line stands in its place"),
            (true, _) => (ChangeKind::Replace, "other lines stand beside it that begin so"),
        };
        let mut change = Change::new(kind, because);
        let is = if is_there { format!("{}\n{others}", self.line) } else { others };
        change.diff = Some(super::unified(&self.path, &is, &format!("{}\n", self.line)));
        Verdict::Differs(change)
    }

    pub(super) fn act(&self) -> Act {
        let (line, start) = (quote(&self.line), quote(self.starts_with.as_deref().unwrap_or_default()));
        let mut fragment = Fragment::text(format!(
            "file={path}\n[ ! -L \"$file\" ] || {{ echo \"$file is a symbolic link\" >&2; exit 1; }}\n\
             temporary=\"${{file%/*}}/.kokctl-${{file##*/}}\"\ntrap '[ ! -e \"$temporary\" ] || rm -f \"$temporary\"' EXIT\nclear_temporary\n\
             [ -e \"$file\" ] || (umask 022; : >\"$file\")\ncp -p -- \"$file\" \"$temporary\"\n\
             kok_line={line} kok_start={start} LC_ALL=C awk {edit} <\"$file\" >\"$temporary\"\n\
             sync \"$temporary\"\nmv -fT \"$temporary\" \"$file\"\n",
            path = quote(&self.path),
            edit = quote(EDIT),
        ));
        fragment.renames_into(&self.path);
        Act::Script(fragment)
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![format!("line of {}: {}", self.path, self.line)]
    }

    pub(super) fn title(&self) -> String {
        format!("line in {}", self.path)
    }
}
