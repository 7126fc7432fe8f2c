//! Running the system's programs.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
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
