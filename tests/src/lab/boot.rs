//! Starting a host, and waiting until it is of use.

use std::fs::File;
use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::command::tail;
use super::folder::LabFolder;
use super::record::HostRecord;
use super::{Host, LabError, address, cgroups, disk, network};

pub(crate) const START: &str = include_str!("../../lab/host/start.sh");

/// A host boots in seconds; this is for a machine that builds something else at the same time.
const DEADLINE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(50);
/// Another one after each boot.
pub(crate) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Port of SSH.
const SSH: u16 = 22;

/// A host on its way up.
#[derive(Debug)]
pub(crate) struct Boot {
    ended: Arc<OnceLock<ExitStatus>>,
    deadline: Instant,
}

impl Boot {
    /// Starts the host; its disk is there.
    pub(crate) fn start(folder: &LabFolder, record: &HostRecord) -> Result<Self, LabError> {
        let console = folder.console(&record.name);
        let what = || format!("open {}", console.display());
        let output = File::options().create(true).append(true).open(&console).map_err(LabError::io(what()))?;
        let errors = output.try_clone().map_err(LabError::io(what()))?;
        let mut child = Command::new("setsid")
            .arg("sh")
            .arg(folder.start_script())
            .args([record.name.as_str(), &address::machine(record.number)])
            .arg(folder.host(&record.name))
            .arg(network::namespace(folder)?)
            .arg(record.bridge())
            .arg(if record.is_bastion { address::bridge(record.depth + 1) } else { String::new() })
            .arg(if record.light { disk::LIGHT_TARGET } else { "" })
            .args(cgroups::create(folder.name(), &record.name)?)
            // systemd-nspawn guesses from the machine's pid 1, which need not be systemd.
            .env("SYSTEMD_NSPAWN_UNIFIED_HIERARCHY", if cgroups::unified_only()? { "1" } else { "0" })
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(LabError::io("start setsid"))?;
        let ended = Arc::new(OnceLock::new());
        let noted = Arc::clone(&ended);
        // Takes note of the end, so that the host leaves no zombie.
        thread::spawn(move || child.wait().map(|status| noted.set(status)));
        Ok(Self { ended, deadline: Instant::now() + DEADLINE })
    }

    /// A host that reboots by itself.
    pub(crate) fn after_reboot() -> Self {
        Self { ended: Arc::default(), deadline: Instant::now() + DEADLINE }
    }

    /// Waits until the host answers over SSH and its systemd says `running`.
    pub(crate) fn wait(&self, host: &Host) -> Result<(), LabError> {
        if host.bastion().is_none() {
            self.wait_for_ssh(host)?;
        }
        loop {
            let output = host.ssh(&["systemctl", "is-system-running", "--wait"])?;
            match output.stdout.trim() {
                "running" => return Ok(()),
                // SSH failed, or systemd does not answer yet.
                "" | "offline" | "unknown" => self.pause(host, &output)?,
                state => {
                    let failed = host.ssh(&["systemctl", "list-units", "--failed", "--plain", "--no-legend"])?.stdout;
                    return Err(boot_error(host, format!("its systemd is {state}; failed units:\n{}", failed.trim())));
                }
            }
        }
    }

    /// Knocks from a thread in the lab's network, which costs nothing; starting SSH again and again would slow the boot.
    fn wait_for_ssh(&self, host: &Host) -> Result<(), LabError> {
        let namespace = network::namespace(host.folder())?;
        let namespace = File::open(&namespace).map_err(LabError::io(format!("open {}", namespace.display())))?;
        thread::scope(|scope| {
            let knock = scope.spawn(|| {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                    .map_err(|error| LabError::io("join the lab's network")(error.into()))?;
                while let Err(error) = banner(host) {
                    self.pause(host, &error)?;
                }
                Ok(())
            });
            knock.join().unwrap_or_else(|_| Err(boot_error(host, "waiting for it failed".to_owned())))
        })
    }

    /// Waits until the host is one that has another boot id than `before`.
    pub(crate) fn wait_for_new(&self, host: &Host, before: &str) -> Result<(), LabError> {
        loop {
            let output = host.ssh(&["cat", BOOT_ID])?;
            if output.success() && output.stdout.trim() != before {
                return self.wait(host);
            }
            self.pause(host, &output)?;
        }
    }

    fn pause(&self, host: &Host, last: &dyn std::fmt::Debug) -> Result<(), LabError> {
        if let Some(status) = self.ended.get() {
            return Err(boot_error(host, format!("systemd-nspawn ended ({status})")));
        }
        if Instant::now() > self.deadline {
            return Err(boot_error(host, format!("not within {} s; last: {last:?}", DEADLINE.as_secs())));
        }
        thread::sleep(POLL);
        Ok(())
    }
}

/// Succeeds when an SSH server greets.
fn banner(host: &Host) -> std::io::Result<()> {
    let address: SocketAddr = format!("{}:{SSH}", host.address()).parse().map_err(std::io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut greeting = [0; 4];
    stream.read_exact(&mut greeting)?;
    if &greeting == b"SSH-" { Ok(()) } else { Err(std::io::Error::other("not an SSH server")) }
}

fn boot_error(host: &Host, why: String) -> LabError {
    LabError::Boot { host: host.name().to_owned(), why, console: tail(&host.console().unwrap_or_default(), 15) }
}
