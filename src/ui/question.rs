//! Questions at the terminal whose answers are secret.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::writer::with_terminal;

/// The longest answer. OpenSSH takes passphrases of 1024 bytes.
const LIMIT: usize = 1024;

/// Whether somebody can be asked. Whoever redirects all of them does not look at the terminal.
pub(crate) fn is_terminal() -> bool {
    rustix::termios::isatty(io::stderr()) && rustix::termios::isatty(io::stdin())
}

/// Asks at the terminal, without showing what is typed.
pub(crate) fn ask_hidden(question: &str) -> io::Result<Zeroizing<String>> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    // What is drawn meanwhile would wipe the question away.
    with_terminal(|| ask_at(&terminal, question))
}

fn ask_at(terminal: &File, question: &str) -> io::Result<Zeroizing<String>> {
    let quiet = Quiet::new(terminal)?;
    let mut writer = terminal;
    writer.write_all(question.as_bytes())?;
    let line = read_line(terminal);
    drop(quiet);
    writer.write_all(b"\r\n")?;
    text(&line?)
}

/// Reads bytes up to the end of the line. Keys that would be signals are none now, so that the terminal can't be left silent: they
/// end the question.
fn read_line(mut terminal: &File) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(LIMIT));
    let mut byte = [0];
    loop {
        if terminal.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match byte {
            [b'\r' | b'\n'] => return Ok(line),
            // Ctrl-C, Ctrl-D, Ctrl-\.
            [3 | 4 | 28] => return Err(io::Error::new(io::ErrorKind::Interrupted, "it was not given")),
            // Backspace, and Ctrl-U.
            [8 | 127] => drop(line.pop()),
            [21] => line.clear(),
            [other] if line.len() < LIMIT => line.push(other),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is too long")),
        }
    }
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Quiet<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Quiet<'a> {
    fn new(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(terminal, OptionalActions::Flush, &quiet)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        // Whoever closed the terminal needs no echo.
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}

fn text(bytes: &[u8]) -> io::Result<Zeroizing<String>> {
    let text = std::str::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use std::fs;

    use super::*;

    #[test]
    fn what_is_typed_at_a_terminal_is_not_shown() {
        let controller = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&controller).unwrap();
        rustix::pty::unlockpt(&controller).unwrap();
        let name = rustix::pty::ptsname(&controller, Vec::new()).unwrap();
        let terminal = fs::OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut controller = fs::File::from(controller);
        let asking = std::thread::spawn({
            let terminal = terminal.try_clone().unwrap();
            move || [ask_at(&terminal, "Word: "), ask_at(&terminal, "Again: ")].map(|answer| answer.map(|word| word.to_string()).ok())
        });
        let mut shown = String::new();
        let mut until = |text: &str, controller: &mut fs::File| {
            let mut piece = [0; 100];
            while !shown.ends_with(text) {
                let read = controller.read(&mut piece).unwrap();
                shown.push_str(std::str::from_utf8(&piece[..read]).unwrap());
            }
        };
        until("Word: ", &mut controller);
        controller.write_all(b"forget\x15open\x7fn sesame\r").unwrap();
        until("Again: ", &mut controller);
        controller.write_all(b"half\x03").unwrap();
        assert_eq!(asking.join().unwrap(), [Some("open sesame".to_owned()), None]);
        assert!(!shown.contains("sesame"), "{shown:?}");
        let modes = rustix::termios::tcgetattr(&terminal).unwrap().local_modes;
        assert!(modes.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ISIG));
    }
}
