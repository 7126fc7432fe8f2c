//! Packages by their names.

use super::Act;
use super::packages::{Manager, install};
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, Piece};

/// Packages of the host's own sources, by their names. Those that are there are neither updated nor held; what has to be there for the sake of a
/// command is said by [`super::Packages`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPackages {
    /// What installs them.
    pub manager: Manager,
    /// Their names.
    pub names: Vec<String>,
    /// Variables of the proxy, if they come through one.
    pub environment: Vec<(String, String)>,
}

impl NamedPackages {
    pub(super) fn looks(&self) -> Vec<Look> {
        self.names.iter().map(|name| Look::Piece(Piece::Package(name.clone()))).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let mut missing = Vec::new();
        for name in &self.names {
            if seen!(seen.pieces.get(&Piece::Package(name.clone()))).is_empty() {
                missing.push(name.as_str());
            }
        }
        match missing.as_slice() {
            [] => Verdict::Same,
            [one] => Verdict::differs(ChangeKind::Install, format!("{one} is not installed")),
            _ => Verdict::differs(ChangeKind::Install, format!("{} are not installed", missing.join(", "))),
        }
    }

    pub(super) fn act(&self) -> Act {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        install(self.manager, &names, &self.environment, None)
    }

    pub(super) fn title(&self) -> String {
        format!("packages {}", self.names.join(", "))
    }
}
