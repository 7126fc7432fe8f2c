use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use kok_tasks::shell::quote;

use super::boot::{BOOT_ID, Boot};
use super::command::{CommandOutput, output_of};
use super::folder::LabFolder;
use super::record::HostRecord;
use super::{LabError, address, cgroups, fill, journal, lag, network};

/// Whether a host runs and reaches the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    /// It has processes and its port is on the bridge.
    On,
    /// It has processes, but its port is off the bridge.
    Cut,
    /// Its processes are stopped where they are, as in a virtual machine that was paused.
    Paused,
    /// It has no processes.
    Off,
}

impl Power {
    /// The word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Cut => "cut",
            Self::Paused => "paused",
            Self::Off => "off",
        }
    }
}

/// One host of a lab. A handle: it may outlive the lab, whose calls then fail.
#[derive(Debug, Clone)]
pub struct Host {
    folder: LabFolder,
    record: HostRecord,
}

impl Host {
    pub(crate) fn new(folder: LabFolder, record: HostRecord) -> Self {
        Self { folder, record }
    }

    pub(crate) fn folder(&self) -> &LabFolder {
        &self.folder
    }

    /// The host's name, which is also its own host name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// The host's address in the lab's network.
    #[must_use]
    pub fn address(&self) -> String {
        self.record.address()
    }

    /// The host's address of IPv6, in a lab of both families.
    #[must_use]
    pub fn address_ipv6(&self) -> Option<String> {
        self.record.address_ipv6()
    }

    /// Runs a program on the host as root and waits for its end. Each argument arrives as one argument.
    ///
    /// # Errors
    /// When the client can't be started. A host that does not answer is status 255.
    pub fn ssh(&self, arguments: &[&str]) -> Result<CommandOutput, LabError> {
        self.ssh_as("root", arguments)
    }

    /// [`Host::ssh`] as another user: `ops` may use sudo without a password, `opspw` with [`super::OPSPW_PASSWORD`].
    ///
    /// # Errors
    /// As of [`Host::ssh`].
    pub fn ssh_as(&self, user: &str, arguments: &[&str]) -> Result<CommandOutput, LabError> {
        let words: Vec<String> = arguments.iter().map(|argument| quote(argument)).collect();
        let mut command = self.ssh_command(user, words.join(" "))?;
        output_of(command.stdin(Stdio::null()), "ssh")
    }

    /// A command that runs a line of shell on the host, for a caller who wants its input and output as streams.
    ///
    /// # Errors
    /// When the lab's network is gone.
    pub fn ssh_command(&self, user: &str, line: impl AsRef<OsStr>) -> Result<Command, LabError> {
        let mut command = network::command(&self.folder, "ssh")?;
        // BatchMode: never ask for anything, for nobody is there.
        command.arg("-F").arg(self.folder.ssh_config()).args(["-o", "BatchMode=yes", "-l", user, self.name(), "--"]).arg(line);
        Ok(command)
    }

    /// Whether the host runs and is connected.
    ///
    /// # Errors
    /// When the machine's cgroups can't be read.
    pub fn power(&self) -> Result<Power, LabError> {
        if cgroups::processes(self.folder.name(), self.name())?.is_empty() {
            return Ok(Power::Off);
        }
        if cgroups::is_frozen(self.folder.name(), self.name())? {
            return Ok(Power::Paused);
        }
        Ok(if network::is_cut(&self.folder, &self.port())? { Power::Cut } else { Power::On })
    }

    /// Pulls the plug: every process of the host is killed at once, nothing is stopped in order. Its disk stays.
    ///
    /// # Errors
    /// When a process does not die.
    pub fn power_off(&self) -> Result<(), LabError> {
        cgroups::destroy(self.folder.name(), Some(self.name()))?;
        network::remove_port(&self.folder, &self.port())
    }

    /// Boots the same host again, with its disk, keys and address, and waits until it is `running` and answers over SSH.
    ///
    /// # Errors
    /// When the host is on, or does not come up.
    pub fn power_on(&self) -> Result<(), LabError> {
        if !cgroups::processes(self.folder.name(), self.name())?.is_empty() {
            return Err(LabError::Power { host: self.name().to_owned(), is: "on already" });
        }
        Boot::start(&self.folder, &self.record)?.wait(self)
    }

    /// Lets the host reboot itself in order, and waits until it has come up again.
    ///
    /// # Errors
    /// When the host can't be asked, or does not come up.
    pub fn reboot(&self) -> Result<(), LabError> {
        let before = self.ssh(&["cat", BOOT_ID])?.stdout;
        // The connection may end before its answer comes.
        let asked = self.ssh(&["systemctl", "reboot"])?;
        if !asked.success() && asked.status != 255 {
            return Err(LabError::Fault { what: format!("rebooting {}", self.name()), why: asked.stderr.trim().to_owned() });
        }
        Boot::after_reboot().wait_for_new(self, before.trim())
    }

    /// Stops all of the host's processes where they are: it answers nothing, and loses nothing. [`Host::power_off`] works on it.
    ///
    /// # Errors
    /// When the host is off, or its processes do not stop.
    pub fn pause(&self) -> Result<(), LabError> {
        self.must_be_on()?;
        cgroups::freeze(self.folder.name(), self.name(), true)
    }

    /// Lets the host go on after [`Host::pause`].
    ///
    /// # Errors
    /// When the host is off.
    pub fn resume(&self) -> Result<(), LabError> {
        self.must_be_on()?;
        cgroups::freeze(self.folder.name(), self.name(), false)
    }

    /// Lets all of the host's processes together have so many thousandths of a processor, as a machine of its own has no more however idle others are;
    /// without a number, as much as there is. Gone when the host is off.
    ///
    /// # Errors
    /// When the host is off.
    pub fn limit_processor(&self, thousandths: Option<u32>) -> Result<(), LabError> {
        self.must_be_on()?;
        cgroups::limit_processor(self.folder.name(), self.name(), thousandths)
    }

    /// Makes every round trip between the controller and the host's sshd take this long, from the next connection on; zero makes the
    /// way as short as it was and ends the connections that are open. A host that refuses connections closes them instead. The host
    /// sees another address of the controller. Stays when the host is off.
    ///
    /// # Errors
    /// When the host is behind a bastion, or the proxy can't be started.
    pub fn lag(&self, round_trip: Duration) -> Result<(), LabError> {
        if round_trip.is_zero() { lag::remove(&self.folder, &self.record) } else { lag::set(&self.folder, &self.record, round_trip) }
    }

    /// How long a round trip takes, if that was set by [`Host::lag`].
    #[must_use]
    pub fn lagging(&self) -> Option<Duration> {
        lag::round_trip(&self.folder, &self.record)
    }

    /// Makes the disk full under a folder of the host: what is there can be read as before, every write fails with "No space left on
    /// device". A reboot undoes it.
    ///
    /// # Errors
    /// When there is no such folder, or something is mounted below it.
    pub fn fill(&self, path: &str) -> Result<(), LabError> {
        fill::fill(self, path)
    }

    /// Undoes [`Host::fill`], and with it what could be changed under the folder without space, such as removals.
    ///
    /// # Errors
    /// When the folder was not filled.
    pub fn free(&self, path: &str) -> Result<(), LabError> {
        fill::free(self, path)
    }

    /// The host through which alone this one is reached.
    #[must_use]
    pub fn bastion(&self) -> Option<&str> {
        self.record.behind.as_deref()
    }

    /// Cuts the host off from the network; it runs on and still sees its cable plugged in.
    ///
    /// # Errors
    /// When the host is off.
    pub fn cut(&self) -> Result<(), LabError> {
        self.must_be_on()?;
        network::cut(&self.folder, &self.port())
    }

    /// Connects the host again.
    ///
    /// # Errors
    /// When the host is off.
    pub fn heal(&self) -> Result<(), LabError> {
        self.must_be_on()?;
        network::heal(&self.folder, &self.port(), &self.record.bridge())
    }

    /// The host's journal, all boots, also of a host that is off.
    ///
    /// # Errors
    /// When journalctl can't read it.
    pub fn journal(&self) -> Result<String, LabError> {
        journal::read(&self.folder, self.name())
    }

    /// A journalctl that reads the host's journal, for a caller who adds options of it.
    #[must_use]
    pub fn journal_command(&self) -> Command {
        journal::command(&self.folder, self.name())
    }

    /// What the host wrote to its console at boot, all boots.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn console(&self) -> Result<String, LabError> {
        let path = self.folder.console(self.name());
        let text = fs::read(&path).map_err(LabError::io(format!("read {}", path.display())))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The host's machine-id.
    ///
    /// # Errors
    /// When the host's file can't be read.
    pub fn machine_id(&self) -> Result<String, LabError> {
        let path = self.folder.upper(self.name()).join("etc/machine-id");
        let text = fs::read_to_string(&path).map_err(LabError::io(format!("read {}", path.display())))?;
        Ok(text.trim().to_owned())
    }

    fn must_be_on(&self) -> Result<(), LabError> {
        match self.power()? {
            Power::Off => Err(LabError::Power { host: self.name().to_owned(), is: "off" }),
            Power::On | Power::Cut | Power::Paused => Ok(()),
        }
    }

    fn port(&self) -> String {
        address::port(self.record.number)
    }
}
