//! What is sent to a host, and what of it changes.

use crate::artifact::Artifact;
use crate::script::Fragment;

/// How much of a path a resource changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// All of it.
    Whole,
    /// Some lines, beside those of others.
    Part,
    /// All of it, with everything below.
    Tree,
}

/// What is sent to a host to bring about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A script; those of resources that can begin on a host, or only wait for each other, become one.
    Script(Fragment),
    /// A script that is sent again and again while looks say that it is still to do, until the step's deadline.
    Until {
        /// The script.
        script: Fragment,
        /// What is sent once the deadline is over, so that nothing stays as the script has left it.
        give_up: Option<Fragment>,
    },
    /// A script that consumes an artifact on its standard input, on a channel of its own.
    Stream {
        /// The script.
        script: Fragment,
        /// What it reads.
        artifact: Artifact,
    },
    /// A script that fetches an artifact from elsewhere, on a channel of its own.
    Fetch(Fragment),
    /// Nothing: what is waited for comes about by itself or by earlier steps.
    Wait,
}

impl Act {
    /// The script that brings the change about; nothing for what is only waited for.
    #[must_use]
    pub fn script(&self) -> Option<&Fragment> {
        match self {
            Self::Script(script) | Self::Fetch(script) | Self::Until { script, .. } | Self::Stream { script, .. } => Some(script),
            Self::Wait => None,
        }
    }
}
