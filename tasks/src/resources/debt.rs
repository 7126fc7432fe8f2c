//! That a hook is owed: written down before what makes it be owed begins, and paid by the hook.

use kok_crds::model::HookPlace;

use super::{Act, File, FileContent};
use crate::change::{Change, Verdict};
use crate::digest::sha256;
use crate::observe::{Look, Observations, PathState, STATE_DIRECTORY};

/// A file that says for which occasion a hook is owed. Whoever goes on with what was begun does the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debt {
    /// The hook.
    pub hook: String,
    /// Where that comes.
    pub at: HookPlace,
    /// The hosts that it is about.
    pub about: Vec<String>,
    file: File,
    /// What stands there when it is paid. Nothing does where the same may be owed again.
    paid: Option<String>,
}

impl Debt {
    /// After an upgrade to a version. There is one of each, so that it was paid is kept.
    #[must_use]
    pub fn of_upgrade(hook: &str, about: Vec<String>, version: &str) -> Self {
        let file = File::text(format!("{STATE_DIRECTORY}/hook-{hook}:owed"), format!("{version}\n"));
        Self { hook: hook.to_owned(), at: HookPlace::AfterUpgrade, about, file, paid: Some(format!("{version} paid\n")) }
    }

    /// When hosts have left, kept by another one: of one of them, or of all together. Whoever comes back may leave again.
    #[must_use]
    pub fn of_removal(hook: &str, about: Vec<String>, removed: Option<&str>) -> Self {
        // No name of a hook or a host has a `:`.
        let suffix = removed.map(|host| format!(":{host}")).unwrap_or_default();
        let file = File::text(format!("{STATE_DIRECTORY}/hook-{hook}{suffix}:owed"), "removal\n");
        Self { hook: hook.to_owned(), at: HookPlace::AfterRemoval, about, file, paid: None }
    }

    /// Where the host keeps it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.file.path
    }

    /// What stands there.
    #[must_use]
    pub fn text(&self) -> &str {
        if let FileContent::Text(text) = &self.file.content { text } else { "" }
    }

    /// What stands there when it is paid; nothing does where there is nothing then.
    #[must_use]
    pub fn paid(&self) -> Option<&str> {
        self.paid.as_deref()
    }

    /// Whether it is open; nothing if nobody has looked.
    pub(super) fn is_open(&self, seen: &Observations) -> Option<bool> {
        seen.paths.get(self.path()).map(|_| self.file.diff(seen) == Verdict::Same)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        self.file.looks()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let is_paid = |paid: &str| matches!(seen.paths.get(self.path()), Some(PathState::Present(is)) if is.sha256.as_deref() == Some(&sha256(paid.as_bytes())));
        if self.paid().is_some_and(is_paid) { Verdict::Same } else { self.file.diff(seen) }
    }

    pub(super) fn act(&self, change: &Change) -> Act {
        self.file.act(change)
    }

    pub(super) fn writes(&self) -> Vec<String> {
        self.file.writes()
    }

    pub(super) fn title(&self) -> String {
        format!("hook {} is owed", self.hook)
    }
}
