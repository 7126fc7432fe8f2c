//! Writing to the two standard streams. A closed pipe is no error: whoever reads has seen enough.

use std::io::{self, Write as _};

/// Writes a line of result to standard output.
pub fn line(text: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{text}");
}

/// Writes a line about the state of things to standard error.
pub fn status_line(text: &str) {
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "{text}");
}
