//! Writing to the two standard streams. A closed pipe is no error: whoever reads has seen enough. A full disk is one.

use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use indicatif::MultiProgress;

use crate::failure::{Failure, Kind, printable};

/// Why a line of result could not be written, the first time that it happened.
static LOST: OnceLock<String> = OnceLock::new();

/// What draws on the terminal at the moment.
static BOARD: Mutex<Option<MultiProgress>> = Mutex::new(None);

fn board() -> MutexGuard<'static, Option<MultiProgress>> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets lines that anybody writes stand above this board, until it is `None` again.
pub(super) fn draw_above(bars: Option<MultiProgress>) {
    *board() = bars;
}

/// Has the terminal to itself while it works: for questions.
pub(crate) fn with_terminal<T>(work: impl FnOnce() -> T) -> T {
    let bars = board().clone();
    match bars {
        Some(bars) => bars.suspend(work),
        None => work(),
    }
}

/// Writes a line of result to standard output, or several. Whether that worked is told by [`written`]. What a host put into them can't drive
/// the terminal.
pub fn line(text: &str) {
    if let Some(error) = write_to(&mut io::stdout().lock(), &printable(text)) {
        let _ = LOST.set(error);
    }
}

/// Writes a line about the state of things to standard error; above the board, where there is one.
pub fn status_line(text: &str) {
    let text = printable(text);
    if let Some(bars) = board().as_ref() {
        let _ = bars.println(text);
        return;
    }
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// Whether everything that was to be written to standard output was.
///
/// # Errors
/// [`Failure`] if not, unless nobody reads there any more.
pub fn written() -> Result<(), Failure> {
    match LOST.get() {
        None => Ok(()),
        Some(error) => Err(Failure::new(Kind::Internal, "the result could not be written")
            .at("standard output")
            .because(error)
            .hint("make room where it is sent to; what was done on hosts is done, and the same command can be run again")),
    }
}

fn write_to(out: &mut impl Write, text: &str) -> Option<String> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Some(error.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
        let mut full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        assert!(write_to(&mut full, "x").is_some_and(|error| error.contains("No space left")));
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!(write_to(&mut writer, "x"), None);
    }
}
