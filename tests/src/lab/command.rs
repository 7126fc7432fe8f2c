//! Running the system's programs.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::process::{Command, Stdio};

use super::LabError;

/// Runs `command` to its end without input and returns its standard output; a status other than 0 is an error with its text.
pub(crate) fn run(what: &str, command: &mut Command) -> Result<String, LabError> {
    let output = command.stdin(Stdio::null()).output().map_err(LabError::io(format!("start the program for: {what}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    Err(LabError::Command { what: what.to_owned(), status: output.status, output: text.trim().to_owned() })
}

/// What a command on a host came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// The exit status; 255 also when SSH itself failed, -1 when a signal ended the client.
    pub status: i32,
    /// Standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error, SSH's own messages among it.
    pub stderr: String,
}

impl CommandOutput {
    /// Whether the status is 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status == 0
    }
}

/// Runs `command` until it ended, whatever became of the processes that it started. Its output goes to files for that: with a pipe,
/// an ssh that gave up would be waited for until the ssh to its bastion gives up too, which is two minutes later.
pub(crate) fn output_of(command: &mut Command, name: &str) -> Result<CommandOutput, LabError> {
    let file = || tempfile::tempfile().map_err(LabError::io("make a file for output"));
    let (mut stdout, mut stderr) = (file()?, file()?);
    let copy = |file: &File| file.try_clone().map_err(LabError::io("duplicate a file for output"));
    command.stdout(copy(&stdout)?).stderr(copy(&stderr)?);
    let status = command.status().map_err(LabError::io(format!("start {name}")))?;
    let read = |file: &mut File| {
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(LabError::io("read output"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(CommandOutput { status: status.code().unwrap_or(-1), stdout: read(&mut stdout)?, stderr: read(&mut stderr)? })
}

/// The error with all its sources, in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // Writing to a String can't fail.
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

/// Writes a line to standard error; where that is closed there is nobody to tell.
pub(crate) fn to_stderr(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The last `count` lines of `text`.
pub(crate) fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}
