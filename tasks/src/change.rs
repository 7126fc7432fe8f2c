//! What a look at a host says of a step.

use std::borrow::Cow;
use std::fmt;

use kok_crds::model::Concealed;
use serde::{Deserialize, Serialize};

/// What is to be done about a difference. Whatever steers asks for it; its words are for people alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Add lines to a file that others write too.
    Add,
    /// Apply objects to the cluster.
    Apply,
    /// Bind a group to its rights.
    Bind,
    /// Have a program check the host.
    Check,
    /// Close to strangers what is open to them.
    Close,
    /// Keep new pods away from a node.
    Cordon,
    /// Make what does not exist.
    Create,
    /// Delete an object of the cluster that kokctl has not made.
    Delete,
    /// Not start with the host, from now on.
    Disable,
    /// Do a step again, because one that it follows changes.
    DoAgain,
    /// Start with the host, from now on.
    Enable,
    /// Have the pods of a node leave it.
    Evict,
    /// Bring an image into containerd.
    Import,
    /// Bring a program onto the host.
    Install,
    /// Become a node.
    Join,
    /// Load a module into the kernel.
    Load,
    /// Look whether a condition that holds still does, after something that it follows changed. Until then nothing differs.
    LookAgain,
    /// Label and taint a node.
    Mark,
    /// Set mode and owner of a file, and leave its content alone.
    Mode(u32),
    /// Mount a file system.
    Mount,
    /// Mount a file system where another one is.
    MountAnother,
    /// Nothing for now: the host can't be reached.
    NotNow,
    /// Set mode and owner of a path, and leave its content alone.
    Owned {
        /// The permission bits.
        mode: u32,
        /// The owner, for people.
        owner: String,
    },
    /// Open ports of the host.
    Open,
    /// Have the kubelet's kubeconfig name the kubelet's own certificate.
    PointToOwnCertificate,
    /// Start a host anew.
    Reboot,
    /// Write down what is so.
    Record,
    /// Have systemd read a unit's file again, and interrupt nothing.
    Reload,
    /// Give a mount its options.
    Remount,
    /// Take away.
    Remove,
    /// Bring a package manager to the end of what it began.
    Repair,
    /// Write lines anew in a file that others write too.
    Replace,
    /// Write a text file anew whose content is another.
    ReplaceContent,
    /// End and start a program.
    Restart,
    /// Make something of the host's network what it should be.
    Set,
    /// Run a script of the user's.
    Run,
    /// Give a setting this value.
    SetTo(String),
    /// Start a program.
    Start,
    /// End a program, and start it no more.
    Stop,
    /// Switch off swap.
    SwitchOff,
    /// Let new pods come to nodes again.
    Uncordon,
    /// Take a file system away from where it is mounted, if nothing uses it.
    Unmount,
    /// Have a program read its inputs again.
    Update,
    /// Put a configuration into the cluster.
    Upload,
    /// Wait for what comes about by itself or by earlier steps.
    Wait,
    /// Write files whose content is not shown.
    Write,
}

impl fmt::Display for ChangeKind {
    /// An imperative, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mode(mode) => return write!(f, "set mode {mode:04o} and owner root"),
            Self::Owned { mode, owner } => return write!(f, "set mode {mode:04o} and owner {owner}"),
            Self::SetTo(value) => return write!(f, "set to {value}"),
            Self::Add => "add",
            Self::Apply => "apply",
            Self::Bind => "bind to cluster-admin",
            Self::Check => "check",
            Self::Close => "close",
            Self::Cordon => "cordon",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Disable => "disable",
            Self::DoAgain => "do again",
            Self::Enable => "enable",
            Self::Evict => "evict its pods",
            Self::Import => "import",
            Self::Install => "install",
            Self::Join => "join",
            Self::Load => "load",
            Self::LookAgain => "look again",
            Self::Mark => "mark",
            Self::Mount => "mount",
            Self::MountAnother => "unmount what is there, and mount",
            Self::NotNow => "not now",
            Self::Open => "open",
            Self::PointToOwnCertificate => "point to the kubelet's own certificate",
            Self::Reboot => "start anew",
            Self::Record => "record",
            Self::Reload => "reload",
            Self::Remount => "mount anew with its options",
            Self::Remove => "remove",
            Self::Repair => "repair",
            Self::Replace => "replace",
            Self::ReplaceContent => "replace the content",
            Self::Restart => "restart",
            Self::Run => "run",
            Self::Set => "set",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::SwitchOff => "switch off",
            Self::Uncordon => "uncordon",
            Self::Unmount => "unmount",
            Self::Update => "update",
            Self::Upload => "upload",
            Self::Wait => "wait",
            Self::Write => "write",
        })
    }
}

/// Why and how a host differs from what is desired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What is to be done.
    pub kind: ChangeKind,
    /// What was seen that makes it necessary, for people.
    pub because: String,
    /// For a text file that is no secret: the difference as a unified diff.
    pub diff: Option<String>,
    /// Whether it is only assumed, because what would say so could not be asked.
    pub assumed: bool,
}

impl Change {
    /// A change without a text difference.
    #[must_use]
    pub fn new(kind: ChangeKind, because: impl Into<String>) -> Self {
        Self { kind, because: because.into(), diff: None, assumed: false }
    }

    /// What is to be done, as an imperative for people: `create`, `replace the content`, `restart` …
    #[must_use]
    pub fn summary(&self) -> String {
        self.kind.to_string()
    }

    /// Takes out of what is said what was encrypted in the user's files. A difference that has some of it goes as a whole: the other side of it is
    /// what was encrypted before, of which nobody knows where it ends.
    pub(crate) fn conceal(&mut self, concealed: &Concealed) {
        self.because = concealed.hide(&self.because).into_owned();
        if let ChangeKind::SetTo(value) = &mut self.kind {
            *value = concealed.hide(value).into_owned();
        }
        let has_some = |diff: &String| matches!(concealed.hide(diff), Cow::Owned(_));
        if self.diff.take_if(|diff| has_some(diff)).is_some() {
            self.because.push_str("; the difference is not shown, for it has what is encrypted in your files");
        }
    }
}

/// The outcome of comparing what was seen with what is desired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Same,
    /// Something to do.
    Differs(Change),
    /// The observation that decides is missing: the host must be asked first.
    Unseen,
}

impl Verdict {
    /// `Differs` with a change without a text difference.
    #[must_use]
    pub fn differs(kind: ChangeKind, because: impl Into<String>) -> Self {
        Self::Differs(Change::new(kind, because))
    }
}

/// Takes the observation out of an `Option`, or says that it is missing.
macro_rules! seen {
    ($observation:expr) => {
        match $observation {
            Some(observation) => observation,
            None => return $crate::change::Verdict::Unseen,
        }
    };
}
pub(crate) use seen;
