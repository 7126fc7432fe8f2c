//! A small file with its content, mode and owner.

use kok_crds::model::Text;
use similar::TextDiff;

use super::Act;
use super::owner::{Owner, Rights};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::digest::sha256;
use crate::observe::{Kind, Look, Observations, PathState};
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;
use crate::shell::quote;

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Absolute path; its folder exists or is made by an earlier step.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Whose it is.
    pub owner: Owner,
    /// What stands in it.
    pub content: FileContent,
}

/// Content of a [`File`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// This text, shown in plans.
    Text(String),
    /// This text, which nobody may see: it has a name in scripts and plans, and is compared by its digest.
    Hidden {
        /// By which it is given out.
        name: SecretName,
        /// The text.
        text: Text,
    },
    /// Made or read at the time of the run, and compared only once it was written: whether it has to be written again, and why, was decided by
    /// the task that knows how to judge it. `None` says that what stands there is right.
    Secret {
        /// What is written.
        name: SecretName,
        /// What is wrong with the file that stands there.
        replace: Option<Replace>,
        /// A file that fits only what stood here before, such as the certificate of a key. It is removed first, so that whatever interrupts
        /// a run leaves no pair that does not fit: the next one misses that file, and both are made anew.
        without: Option<String>,
    },
}

/// The judgement on a file that was found: it has to be written again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    /// Why.
    pub because: String,
    /// When the file that was judged was changed last, in nanoseconds since 1970. The judgement holds for that file only: one that was
    /// written since then is another one, and the second look must not find fault with it.
    pub changed_nanoseconds: i128,
}

/// What is shown of a secret that differs.
const HIDDEN: &str = "‹secret: changed›";

/// Why a secret is written again that was written a moment ago.
pub(crate) const NOT_AS_SENT: &str = "its content is not what was sent";

impl File {
    /// A file with this text that everybody may read.
    #[must_use]
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(path, 0o644, FileContent::Text(text.into()))
    }

    /// A file of root's.
    #[must_use]
    pub fn new(path: impl Into<String>, mode: u32, content: FileContent) -> Self {
        Self { path: path.into(), mode, owner: Owner::default(), content }
    }

    /// The same of somebody else.
    #[must_use]
    pub fn owned(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// The same with other permissions.
    #[must_use]
    pub fn mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let path = self.path.clone();
        let look = match &self.content {
            FileContent::Text(text) => Look::File { path, expected: Some(sha256(text.as_bytes())) },
            FileContent::Hidden { .. } => Look::File { path, expected: None },
            FileContent::Secret { .. } => Look::Path(path),
        };
        [look].into_iter().chain(self.owner.looks()).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let is = match seen!(seen.paths.get(&self.path)) {
            PathState::Missing => return self.created(),
            PathState::Present(is) if is.kind != Kind::File => {
                return Verdict::differs(ChangeKind::Create, "something that is no regular file stands in its place");
            }
            PathState::Present(is) => is,
        };
        match &self.content {
            FileContent::Text(text) if is.sha256.as_deref() != Some(&sha256(text.as_bytes())) => {
                return self.replaced(text, seen);
            }
            FileContent::Hidden { text, .. } if is.sha256.as_deref() != Some(&sha256(text.expose().as_bytes())) => {
                let mut change = Change::new(ChangeKind::Write, "its content is not what it should be");
                change.diff = Some(HIDDEN.to_owned());
                return Verdict::Differs(change);
            }
            FileContent::Secret { .. } if seen.written.get(&self.path) == Some(&false) => {
                return Verdict::differs(ChangeKind::Write, NOT_AS_SENT);
            }
            FileContent::Secret { replace: Some(judged), .. } if judged.changed_nanoseconds == is.changed_nanoseconds => {
                return Verdict::differs(ChangeKind::Write, judged.because.clone());
            }
            _ => {}
        }
        self.rights().diff(is, seen)
    }

    fn rights(&self) -> Rights<'_> {
        Rights { mode: self.mode, owner: &self.owner }
    }

    fn created(&self) -> Verdict {
        let mut change = Change::new(ChangeKind::Create, "it does not exist");
        change.diff = match &self.content {
            FileContent::Text(text) => Some(unified(&self.path, "", text)),
            FileContent::Hidden { .. } => Some(HIDDEN.to_owned()),
            FileContent::Secret { .. } => None,
        };
        Verdict::Differs(change)
    }

    fn replaced(&self, text: &str, seen: &Observations) -> Verdict {
        let found = seen.contents.get(&self.path).map(|bytes| String::from_utf8_lossy(bytes));
        let mut change = Change::new(ChangeKind::ReplaceContent, "its content is not what it should be");
        change.diff = found.map(|found| unified(&self.path, &found, text));
        Verdict::Differs(change)
    }

    /// Where only mode or owner are wrong the content is left alone: of a secret nobody could write the same again.
    pub(super) fn act(&self, change: &Change) -> Act {
        if matches!(change.kind, ChangeKind::Mode(_) | ChangeKind::Owned { .. }) {
            return Act::Script(Fragment::text(self.rights().script(&self.path)));
        }
        let mut fragment = Fragment::default();
        let content = match &self.content {
            FileContent::Text(text) => Content::Bytes(text.as_bytes()),
            FileContent::Hidden { name, .. } | FileContent::Secret { name, .. } => Content::Secret(name),
        };
        if let FileContent::Secret { without: Some(other), .. } = &self.content {
            fragment.line(&format!("rm -f {}", quote(other)));
        }
        fragment.put_as(&self.path, self.mode, &self.owner.argument(), content);
        Act::Script(fragment)
    }

    pub(super) fn secret_files(&self) -> Vec<(String, SecretName)> {
        match &self.content {
            FileContent::Secret { name, .. } => vec![(self.path.clone(), name.clone())],
            // What is compared by its own digest needs no comparison by the host.
            FileContent::Text(_) | FileContent::Hidden { .. } => Vec::new(),
        }
    }

    /// What it gives out by name.
    pub(super) fn given(&self) -> Option<(&SecretName, &Text)> {
        if let FileContent::Hidden { name, text } = &self.content { Some((name, text)) } else { None }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("file {}", self.path)
    }
}

pub(crate) fn unified(path: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(2)
        .header(&format!("{path} (host)"), &format!("{path} (desired)"))
        .to_string()
}
