//! The lab's network namespace: kept by one process of the lab, left with everything in it when that process ends.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::address::{self, CONTROLLER, PREFIX, PROXY};
use super::command::run;
use super::folder::LabFolder;
use super::{LabError, cgroups, process};

/// A killed process ends at once, but for one that waits for a disk.
const KILL_DEADLINE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

const SCRIPT: &str = include_str!("../../lab/host/network.sh");

/// Starts the process that makes and keeps the namespace, and waits until the bridges, one for each depth, are up.
pub(crate) fn start(folder: &LabFolder, deepest: usize) -> Result<(), LabError> {
    let script = folder.network_script();
    fs::write(&script, SCRIPT).map_err(LabError::io(format!("write {}", script.display())))?;
    let log = File::create(folder.network_log()).map_err(LabError::io("make the network's log"))?;
    let mut child = Command::new("setsid")
        .arg("sh")
        .arg(&script)
        .arg(format!("{CONTROLLER}/{PREFIX}"))
        .arg(format!("{PROXY}/{PREFIX}"))
        .arg((0..=deepest).map(address::bridge).collect::<Vec<_>>().join(" "))
        .args(cgroups::create(folder.name(), cgroups::NETWORK)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(LabError::io("start setsid"))?;
    let mut said = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut said).map_err(LabError::io("read from the network's process"))?;
    }
    if said.trim() != "ready" {
        let status = child.wait().map_err(LabError::io("wait for the network's process"))?;
        let output = fs::read_to_string(folder.network_log()).unwrap_or_default();
        return Err(LabError::Command { what: "making the lab's network".to_owned(), status, output: output.trim().to_owned() });
    }
    // It ends with the lab; somebody has to take note of that, or it stays as a zombie of this process.
    thread::spawn(move || child.wait());
    Ok(())
}

/// The link that stands for the lab's network namespace.
pub(crate) fn namespace(folder: &LabFolder) -> Result<PathBuf, LabError> {
    let pids = cgroups::processes(folder.name(), cgroups::NETWORK)?;
    let pid = pids.first().ok_or_else(|| LabError::NotRunning(folder.name().to_owned()))?;
    Ok(process::network_namespace(*pid))
}

/// A command in the lab's network namespace; not `ip netns exec`, which mounts another /sys.
pub(crate) fn command(folder: &LabFolder, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
    let mut option = std::ffi::OsString::from("--net=");
    option.push(namespace(folder)?);
    let mut command = Command::new("nsenter");
    command.arg(option).arg("--").arg(program);
    Ok(command)
}

/// Kills what was started in the lab's network and is not in its cgroups, as by `lab run`; never this process.
pub(crate) fn kill_guests(folder: &LabFolder) -> Result<(), LabError> {
    // Without the network's process there is no telling which network was the lab's.
    let Ok(lab) = namespace(folder) else { return Ok(()) };
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    // It is in its cgroup before it has a network of its own. Where an `up` was killed in between, the namespace that it is in is the machine's: whatever
    // runs here would be taken for a guest.
    if process::same_namespace(&lab, &process::network_namespace(own)) {
        return Ok(());
    }
    let deadline = Instant::now() + KILL_DEADLINE;
    loop {
        let members = cgroups::processes(folder.name(), "")?;
        let is_guest = |pid: i32| process::same_namespace(&process::network_namespace(pid), &lab);
        let guests: Vec<i32> = process::all().into_iter().filter(|pid| *pid != own && !members.contains(pid) && is_guest(*pid)).collect();
        if guests.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let what = format!("the programs that were started in the network of lab {} have ended: {guests:?}", folder.name());
            return Err(LabError::Deadline { what, after: KILL_DEADLINE });
        }
        for pid in guests {
            process::kill(pid, || is_guest(pid));
        }
        thread::sleep(POLL);
    }
}

/// Takes the host's port off the bridge: nothing passes, yet the host sees its cable plugged in.
pub(crate) fn cut(folder: &LabFolder, port: &str) -> Result<(), LabError> {
    ip(folder, "cutting the host off", &["link", "set", port, "nomaster"])
}

/// Puts the host's port back on its bridge.
pub(crate) fn heal(folder: &LabFolder, port: &str, bridge: &str) -> Result<(), LabError> {
    ip(folder, "connecting the host", &["link", "set", port, "master", bridge])
}

/// Whether the port is there and off every bridge.
pub(crate) fn is_cut(folder: &LabFolder, port: &str) -> Result<bool, LabError> {
    let mut show = command(folder, "ip")?;
    show.args(["-oneline", "link", "show", "dev", port]);
    Ok(run("looking at the host's port", &mut show).is_ok_and(|text| !text.contains(" master ")))
}

/// Removes a port that the kernel has not removed yet: it does so some time after the host's last process has ended, and a new
/// port can't have its name before.
pub(crate) fn remove_port(folder: &LabFolder, port: &str) -> Result<(), LabError> {
    let mut delete = command(folder, "ip")?;
    delete.args(["link", "delete", "dev", port]);
    match run("removing the host's port", &mut delete) {
        Err(LabError::Command { output, .. }) if output.contains("Cannot find device") => Ok(()),
        other => other.map(drop),
    }
}

fn ip(folder: &LabFolder, what: &str, arguments: &[&str]) -> Result<(), LabError> {
    run(what, command(folder, "ip")?.args(arguments)).map(drop)
}
