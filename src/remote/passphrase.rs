//! Passphrases of private keys: from a file, or from the person at the terminal. Never from an argument or a variable, which others see.
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Names a file with the passphrase of the private keys, for where nobody sits at a terminal.
pub(super) const PASSPHRASE_FILE: &str = "KOKCTL_KEY_PASSPHRASE_FILE";

/// The longest passphrase. OpenSSH takes 1024 bytes.
const LIMIT: usize = 1024;

/// Where passphrases come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Passphrases {
    /// There are none.
    #[default]
    Nobody,
    /// The first line of a file.
    File(PathBuf),
    /// A person.
    Terminal,
}

impl Passphrases {
    /// As the process was started.
    pub(super) fn of_process() -> Self {
        match std::env::var_os(PASSPHRASE_FILE).filter(|path| !path.is_empty()) {
            Some(path) => Self::File(PathBuf::from(path)),
            None if is_terminal() => Self::Terminal,
            None => Self::Nobody,
        }
    }
}

/// Whether somebody can be asked. Whoever redirects all of them does not look at the terminal.
pub(crate) fn is_terminal() -> bool {
    rustix::termios::isatty(io::stderr()) && rustix::termios::isatty(io::stdin())
}

/// The first line of a file that only its owner may read.
pub(super) fn read_file(path: &Path) -> io::Result<Zeroizing<String>> {
    let file = crate::plain_file::open(path)?;
    let metadata = file.metadata()?;
    if metadata.mode() & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("others may read it (mode {:04o})", metadata.mode() & 0o7777)));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(LIMIT + 2));
    file.take(LIMIT as u64 + 2).read_to_end(&mut bytes)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    text(line)
}

/// Asks at the terminal, without showing what is typed.
pub(crate) fn ask(question: &str) -> io::Result<Zeroizing<String>> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    ask_at(&terminal, question)
}

pub(super) fn ask_at(terminal: &File, question: &str) -> io::Result<Zeroizing<String>> {
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

fn text(bytes: &[u8]) -> io::Result<Zeroizing<String>> {
    let text = std::str::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
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
