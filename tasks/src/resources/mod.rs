//! Resources: desired pieces of a host. A closed enum; each kind says what to look at, compares, and renders its change. All pure.

mod absent;
mod act;
mod archive;
mod authorized_key;
mod binary;
mod block;
mod debt;
mod directory;
mod fetch;
mod file;
mod firewall;
mod gone;
mod group;
mod hook;
mod hostname;
mod image;
mod kernel_module;
mod line;
mod managed;
mod mount;
mod named_packages;
mod no_swap;
mod owner;
mod package_archive;
mod packages;
mod selinux;
mod symlink;
mod sysctl;
mod tree;
mod unit;
mod user;

pub use absent::Absent;
pub use act::{Act, Touch};
pub use archive::{Archive, Unpacked};
pub use authorized_key::AuthorizedKey;
pub use binary::Binary;
pub use block::Block;
pub use debt::Debt;
pub use directory::Directory;
pub use file::{File, FileContent, Replace};
pub(crate) use file::{NOT_AS_SENT, unified};
pub use firewall::OpenFirewall;
pub use gone::Gone;
pub use group::Group;
pub use hook::Hook;
pub use hostname::Hostname;
pub use image::Image;
pub use kernel_module::KernelModule;
pub use line::Line;
pub(crate) use managed::MANAGED;
pub use managed::Managed;
pub use mount::Mount;
pub use named_packages::NamedPackages;
pub use no_swap::NoSwap;
pub use owner::Owner;
pub use package_archive::PackageArchive;
pub(crate) use package_archive::folder_of as folder_of_packages;
pub use packages::{Manager, PackageDatabase, PackageSource, Packages};
pub use selinux::Selinux;
pub use symlink::Symlink;
pub use sysctl::Sysctl;
pub use tree::Tree;
pub use unit::{Unit, UnitGoal};
pub use user::User;

use kok_crds::model::Text;

use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::secret_name::SecretName;

/// A desired piece of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A file whose content is known, or made at the time of the run.
    File(File),
    /// A directory.
    Directory(Directory),
    /// A file of any length: an executable out of the bundle, or one of the user's.
    Binary(Binary),
    /// Files out of an archive.
    Archive(Archive),
    /// An image in containerd.
    Image(Image),
    /// A kernel parameter, now; what makes it last over a reboot is a file.
    Sysctl(Sysctl),
    /// A kernel module, now; what makes it last over a reboot is a file.
    KernelModule(KernelModule),
    /// A systemd unit.
    Unit(Unit),
    /// A user.
    User(User),
    /// A group of users.
    Group(Group),
    /// A key by which a user may log in.
    AuthorizedKey(AuthorizedKey),
    /// A symbolic link.
    Symlink(Symlink),
    /// Nothing at a path.
    Gone(Gone),
    /// A line of a file that others write.
    Line(Line),
    /// What is mounted at a path.
    Mount(Mount),
    /// Packages by their names.
    NamedPackages(NamedPackages),
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
    /// A script of a user's.
    Hook(Hook),
    /// That such a script is owed.
    Debt(Debt),
    /// The list of what a user has declared.
    Managed(Managed),
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
            Self::Group(it) => it.looks(),
            Self::AuthorizedKey(it) => it.looks(),
            Self::Symlink(it) => it.looks(),
            Self::Gone(it) => it.looks(),
            Self::Line(it) => it.looks(),
            Self::Mount(it) => it.looks(),
            Self::NamedPackages(it) => it.looks(),
            Self::Block(it) => it.looks(),
            Self::Absent(it) => it.looks(),
            Self::Hostname(it) => it.looks(),
            Self::NoSwap(_) => NoSwap::looks(),
            Self::Packages(it) => it.looks(),
            Self::PackageArchive(it) => it.looks(),
            Self::PackageDatabase(_) => PackageDatabase::looks(),
            Self::Selinux(_) => Selinux::looks(),
            Self::OpenFirewall(_) => OpenFirewall::looks(),
            Self::Hook(it) => it.looks(),
            Self::Debt(it) => it.looks(),
            Self::Managed(it) => it.looks(),
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
            Self::Group(it) => it.diff(seen),
            Self::AuthorizedKey(it) => it.diff(seen),
            Self::Symlink(it) => it.diff(seen),
            Self::Gone(it) => it.diff(seen),
            Self::Line(it) => it.diff(seen),
            Self::Mount(it) => it.diff(seen),
            Self::NamedPackages(it) => it.diff(seen),
            Self::Block(it) => it.diff(seen),
            Self::Absent(it) => it.diff(seen),
            Self::Hostname(it) => it.diff(seen),
            Self::NoSwap(_) => NoSwap::diff(seen),
            Self::Packages(it) => it.diff(seen),
            Self::PackageArchive(it) => it.diff(seen),
            Self::PackageDatabase(_) => PackageDatabase::diff(seen),
            Self::Selinux(it) => it.diff(seen),
            Self::OpenFirewall(it) => it.diff(seen),
            Self::Hook(it) => it.diff(seen),
            Self::Debt(it) => it.diff(seen),
            Self::Managed(it) => it.diff(seen),
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
            Self::User(it) => it.act(),
            Self::Group(it) => it.act(),
            Self::AuthorizedKey(it) => it.act(),
            Self::Symlink(it) => it.act(),
            Self::Gone(it) => it.act(),
            Self::Line(it) => it.act(),
            Self::Mount(it) => it.act(change),
            Self::NamedPackages(it) => it.act(),
            Self::Block(it) => it.act(change),
            Self::Absent(it) => it.act(change),
            Self::Hostname(it) => it.act(change),
            Self::NoSwap(_) => NoSwap::act(),
            Self::Packages(it) => it.act(change),
            Self::PackageArchive(it) => it.act(change),
            Self::PackageDatabase(_) => PackageDatabase::act(),
            Self::Selinux(it) => it.act(change),
            Self::OpenFirewall(it) => it.act(change),
            Self::Hook(it) => it.act(),
            Self::Debt(it) => it.act(change),
            Self::Managed(it) => it.act(),
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
            Self::Symlink(it) => it.writes(),
            Self::Gone(it) => it.writes(),
            Self::Line(it) => it.writes(),
            Self::Mount(it) => it.writes(),
            Self::Hook(it) => it.writes(),
            Self::Debt(it) => it.writes(),
            Self::Managed(_) => vec![MANAGED.to_owned()],
            // It removes only what nobody writes, these only add to what others have.
            Self::Absent(_)
            | Self::PackageDatabase(_)
            | Self::OpenFirewall(_)
            | Self::User(_)
            | Self::Group(_)
            | Self::AuthorizedKey(_)
            | Self::NamedPackages(_) => Vec::new(),
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

    /// What it gives to a host by names, and is known already.
    #[must_use]
    pub fn given(&self) -> Vec<(&SecretName, &Text)> {
        match self {
            Self::File(it) => it.given().into_iter().collect(),
            Self::Hook(it) => it.given(),
            _ => Vec::new(),
        }
    }

    /// The paths that it changes, and how much of each.
    #[must_use]
    pub fn touches(&self) -> Vec<(String, Touch)> {
        match self {
            Self::Block(it) => vec![(it.path.clone(), Touch::Part)],
            Self::Line(it) => vec![(it.path.clone(), Touch::Part)],
            Self::Gone(it) => vec![(it.path.clone(), Touch::Tree)],
            Self::Archive(it) => it.touches(),
            other => other.writes().into_iter().filter(|path| path.starts_with('/')).map(|path| (path, Touch::Whole)).collect(),
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
            Self::Group(it) => it.title(),
            Self::AuthorizedKey(it) => it.title(),
            Self::Symlink(it) => it.title(),
            Self::Gone(it) => it.title(),
            Self::Line(it) => it.title(),
            Self::Mount(it) => it.title(),
            Self::NamedPackages(it) => it.title(),
            Self::Block(it) => it.title(),
            Self::Absent(it) => it.title(),
            Self::Hostname(it) => it.title(),
            Self::NoSwap(_) => "swap".to_owned(),
            Self::Packages(it) => it.title(),
            Self::PackageArchive(it) => it.title(),
            Self::PackageDatabase(_) => "package manager".to_owned(),
            Self::Selinux(_) => "SELinux".to_owned(),
            Self::OpenFirewall(_) => "firewall".to_owned(),
            Self::Hook(it) => it.title(),
            Self::Debt(it) => it.title(),
            Self::Managed(_) => "list of what is declared".to_owned(),
        }
    }
}
