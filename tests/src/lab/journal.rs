//! The hosts' journals, read from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::command::{run, to_stderr, with_causes};
use super::folder::LabFolder;
use super::record::LabRecord;
use super::{LabError, paths};

/// A journalctl that reads the host's journal; add its options.
pub(crate) fn command(folder: &LabFolder, host: &str) -> Command {
    let mut command = Command::new("journalctl");
    command.arg("--directory").arg(folder.upper(host).join("var/log/journal"));
    command
}

/// The host's whole journal as text.
pub(crate) fn read(folder: &LabFolder, host: &str) -> Result<String, LabError> {
    let mut command = command(folder, host);
    command.args(["--quiet", "--no-pager", "--output", "short-precise"]);
    run(&format!("reading the journal of host {host}"), &mut command)
}

/// Keeps the journals and consoles of all hosts in a folder of their own and prints where; goes on where one can't be read.
pub(crate) fn keep_after_failure(folder: &LabFolder, record: &LabRecord) {
    match keep(folder, record) {
        Ok(kept) => to_stderr(&format!("the journals of the hosts of lab {} are in {}", record.name, kept.display())),
        Err(error) => to_stderr(&format!("the journals of lab {} could not be kept: {}", record.name, with_causes(&error))),
    }
}

fn keep(folder: &LabFolder, record: &LabRecord) -> Result<PathBuf, LabError> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let kept = paths::failures()?.join(format!("{}-{seconds}", record.name));
    fs::create_dir_all(&kept).map_err(LabError::io(format!("make the folder {}", kept.display())))?;
    for host in &record.hosts {
        let journal = read(folder, &host.name).unwrap_or_else(|error| with_causes(&error));
        write(&kept.join(format!("{}.journal", host.name)), journal.as_bytes())?;
        let console = fs::read(folder.console(&host.name)).unwrap_or_default();
        write(&kept.join(format!("{}.console", host.name)), &console)?;
    }
    Ok(kept)
}

fn write(path: &Path, text: &[u8]) -> Result<(), LabError> {
    fs::write(path, text).map_err(LabError::io(format!("write {}", path.display())))
}
