//! A host becomes part of a cluster.

use super::reset::RESET_BEGUN;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Kind, Look, Observations, PathState, STATE_DIRECTORY};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// The record of whose host it is. It comes before every other change and goes last, so that whatever interrupts a run, a host that was
/// changed says by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Name of the cluster.
    pub cluster: String,
    /// Its random id, made with the cluster; nothing while that is not known.
    pub id: Option<String>,
}

impl Claim {
    fn path() -> String {
        format!("{STATE_DIRECTORY}/cluster")
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(Self::path()), Look::Content(Self::path()), Look::Path(RESET_BEGUN.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(&Self::path())) {
            PathState::Present(is) if is.kind == Kind::File => {}
            _ => return Verdict::differs(ChangeKind::Record, "the host belongs to no cluster yet"),
        }
        if *seen!(seen.paths.get(RESET_BEGUN)) != PathState::Missing {
            return Verdict::differs(ChangeKind::Record, "a reset was begun, and did not come to its end");
        }
        let content = seen.contents.get(&Self::path()).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
        let mut lines = content.lines();
        if lines.next() != Some(self.cluster.as_str()) {
            return Verdict::differs(ChangeKind::Record, "the record does not name this cluster");
        }
        match (lines.next(), &self.id) {
            (_, None) => Verdict::Same,
            (Some(there), Some(id)) if there == id => Verdict::Same,
            _ => Verdict::differs(ChangeKind::Record, "the record does not have the cluster's id"),
        }
    }

    /// The precondition has refused a host with another record; here it is made sure that none came in between.
    pub(super) fn act(&self, _: &Change) -> Act {
        let (path, name, id) = (Self::path(), quote(&self.cluster), quote(self.id.as_deref().unwrap_or_default()));
        let mut fragment = Fragment::text(format!(
            "mkdir -p -m 700 {STATE_DIRECTORY}\nchmod 700 {STATE_DIRECTORY}\n\
             name=; id=; [ ! -s {path} ] || {{ read -r name || :; read -r id || :; }} <{path}\n\
             if {{ [ -n \"$name\" ] && [ \"$name\" != {name} ]; }} || {{ [ -n \"$id\" ] && [ \"$id\" != {id} ]; }}; then\n  \
             echo \"the host belongs to the cluster $name (id $id)\" >&2; exit 1\nfi\n"
        ));
        let id = self.id.as_ref().map(|id| format!("{id}\n")).unwrap_or_default();
        fragment.put(&path, 0o600, Content::Bytes(format!("{}\n{id}", self.cluster).as_bytes()));
        fragment.line(&format!("rm -f {RESET_BEGUN}"));
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        format!("record that the host belongs to the cluster {}", self.cluster)
    }
}
