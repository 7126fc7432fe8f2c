//! The lab: bare Linux hosts on this machine, as a user's machines would be, in a network of their own.
//!
//! A host is systemd as pid 1 in systemd-nspawn over an overlay of one Debian root. All hosts of a lab and the lab's bridge live
//! in one network namespace without a way out. What a lab has made is found again by its own cgroups and its own folder, never
//! by the names of processes; so [`down`] also cleans up after a lab whose program was killed at any moment.
//!
//! ```no_run
//! use kok_tests::lab::{Lab, LabSpec};
//! # fn main() -> Result<(), kok_tests::lab::LabError> {
//! let lab = Lab::up(LabSpec::default())?;
//! let output = lab.host("cp1")?.ssh(&["systemctl", "is-system-running"])?;
//! assert_eq!(output.stdout.trim(), "running");
//! # Ok(()) }
//! ```

mod address;
mod boot;
mod cgroups;
mod command;
mod disk;
mod error;
mod fill;
mod folder;
mod host;
mod inventory;
mod journal;
mod keys;
mod lag;
mod lock;
mod network;
mod paths;
mod process;
mod proxy;
mod record;
mod requirements;
mod root;
mod spec;
mod sysctls;
mod teardown;
mod up;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

pub use command::CommandOutput;
pub use error::LabError;
pub use host::{Host, Power};
pub use inventory::{DEFAULT_KUBERNETES_VERSION, Facts, HostFacts};
pub use proxy::{Proxy, serve};
pub use record::LabRecord;
pub use spec::{HostSpec, Image, LabSpec};
pub use teardown::{down, names};

use folder::LabFolder;

/// The password of the user `opspw` of every host, for sudo and for logging in. It opens nothing but hosts of the lab.
pub const OPSPW_PASSWORD: &str = "lab opspw's \"password\"";

/// Receives one line of text for each stage that takes long; for a person who waits.
pub type StageReport<'a> = &'a (dyn Fn(&str) + Sync);

/// A lab that is up.
///
/// A lab from [`Lab::up`] belongs to its value: dropping it takes the lab down, and when the thread is panicking, as in a failed
/// test, the hosts' journals are kept first and their folder is printed. A lab from [`Lab::open`] or after [`Lab::keep`] stays.
#[derive(Debug)]
pub struct Lab {
    folder: LabFolder,
    record: LabRecord,
    owned: bool,
}

impl Lab {
    /// Boots a lab and waits until every host is `running` and answers over SSH.
    ///
    /// The root of the hosts is built first if it is not in the cache; that takes about a minute and needs a Debian archive.
    /// Labs whose owner has died are taken down on the way.
    ///
    /// # Errors
    /// Whatever keeps the lab from coming up, with everything that was made already taken down again.
    pub fn up(spec: LabSpec) -> Result<Self, LabError> {
        Self::up_with_progress(spec, &|_| {})
    }

    /// [`Lab::up`], telling `progress` what it waits for.
    ///
    /// # Errors
    /// As of [`Lab::up`].
    pub fn up_with_progress(spec: LabSpec, progress: StageReport<'_>) -> Result<Self, LabError> {
        let (folder, record) = up::up(spec, progress)?;
        Ok(Self { folder, record, owned: true })
    }

    /// A handle on a lab that is up; dropping it changes nothing.
    ///
    /// # Errors
    /// When there is no record of a lab of this name.
    pub fn open(name: &str) -> Result<Self, LabError> {
        let folder = LabFolder::by_name(name)?;
        let record = LabRecord::read(&folder)?;
        Ok(Self { folder, record, owned: false })
    }

    /// Lets the lab stay when this value, and this process, ends.
    ///
    /// # Errors
    /// When the lab's record can't be written.
    pub fn keep(mut self) -> Result<Self, LabError> {
        self.record.owner = None;
        self.record.write(&self.folder)?;
        self.owned = false;
        Ok(self)
    }

    /// Takes the lab down now, with errors, where dropping would only print them.
    ///
    /// # Errors
    /// As of [`down`].
    pub fn down(mut self) -> Result<(), LabError> {
        self.owned = false;
        down(self.name())
    }

    /// The lab's name, unique on this machine.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// All hosts, in the order of the spec.
    pub fn hosts(&self) -> impl Iterator<Item = Host> + '_ {
        self.record.hosts.iter().map(|record| Host::new(self.folder.clone(), record.clone()))
    }

    /// The host of this name.
    ///
    /// # Errors
    /// When the lab has no such host.
    pub fn host(&self, name: &str) -> Result<Host, LabError> {
        self.hosts().find(|host| host.name() == name).ok_or_else(|| LabError::NoHost {
            lab: self.name().to_owned(),
            host: name.to_owned(),
            known: self.record.hosts.iter().map(|host| host.name.clone()).collect(),
        })
    }

    /// A command that runs `program` in the lab's network namespace: this is where kokctl reaches the hosts.
    ///
    /// Add arguments and the rest as to any [`Command`]. Nothing but the network differs from here: same files, same user.
    ///
    /// # Errors
    /// When the lab's network is gone.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
        network::command(&self.folder, program)
    }

    /// The private key (ed25519, OpenSSH format, no passphrase) that `root`, `ops` and `opspw` of every host accept.
    #[must_use]
    pub fn private_key_path(&self) -> PathBuf {
        self.folder.private_key()
    }

    /// The known_hosts file with all host keys of all hosts, by address and by name.
    #[must_use]
    pub fn known_hosts_path(&self) -> PathBuf {
        self.folder.known_hosts()
    }

    /// A configuration for OpenSSH in which the hosts' names, keys and logins stand.
    #[must_use]
    pub fn ssh_config_path(&self) -> PathBuf {
        self.folder.ssh_config()
    }

    /// The `Cluster` manifest of this lab for kokctl, as YAML. Hosts whose name begins with `cp` are control planes, the others
    /// workers.
    ///
    /// # Errors
    /// When this machine's own properties, on which some of the settings depend, can't be read.
    pub fn inventory(&self, kubernetes_version: &str) -> Result<String, LabError> {
        inventory::manifest(&self.folder, &self.record, kubernetes_version)
    }

    /// What there is to know of this lab, for programs.
    ///
    /// # Errors
    /// When the lab's network is gone or its files can't be read.
    pub fn facts(&self) -> Result<Facts, LabError> {
        inventory::facts(&self.folder, &self.record)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        if std::thread::panicking() {
            journal::keep_after_failure(&self.folder, &self.record);
        }
        if let Err(error) = down(self.name()) {
            command::to_stderr(&format!("lab {} could not be taken down: {}", self.name(), command::with_causes(&error)));
        }
    }
}
