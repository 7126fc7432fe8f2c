//! The distribution's store of certificate authorities.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::distribution::{Distribution, TrustPlaces};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::Fragment;

/// The bundle of all authorities that programs read is newer than each that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    /// Where additional authorities lie.
    pub folder: &'static str,
    /// The file that programs read.
    bundle: &'static str,
    /// What makes the one from the other.
    command: &'static str,
    /// Files of additional authorities, absolute.
    pub anchors: Vec<String>,
}

impl TrustStore {
    /// The store of a family of distributions, with nothing added.
    #[must_use]
    pub fn of(distribution: &Distribution) -> Self {
        let TrustPlaces { folder, bundle, command, .. } = distribution.trust;
        Self { folder, bundle, command, anchors: Vec::new() }
    }

    /// The same with these files added.
    #[must_use]
    pub fn with(self, anchors: Vec<String>) -> Self {
        Self { anchors, ..self }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        self.anchors.iter().map(String::as_str).chain([self.bundle]).map(|path| Look::Path(path.to_owned())).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let made = match seen!(seen.paths.get(self.bundle)) {
            PathState::Present(is) => is.changed_nanoseconds,
            PathState::Missing if self.anchors.is_empty() => return Verdict::Same,
            PathState::Missing => return Verdict::differs(ChangeKind::Update, format!("{} does not exist", self.bundle)),
        };
        for path in &self.anchors {
            match seen!(seen.paths.get(path)) {
                PathState::Present(is) if is.changed_nanoseconds <= made => {}
                _ => return Verdict::differs(ChangeKind::Update, format!("{path} is newer than what programs read")),
            }
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("{} >/dev/null\n", self.command)))
    }

    pub(super) fn title(&self) -> String {
        "certificate authorities that programs trust".to_owned()
    }
}
