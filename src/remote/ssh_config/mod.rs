//! The user's ssh_config, as far as it says where, how and as whom to connect (ssh_config(5)).
//!
//! Own code and no crate: what changes the way to a host must be honoured or refused with its line, never passed over, and the first
//! value wins across files, `Include` and the second pass that `Match final` asks for. The crates that there are drop lines and
//! their numbers, and do not know `Match`.
mod expand;
mod keywords;
mod lookup;
mod read;
mod settings;
mod split;

use super::text::printable;
use crate::remote::host_key_fault::KnownHostsPlace;
use crate::remote::identity::Variables;
pub(crate) use settings::{Jump, Overruled, SshSettings};
use std::io;
use std::path::{Path, PathBuf};

/// Why a configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SshConfigFault {
    /// A file can't be read.
    #[error("{} can't be read", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others could have written it.
    #[error("{} may be written by others", .file.display())]
    TooOpen {
        /// The file.
        file: PathBuf,
    },
    /// A line can't be understood.
    #[error("{keyword} can't be understood")]
    Wrong {
        /// What the line sets.
        keyword: String,
        /// The line.
        place: KnownHostsPlace,
        /// What is wrong.
        reason: String,
    },
    /// A line sets what ssh does not know.
    #[error("ssh has no option {}", quoted(.keyword))]
    Unknown {
        /// What the line sets, in lower case.
        keyword: String,
        /// The line.
        place: KnownHostsPlace,
        /// The option that was meant, perhaps.
        meant: Option<&'static str>,
    },
    /// A line changes where, how or as whom to connect in a way that is not supported.
    #[error("{keyword} is not supported")]
    Refused {
        /// What the line sets.
        keyword: String,
        /// The line.
        place: KnownHostsPlace,
        /// What to do instead.
        hint: &'static str,
    },
}

impl SshConfigFault {
    /// The file, with its line where one is to blame.
    #[must_use]
    pub fn at(&self) -> String {
        match self {
            Self::Unreadable { file, .. } | Self::TooOpen { file } => file.display().to_string(),
            Self::Wrong { place, .. } | Self::Unknown { place, .. } | Self::Refused { place, .. } => place.to_string(),
        }
    }

    /// Why.
    #[must_use]
    pub fn because(&self) -> String {
        match self {
            Self::Unreadable { source, .. } => source.to_string(),
            Self::TooOpen { .. } => "whoever writes it decides where we connect to; ssh refuses it too".to_owned(),
            Self::Wrong { reason, .. } => reason.clone(),
            Self::Unknown { .. } => "it may be a misspelled one that decides where we connect to; ssh refuses it too".to_owned(),
            Self::Refused { .. } => "it changes where, how or as whom we connect, so it can't be left out".to_owned(),
        }
    }

    /// What to do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => "check the file's permissions".to_owned(),
            Self::TooOpen { file } => format!("chmod go-w {}", file.display()),
            Self::Wrong { .. } => "correct the line; `ssh -G ADDRESS` shows what ssh makes of it".to_owned(),
            Self::Unknown { meant: Some(meant), .. } => format!("did you mean `{meant}`?"),
            Self::Unknown { keyword, .. } => {
                format!("correct the line; if it is for another program, write `IgnoreUnknown {}` above it", printable(keyword.as_bytes()))
            }
            Self::Refused { hint, .. } => (*hint).to_owned(),
        }
    }
}

/// A user's word for messages.
fn quoted(word: &str) -> String {
    format!("`{}`", printable(word.as_bytes()))
}

/// A line and where it stands.
#[derive(Debug, Clone)]
struct Item {
    place: KnownHostsPlace,
    /// In lower case.
    keyword: String,
    arguments: Vec<String>,
    /// What an `Include` brought.
    included: Vec<Self>,
}

/// The files, read and not yet asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct SshConfig {
    items: Vec<Item>,
    home: Option<PathBuf>,
    local_user: String,
    variables: Variables,
}

impl SshConfig {
    /// Reads `~/.ssh/config` and that of the system, in the order in which they count. None has to exist.
    pub(crate) fn load(home: Option<&Path>, system: Option<&Path>, local_user: &str) -> Result<Self, SshConfigFault> {
        let mut items = Vec::new();
        if let Some(home) = home {
            let folder = home.join(".ssh");
            items.extend(read::Reader { folder: &folder, home: Some(home), of_user: true }.file(&folder.join("config"), 0)?);
        }
        if let Some(system) = system {
            let folder = system.parent().unwrap_or(Path::new("/"));
            items.extend(read::Reader { folder, home, of_user: false }.file(system, 0)?);
        }
        Ok(Self { items, home: home.map(Path::to_owned), local_user: local_user.to_owned(), variables: Variables::default() })
    }

    /// With the variables that its lines may name.
    pub(crate) fn with_variables(self, variables: Variables) -> Self {
        Self { variables, ..self }
    }

    /// Every line of an option that ssh does not know, as it would find them on the way to this host: only `IgnoreUnknown` may differ
    /// from host to host.
    pub(crate) fn unknown(&self, name: &str, user: Option<&str>) -> Vec<SshConfigFault> {
        lookup::unknown(&self.items, lookup::Query { name, user, local_user: &self.local_user })
    }

    /// What it says about a host, named as the user named it. `user` is the login if the user named one.
    pub(crate) fn lookup(&self, name: &str, user: Option<&str>, overruled: Overruled) -> Result<SshSettings, SshConfigFault> {
        let values = lookup::values(&self.items, lookup::Query { name, user, local_user: &self.local_user })?;
        let scope = expand::Scope { home: self.home.as_deref(), name, user, local_user: &self.local_user, variables: &self.variables };
        settings::settings(&values, scope, overruled)
    }

    /// The name of whoever runs this program.
    pub(crate) fn local_user(&self) -> &str {
        &self.local_user
    }
}

#[cfg(test)]
mod tests;
