//! A group of users.

use super::Act;
use super::owner::field;
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, Piece};
use crate::script::Fragment;
use crate::shell::quote;

/// A group. Who is in it is said of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its number; `None` takes it as it is.
    pub gid: Option<u32>,
    /// Whether it gets a number for programs when it is made.
    pub system: bool,
}

impl Group {
    fn piece(&self) -> Piece {
        Piece::Group(self.name.clone())
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Piece(self.piece())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let line = seen!(seen.pieces.get(&self.piece()));
        let Some(is) = field(line, 2) else { return Verdict::differs(ChangeKind::Create, "it does not exist") };
        match self.gid.map(|gid| gid.to_string()) {
            Some(gid) if gid != is => Verdict::differs(ChangeKind::SetTo(format!("gid {gid}")), format!("it has gid {is}")),
            _ => Verdict::Same,
        }
    }

    pub(super) fn act(&self) -> Act {
        let name = quote(&self.name);
        let gid = self.gid.map(|gid| format!(" -g {gid}")).unwrap_or_default();
        let system = if self.system { " -r" } else { "" };
        Act::Script(Fragment::text(format!(
            "if getent group -- {name} >/dev/null; then\n  groupmod{gid} -- {name}\nelse\n  groupadd{system}{gid} -- {name}\nfi\n"
        )))
    }

    pub(super) fn title(&self) -> String {
        format!("group {}", self.name)
    }
}
