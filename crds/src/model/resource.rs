//! What a user wants of the hosts themselves, besides what Kubernetes needs of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value as Json};

use super::{Contents, Mount, Payload};
use crate::{Position, Secret};

/// What a user declares under `hostResources`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostResources {
    /// In the order of the file. Names are unique, and no two of one host have one path to themselves.
    pub entries: Vec<HostResource>,
    /// Variables for the templates of all hosts.
    pub vars: TemplateVars,
    /// Variables of single hosts, which win.
    pub host_vars: BTreeMap<String, TemplateVars>,
}

impl HostResources {
    /// What is declared for a host, in the order of the file.
    pub fn of_host<'a>(&'a self, host: &'a str) -> impl Iterator<Item = &'a HostResource> {
        self.entries.iter().filter(move |entry| entry.hosts.contains(host))
    }

    /// Whether programs of a host are to trust a certificate of what is declared.
    #[must_use]
    pub fn adds_trust(&self, host: &str) -> bool {
        self.of_host(host).any(|entry| matches!(entry.wish, Wish::CaCertificate { certificate: Some(_), .. }))
    }

    /// The variables of a host's templates.
    #[must_use]
    pub fn vars_of(&self, host: &str) -> Map<String, Json> {
        let mut vars = self.vars.0.clone();
        vars.extend(self.host_vars.get(host).map(|own| own.0.clone()).unwrap_or_default());
        vars
    }
}

/// Variables for templates; any of them may be a password.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct TemplateVars(pub Map<String, Json>);

impl fmt::Debug for TemplateVars {
    /// Without the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// One thing that is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostResource {
    /// Its name, which no other has: the user's own, or its kind with what it is about, as `file:/etc/motd`.
    pub name: String,
    /// Names of the hosts that it is for, each of which is there. Each of a thousand hosts asks of each entry.
    pub hosts: BTreeSet<String>,
    /// Names of others that come before it on the same host.
    pub after: Vec<String>,
    /// What it is.
    pub wish: Wish,
    /// Where it begins in the file.
    pub origin: Position,
}

/// What is declared. Paths are absolute, without `.`, `..`, a `/` at their end, control characters and backslashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A file with all that stands in it.
    File {
        /// Where it is.
        path: String,
        /// What stands in it.
        content: Content,
        /// Whose it is.
        rights: Rights,
        /// Whether nobody may see what stands in it.
        secret: bool,
    },
    /// A folder.
    Directory {
        /// Where it is.
        path: String,
        /// Whose it is.
        rights: Rights,
    },
    /// A symbolic link.
    Symlink {
        /// Where it is.
        path: String,
        /// Where it leads, as it stands in the link.
        target: String,
    },
    /// Nothing.
    Absent {
        /// Where nothing is to be.
        path: String,
        /// Whether a folder goes with all that is in it.
        recursive: bool,
    },
    /// A line of a file that others write.
    Line {
        /// The file.
        path: String,
        /// The line.
        line: String,
        /// Other lines that begin so give way to it.
        starts_with: Option<String>,
    },
    /// Lines between two marks in a file that others write.
    Block {
        /// The file.
        path: String,
        /// The lines, each ended.
        text: String,
    },
    /// A kernel parameter, now and after each start.
    Sysctl {
        /// Its dotted name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A kernel module, now and after each start.
    KernelModule {
        /// Its name.
        name: String,
    },
    /// Packages of the distribution.
    Package {
        /// Their names, at least one.
        names: Vec<String>,
    },
    /// A user.
    User(Account),
    /// A group.
    Group {
        /// Its name.
        name: String,
        /// Its number; `None` leaves it to the host.
        gid: Option<u32>,
        /// Whether it is made with a number for programs.
        system: bool,
    },
    /// A key by which a user may log in.
    AuthorizedKey {
        /// The user.
        user: String,
        /// The line of `authorized_keys`.
        key: String,
    },
    /// A file of any length, as a program is.
    Binary {
        /// Where it is.
        path: String,
        /// What comes there.
        payload: Payload,
        /// Whose it is.
        rights: Rights,
    },
    /// All of an archive, below a folder.
    Archive {
        /// The folder.
        into: String,
        /// The archive.
        payload: Payload,
        /// How many folders at the beginning of each path are left out.
        strip: u32,
        /// A path that says by being there that all of it is.
        creates: Option<String>,
        /// Whose all of it is; the mode is not used.
        rights: Rights,
        /// What is in it; `None` until somebody has read it who has files.
        contents: Option<Contents>,
    },
    /// A certificate of an authority that programs of the host trust, or trust no more.
    CaCertificate {
        /// By which the trust store has it.
        name: String,
        /// The certificate in PEM; `None` where the store is to have none of that name. Whoever reads files has it checked and in the form of
        /// stores, a text as well.
        certificate: Option<Content>,
    },
    /// What is mounted at a path.
    Mount(Mount),
    /// A unit of systemd.
    Unit {
        /// Its full name.
        name: String,
        /// Whether it runs; `None` leaves it as it is.
        running: Option<bool>,
        /// Whether it starts with the host; `None` leaves it as it is.
        enabled: Option<bool>,
        /// Names of others, and paths, whose change is a reason to start it again.
        restart_on: Vec<String>,
    },
}

impl Wish {
    /// The field that declares it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Directory { .. } => "dir",
            Self::Symlink { .. } => "symlink",
            Self::Absent { .. } => "absent",
            Self::Line { .. } => "line",
            Self::Block { .. } => "block",
            Self::Sysctl { .. } => "sysctl",
            Self::KernelModule { .. } => "kernelModule",
            Self::Package { .. } => "package",
            Self::User(_) => "user",
            Self::Group { .. } => "group",
            Self::AuthorizedKey { .. } => "authorizedKey",
            Self::Binary { .. } => "binary",
            Self::Archive { .. } => "archive",
            Self::CaCertificate { .. } => "caCertificate",
            Self::Mount(_) => "mount",
            Self::Unit { .. } => "unit",
        }
    }

    /// What it is about: a path, or a name.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::Package { names } => names.join(","),
            Self::User(account) => account.name.clone(),
            Self::Mount(mount) => mount.path.clone(),
            Self::AuthorizedKey { user, .. } => user.clone(),
            Self::Sysctl { name, .. }
            | Self::KernelModule { name }
            | Self::Group { name, .. }
            | Self::CaCertificate { name, .. }
            | Self::Unit { name, .. } => name.clone(),
            Self::File { path, .. }
            | Self::Directory { path, .. }
            | Self::Binary { path, .. }
            | Self::Symlink { path, .. }
            | Self::Absent { path, .. }
            | Self::Line { path, .. }
            | Self::Block { path, .. }
            | Self::Archive { into: path, .. } => path.clone(),
        }
    }

    /// The path that it has to itself, if it has one.
    #[must_use]
    pub fn whole_path(&self) -> Option<&str> {
        match self {
            Self::File { path, .. }
            | Self::Directory { path, .. }
            | Self::Binary { path, .. }
            | Self::Symlink { path, .. }
            | Self::Absent { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The folder that it brings things into, beside those of others.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        if let Self::Archive { into, .. } = self { Some(into) } else { None }
    }

    /// Whose it is, where that is said.
    #[must_use]
    pub fn rights(&self) -> Option<&Rights> {
        match self {
            Self::File { rights, .. } | Self::Directory { rights, .. } | Self::Binary { rights, .. } | Self::Archive { rights, .. } => {
                Some(rights)
            }
            _ => None,
        }
    }

    /// The path of which it has some lines, if it has.
    #[must_use]
    pub fn part_path(&self) -> Option<&str> {
        match self {
            Self::Line { path, .. } | Self::Block { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// Mode and owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Permission bits.
    pub mode: u32,
    /// Name or number of a user.
    pub owner: String,
    /// Name or number of a group; `None` is the owner's own.
    pub group: Option<String>,
}

/// A user as it is declared; what is `None` is as the host has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its number.
    pub uid: Option<u32>,
    /// Name of its own group; one of its name is made where it is not there.
    pub group: Option<String>,
    /// Names of further groups that it is in.
    pub groups: Vec<String>,
    /// Its home.
    pub home: Option<String>,
    /// Its login shell.
    pub shell: Option<String>,
    /// Its comment.
    pub comment: Option<String>,
    /// Whether it is made as one for programs: with such a number, and without a home if none is said.
    pub system: bool,
}

/// What stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// This text.
    Text(Text),
    /// What stands in a file of the user's.
    Source(LocalFile),
    /// What a template of the user's makes of the host's facts and variables.
    Template(LocalFile),
}

/// A file of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// As seen from the file in which it is named.
    pub path: String,
    /// What stands in it; `None` until somebody has read it who has files.
    pub text: Option<Text>,
    /// Where it is named.
    pub origin: Position,
}

/// Text that may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(Secret);

impl Text {
    /// This text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Secret::new(text.into().into_bytes()))
    }

    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        // It was text when it was made.
        std::str::from_utf8(self.0.expose()).unwrap_or_default()
    }
}

impl fmt::Debug for Text {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(text)")
    }
}

/// Hosts and nothing else: what a file of kind Fleet describes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    /// Names of hosts by their groups.
    pub groups: BTreeMap<String, Vec<String>>,
}
