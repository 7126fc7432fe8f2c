//! Why one step comes after another.

use std::fmt;

/// Why one step comes after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The later one lies in the folder that the earlier one makes.
    Inside,
    /// The later one reads the file that the earlier one writes.
    Reads,
    /// The later one runs the program that the earlier one installs.
    Runs,
    /// The later one talks to the service that the earlier one starts.
    TalksTo,
    /// The later one starts containers of the image that the earlier one imports.
    StartsImage,
    /// The later one needs kernel settings that the earlier one makes.
    NeedsKernel,
    /// Anything else, in words that complete the sentence "because …".
    Because(&'static str),
    /// The later one uses what the earlier one has made, in such words, and that ends by itself ([`Step::lasts`]): it is made again if it is too
    /// old when the later one begins. For scripts, not for what is streamed or waited for.
    UsesFresh(&'static str),
    /// Both would disturb what works if they were done at once, in such words. The later one needs nothing of the earlier one: where either is no
    /// change, neither waits for the other nor is stopped by what stops it.
    InTurn(&'static str),
    /// The later one is of no use, or does harm, while the earlier one has not come about, in such words. Where either is no change, or the earlier one is
    /// no part of the run, there is nothing to wait for.
    While(&'static str),
}

impl Reason {
    /// Whether the order counts only where both steps are changes.
    #[must_use]
    pub const fn is_of_changes(&self) -> bool {
        matches!(self, Self::InTurn(_) | Self::While(_))
    }
}

impl Reason {
    /// Its kind, as it stands in documents.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Reads => "reads",
            Self::Runs => "runs",
            Self::TalksTo => "talks-to",
            Self::StartsImage => "starts-image",
            Self::NeedsKernel => "needs-kernel",
            Self::Because(_) => "because",
            Self::UsesFresh(_) => "uses-fresh",
            Self::InTurn(_) => "in-turn",
            Self::While(_) => "while",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inside => "it lies in that folder",
            Self::Reads => "it reads that file",
            Self::Runs => "it runs that program",
            Self::TalksTo => "it talks to that service",
            Self::StartsImage => "it starts containers of that image",
            Self::NeedsKernel => "it needs that setting of the kernel",
            Self::Because(words) | Self::UsesFresh(words) | Self::InTurn(words) | Self::While(words) => words,
        })
    }
}
