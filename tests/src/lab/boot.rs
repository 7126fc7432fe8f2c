//! Making a host's disk, starting it, and waiting until it is of use.

use std::fs::{self, File};
use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::command::tail;
use super::folder::LabFolder;
use super::record::HostRecord;
use super::{Host, LabError, address, cgroups, keys, network};

pub(crate) const START: &str = include_str!("../../lab/host/start.sh");

/// A host boots in seconds; this is for a machine that builds something else at the same time.
const DEADLINE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(50);
/// Port of SSH.
const SSH: u16 = 22;

/// Makes the host's disk: an empty overlay but for what is this host's own.
pub(crate) fn make_disk(folder: &LabFolder, record: &HostRecord, root: &Path) -> Result<(), LabError> {
    let (host, upper) = (folder.host(&record.name), folder.upper(&record.name));
    for part in ["work", "data/containerd", "data/kubelet", "data/etcd", "upper/etc/systemd/network", "upper"] {
        keys::make_folder(&host.join(part), 0o755)?;
    }
    for (part, mode) in [("etc", 0o755), ("etc/systemd", 0o755), ("home", 0o755), ("root", 0o700)] {
        keys::make_folder(&upper.join(part), mode)?;
    }
    symlink(root, host.join("root")).map_err(LabError::io(format!("link the root of host {}", record.name)))?;
    let own = [
        ("etc/hostname", format!("{}\n", record.name)),
        ("etc/machine-id", machine_id()?),
        // As Debian's installer writes it.
        ("etc/hosts", format!("127.0.0.1\tlocalhost\n127.0.1.1\t{}\n::1\tlocalhost ip6-localhost ip6-loopback\n", record.name)),
        // Nobody answers there, and says so at once. Without any server CoreDNS would not start on this host.
        ("etc/resolv.conf", format!("nameserver {}\n", address::CONTROLLER)),
        ("etc/systemd/network/10-lab.network", network_unit(record)),
    ];
    for (path, text) in own {
        keys::write(&upper.join(path), &text, 0o644)?;
    }
    keys::make_host(folder, &record.name)?;
    give_home_to_ops(root, &upper)
}

/// An upper folder hides the owner and mode of the one below, so the home of `ops` gets those that it has in the root.
fn give_home_to_ops(root: &Path, upper: &Path) -> Result<(), LabError> {
    let what = || "give ops its home".to_owned();
    let original = fs::metadata(root.join("home/ops")).map_err(LabError::io(what()))?;
    let home = upper.join("home/ops");
    fs::set_permissions(&home, original.permissions()).map_err(LabError::io(what()))?;
    for path in [&home, &home.join(".ssh"), &home.join(".ssh/authorized_keys")] {
        chown(path, Some(original.uid()), Some(original.gid())).map_err(LabError::io(what()))?;
    }
    Ok(())
}

fn machine_id() -> Result<String, LabError> {
    let path = "/proc/sys/kernel/random/uuid";
    let uuid = fs::read_to_string(path).map_err(LabError::io(format!("read {path}")))?;
    Ok(uuid.replace('-', ""))
}

/// A default route, as every machine has: programs look at it for the machine's own address. It leads to the controller, which
/// says of everything that it can't be reached.
fn network_unit(record: &HostRecord) -> String {
    format!(
        "[Match]\nName=host0\n\n[Network]\nAddress={}/{}\nGateway={}\nLinkLocalAddressing=ipv6\nIPv6AcceptRA=no\nDHCP=no\n",
        record.address(),
        address::PREFIX,
        address::CONTROLLER
    )
}

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
            .arg(address::BRIDGE)
            .arg(network::namespace(folder)?)
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

    /// Waits until the host answers over SSH and its systemd says `running`.
    pub(crate) fn wait(&self, host: &Host) -> Result<(), LabError> {
        self.wait_for_ssh(host)?;
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
