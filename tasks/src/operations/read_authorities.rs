//! Programs that go by the certificate authorities that are there.

use super::tasks_of::{diff_of, end, looks_of};
use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::resources::Act;

/// A static pod of this host goes by files that it reads at its start and never again, such as those of the authorities that it trusts (etcd's
/// `--trusted-ca-file`, an API server's `--etcd-cafile` and `--kubelet-certificate-authority`). One that is older than them is ended, and the kubelet starts it
/// anew; one that does not run will read what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAuthorities {
    /// Its program.
    pub program: &'static str,
    /// Absolute paths of the files.
    pub paths: Vec<String>,
}

impl ReadAuthorities {
    fn readers(&self) -> Vec<(&str, &str)> {
        self.paths.iter().map(|path| (self.program, path.as_str())).collect()
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        looks_of(&self.readers())
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        diff_of(&self.readers(), seen)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        end(&[self.program])
    }

    pub(super) fn title(&self) -> String {
        format!("{} knows the authorities that are there", self.program)
    }
}
