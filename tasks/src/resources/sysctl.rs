//! A kernel parameter.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, sysctl_file};
use crate::script::Fragment;
use crate::shell::quote;

/// The present value of a kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysctl {
    /// Dotted name.
    pub name: String,
    /// The value, with single blanks between its words.
    pub value: String,
}

impl Sysctl {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Sysctl(self.name.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.sysctls.get(&self.name)) {
            Some(value) if value.split_ascii_whitespace().eq(self.value.split_ascii_whitespace()) => Verdict::Same,
            Some(value) => Verdict::differs(ChangeKind::SetTo(self.value.clone()), format!("it is {value}")),
            None => Verdict::differs(ChangeKind::SetTo(self.value.clone()), "the kernel does not have it yet"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let file = quote(&sysctl_file(&self.name));
        Act::Script(Fragment::text(format!("printf '%s\\n' {} >{file}\n", quote(&self.value))))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![format!("sysctl {}", self.name)]
    }

    pub(super) fn title(&self) -> String {
        format!("sysctl {}", self.name)
    }
}
