//! A kernel module.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, ModuleState, Observations};
use crate::script::Fragment;
use crate::shell::quote;

/// A kernel module that is loaded or built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelModule {
    /// Name as `modprobe` takes it.
    pub name: String,
}

impl KernelModule {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::KernelModule(self.name.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.modules.get(&self.name)) {
            ModuleState::Loaded => Verdict::Same,
            ModuleState::Loadable | ModuleState::Missing => Verdict::differs(ChangeKind::Load, "it is neither loaded nor built in"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("modprobe -- {}\n", quote(&self.name))))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![format!("kernel module {}", self.name)]
    }

    pub(super) fn title(&self) -> String {
        format!("kernel module {}", self.name)
    }
}
