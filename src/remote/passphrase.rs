//! Passphrases of private keys: from a file, or from a person. Never from an argument or a variable, which others see.
use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Names a file with the passphrase of the private keys, for where nobody sits at a terminal.
pub(crate) const PASSPHRASE_FILE: &str = "KOKCTL_KEY_PASSPHRASE_FILE";

/// The longest passphrase. OpenSSH takes 1024 bytes.
const LIMIT: usize = 1024;

/// Where passphrases come from.
#[derive(Debug, Clone, Default)]
pub enum Passphrases {
    /// There are none.
    #[default]
    Nobody,
    /// The first line of a file.
    File(PathBuf),
    /// A person.
    Asked(Ask),
}

/// Asks a person, without showing what is typed. It may take as long as people take, so it is called where it may block.
#[derive(Clone)]
pub struct Ask(Arc<Question>);

type Question = dyn Fn(&str) -> io::Result<Zeroizing<String>> + Send + Sync;

impl Ask {
    /// By this question.
    pub fn new(ask: impl Fn(&str) -> io::Result<Zeroizing<String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    pub(super) fn ask(&self, question: &str) -> io::Result<Zeroizing<String>> {
        (self.0)(question)
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ask")
    }
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

fn text(bytes: &[u8]) -> io::Result<Zeroizing<String>> {
    let text = std::str::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
}
