//! Resources: desired pieces of a host. A closed enum; each kind says what to look at, compares, and renders its change. All pure.

mod absent;
mod archive;
mod binary;
mod block;
mod directory;
mod fetch;
mod file;
mod firewall;
mod hostname;
mod image;
mod kernel_module;
mod no_swap;
mod package_archive;
mod packages;
mod selinux;
mod sysctl;
mod unit;
mod user;

pub use absent::Absent;
pub use archive::Archive;
pub use binary::Binary;
pub use block::Block;
pub use directory::Directory;
pub use file::{File, FileContent, Replace};
pub(crate) use file::{NOT_AS_SENT, unified};
pub use firewall::OpenFirewall;
pub use hostname::Hostname;
pub use image::Image;
pub use kernel_module::KernelModule;
pub use no_swap::NoSwap;
pub use package_archive::PackageArchive;
pub(crate) use package_archive::folder_of as folder_of_packages;
pub use packages::{Manager, PackageDatabase, PackageSource, Packages};
pub use selinux::Selinux;
pub use sysctl::Sysctl;
pub use unit::{Unit, UnitGoal};
pub use user::User;

use crate::artifact::Artifact;
use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::script::Fragment;
use crate::secret_name::SecretName;

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
    /// A user without a login, as whom a unit runs.
    User(User),
    /// Lines of ours in a file that others write too.
    Block(Block),
    /// Files of ours that have had their time.
    Absent(Absent),
    /// The host's name.
    Hostname(Hostname),
    /// No swap.
    NoSwap(NoSwap),
    /// Commands that come with packages.
    Packages(Packages),
    /// Packages out of the bundle, for the host's package manager.
    PackageArchive(PackageArchive),
    /// A package manager that works.
    PackageDatabase(PackageDatabase),
    /// SELinux that does not enforce.
    Selinux(Selinux),
    /// A firewall that lets in what the cluster needs.
    OpenFirewall(OpenFirewall),
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

impl Resource {
    /// What must be seen to compare.
    #[must_use]
    pub fn looks(&self) -> Vec<Look> {
        match self {
            Self::File(it) => it.looks(),
            Self::Directory(it) => it.looks(),
            Self::Binary(it) => it.looks(),
            Self::Archive(it) => it.looks(),
            Self::Image(it) => it.looks(),
            Self::Sysctl(it) => it.looks(),
            Self::KernelModule(it) => it.looks(),
            Self::Unit(it) => it.looks(),
            Self::User(it) => it.looks(),
            Self::Block(it) => it.looks(),
            Self::Absent(it) => it.looks(),
            Self::Hostname(it) => it.looks(),
            Self::NoSwap(_) => NoSwap::looks(),
            Self::Packages(it) => it.looks(),
            Self::PackageArchive(it) => it.looks(),
            Self::PackageDatabase(_) => PackageDatabase::looks(),
            Self::Selinux(_) => Selinux::looks(),
            Self::OpenFirewall(_) => OpenFirewall::looks(),
        }
    }

    /// Compares what was seen with what is desired.
    #[must_use]
    pub fn diff(&self, seen: &Observations) -> Verdict {
        match self {
            Self::File(it) => it.diff(seen),
            Self::Directory(it) => it.diff(seen),
            Self::Binary(it) => it.diff(seen),
            Self::Archive(it) => it.diff(seen),
            Self::Image(it) => it.diff(seen),
            Self::Sysctl(it) => it.diff(seen),
            Self::KernelModule(it) => it.diff(seen),
            Self::Unit(it) => it.diff(seen),
            Self::User(it) => it.diff(seen),
            Self::Block(it) => it.diff(seen),
            Self::Absent(it) => it.diff(seen),
            Self::Hostname(it) => it.diff(seen),
            Self::NoSwap(_) => NoSwap::diff(seen),
            Self::Packages(it) => it.diff(seen),
            Self::PackageArchive(it) => it.diff(seen),
            Self::PackageDatabase(_) => PackageDatabase::diff(seen),
            Self::Selinux(it) => it.diff(seen),
            Self::OpenFirewall(it) => it.diff(seen),
        }
    }

    /// What brings the change about.
    #[must_use]
    pub fn act(&self, change: &Change) -> Act {
        match self {
            Self::File(it) => it.act(change),
            Self::Directory(it) => it.act(change),
            Self::Binary(it) => it.act(change),
            Self::Archive(it) => it.act(change),
            Self::Image(it) => it.act(change),
            Self::Sysctl(it) => it.act(change),
            Self::KernelModule(it) => it.act(change),
            Self::Unit(it) => it.act(change),
            Self::User(it) => it.act(change),
            Self::Block(it) => it.act(change),
            Self::Absent(it) => it.act(change),
            Self::Hostname(it) => it.act(change),
            Self::NoSwap(_) => NoSwap::act(),
            Self::Packages(it) => it.act(change),
            Self::PackageArchive(it) => it.act(change),
            Self::PackageDatabase(_) => PackageDatabase::act(),
            Self::Selinux(it) => it.act(change),
            Self::OpenFirewall(it) => it.act(change),
        }
    }

    /// The path or name that this resource alone may write; two resources of a host with the same one are an error of the plan.
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        match self {
            Self::File(it) => it.writes(),
            Self::Directory(it) => it.writes(),
            Self::Binary(it) => it.writes(),
            Self::Archive(it) => it.writes(),
            Self::Image(it) => it.writes(),
            Self::Sysctl(it) => it.writes(),
            Self::KernelModule(it) => it.writes(),
            Self::Unit(it) => it.writes(),
            Self::Block(it) => it.writes(),
            Self::Hostname(it) => it.writes(),
            Self::Packages(it) => it.writes(),
            Self::PackageArchive(it) => it.writes(),
            Self::NoSwap(_) => vec!["/etc/fstab".to_owned()],
            Self::Selinux(_) => vec!["/etc/selinux/config".to_owned()],
            // It removes only what nobody writes, these only add to what others have.
            Self::Absent(_) | Self::PackageDatabase(_) | Self::OpenFirewall(_) | Self::User(_) => Vec::new(),
        }
    }

    /// The files that it writes with a secret in them, and which.
    #[must_use]
    pub fn secret_files(&self) -> Vec<(String, SecretName)> {
        match self {
            Self::File(it) => it.secret_files(),
            _ => Vec::new(),
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::File(it) => it.title(),
            Self::Directory(it) => it.title(),
            Self::Binary(it) => it.title(),
            Self::Archive(it) => it.title(),
            Self::Image(it) => it.title(),
            Self::Sysctl(it) => it.title(),
            Self::KernelModule(it) => it.title(),
            Self::Unit(it) => it.title(),
            Self::User(it) => it.title(),
            Self::Block(it) => it.title(),
            Self::Absent(it) => it.title(),
            Self::Hostname(it) => it.title(),
            Self::NoSwap(_) => "swap".to_owned(),
            Self::Packages(it) => it.title(),
            Self::PackageArchive(it) => it.title(),
            Self::PackageDatabase(_) => "package manager".to_owned(),
            Self::Selinux(_) => "SELinux".to_owned(),
            Self::OpenFirewall(_) => "firewall".to_owned(),
        }
    }
}
