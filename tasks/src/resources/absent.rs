//! Files of ours that have had their time.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, glob};
use crate::script::Fragment;
use crate::shell::quote;

/// Nothing at the paths that match a pattern, but for some. The pattern must match files of ours only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Absolute path in which `*`, if there is one, stands for any text without `/`.
    pub pattern: String,
    /// Paths that stay.
    pub except: Vec<String>,
    /// Whether each file goes with the folder that it lies in, and everything there.
    pub with_folder: bool,
}

impl Absent {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Matching(self.pattern.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let found = seen!(seen.matching.get(&self.pattern));
        let extra: Vec<&str> = found.iter().map(String::as_str).filter(|path| !self.except.iter().any(|kept| kept == path)).collect();
        if extra.is_empty() {
            Verdict::Same
        } else {
            Verdict::differs(ChangeKind::Remove, format!("{} is no longer asked for", extra.join(", ")))
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let kept: Vec<String> = self.except.iter().map(|path| quote(path)).collect();
        let keep = if kept.is_empty() { String::new() } else { format!("    {}) continue;;\n", kept.join("|")) };
        let remove = if self.with_folder { "rm -rf -- \"${path%/*}\"" } else { "rm -f -- \"$path\"" };
        let pattern = glob(&self.pattern);
        Act::Script(Fragment::text(format!(
            "for path in {pattern}; do\n  case \"$path\" in\n{keep}    *) [ ! -e \"$path\" ] || {remove};;\n  esac\ndone\n"
        )))
    }

    pub(super) fn title(&self) -> String {
        format!("no other {}", self.pattern)
    }
}
