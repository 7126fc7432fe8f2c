//! Resources: desired pieces of a host. A closed enum; each kind says what to look at, compares, and renders its change. All pure.

mod archive;
mod binary;
mod directory;
mod file;
mod image;
mod kernel_module;
mod sysctl;
mod unit;

pub use archive::Archive;
pub use binary::Binary;
pub use directory::Directory;
pub use file::{File, FileContent, Replace};
pub use image::Image;
pub use kernel_module::KernelModule;
pub use sysctl::Sysctl;
pub use unit::{Unit, UnitGoal};

use crate::artifact::Artifact;
use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::script::Fragment;

/// A desired piece of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A file whose content is known, or made at the time of the run.
    File(File),
    /// A directory.
    Directory(Directory),
    /// An executable file out of the bundle.
    Binary(Binary),
    /// Files out of an archive of the bundle.
    Archive(Archive),
    /// An image in containerd.
    Image(Image),
    /// A kernel parameter, now; what makes it last over a reboot is a file.
    Sysctl(Sysctl),
    /// A kernel module, now; what makes it last over a reboot is a file.
    KernelModule(KernelModule),
    /// A systemd unit.
    Unit(Unit),
}

/// What is sent to a host to bring about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A script; consecutive ones of a host become one.
    Script(Fragment),
    /// A script that consumes an artifact on its standard input, on a channel of its own.
    Stream {
        /// The script.
        script: Fragment,
        /// What it reads.
        artifact: Artifact,
    },
    /// Nothing: what is waited for comes about by itself or by earlier steps.
    Wait,
}

macro_rules! each {
    ($self:ident, $it:ident => $call:expr) => {
        match $self {
            Resource::File($it) => $call,
            Resource::Directory($it) => $call,
            Resource::Binary($it) => $call,
            Resource::Archive($it) => $call,
            Resource::Image($it) => $call,
            Resource::Sysctl($it) => $call,
            Resource::KernelModule($it) => $call,
            Resource::Unit($it) => $call,
        }
    };
}

impl Resource {
    /// What must be seen to compare.
    #[must_use]
    pub fn looks(&self) -> Vec<Look> {
        each!(self, it => it.looks())
    }

    /// Compares what was seen with what is desired.
    #[must_use]
    pub fn diff(&self, seen: &Observations) -> Verdict {
        each!(self, it => it.diff(seen))
    }

    /// What brings the change about.
    #[must_use]
    pub fn act(&self, change: &Change) -> Act {
        each!(self, it => it.act(change))
    }

    /// The path or name that this resource alone may write; two resources of a host with the same one are an error of the plan.
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        each!(self, it => it.writes())
    }

    /// What it is, for people.
    #[must_use]
    pub fn title(&self) -> String {
        each!(self, it => it.title())
    }
}
