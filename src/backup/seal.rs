//! Encryption of backups: what is written is for those who have the private key of one of its recipients.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

#[cfg(feature = "backup-encryption")]
use age::secrecy::SecretString;
#[cfg(feature = "backup-encryption")]
use zeroize::Zeroizing;

use crate::failure::{Failure, Kind};

/// What an encrypted file begins with (c2sp.org/age).
pub(super) const MARK: &[u8] = b"age-encryption.org/v1\n";

/// A file of private keys is some lines.
#[cfg(feature = "backup-encryption")]
const MOST_BYTES: u64 = 1 << 20;

/// What is wrong where a key is none, and what to do about it.
#[cfg(feature = "backup-encryption")]
const NO_KEY: &str = "the private key of the backup can't be used";
#[cfg(feature = "backup-encryption")]
const KEY_WANTED: &str = "name the file that `age-keygen -o FILE` has written";

/// For whom a backup is written.
pub enum Seal {
    /// For whoever gets the file.
    Open,
    /// For those who have the private key of any of these.
    #[cfg(feature = "backup-encryption")]
    To(Vec<age::x25519::Recipient>),
    /// For those who know this.
    #[cfg(feature = "backup-encryption")]
    With(SecretString),
}

impl Seal {
    /// For these recipients of age, of which there is one at least.
    ///
    /// # Errors
    /// [`Failure`] where one is none, or this program was made without encryption.
    #[cfg(feature = "backup-encryption")]
    pub fn to(recipients: &[String]) -> Result<Self, Failure> {
        let recipient = |text: &String| {
            text.parse().map_err(|because: &str| {
                let what = format!("{} is no recipient of a backup", text.escape_debug());
                let failure = Failure::new(Kind::Input, what)
                    .because(format!("{because}; a recipient begins with `age1`, as `age-keygen` writes it"));
                failure.hint("write the line behind `# public key:` of the file that `age-keygen` has written")
            })
        };
        recipients.iter().map(recipient).collect::<Result<_, _>>().map(Self::To)
    }

    /// For those who know the passphrase in a file.
    ///
    /// # Errors
    /// [`Failure`] where it can't be read, others than its owner can read it, or what is in it is too short to be one; none quotes it.
    #[cfg(feature = "backup-encryption")]
    pub fn with_passphrase_of(path: &Path) -> Result<Self, Failure> {
        passphrase(path).map(Self::With)
    }

    /// Nothing is encrypted by a program that was made without encryption.
    ///
    /// # Errors
    /// [`Failure`] that says so.
    #[cfg(not(feature = "backup-encryption"))]
    pub fn with_passphrase_of(_: &Path) -> Result<Self, Failure> {
        Err(without_encryption())
    }

    /// Nothing is encrypted by a program that was made without encryption.
    ///
    /// # Errors
    /// [`Failure`] that says so.
    #[cfg(not(feature = "backup-encryption"))]
    pub fn to(_: &[String]) -> Result<Self, Failure> {
        Err(without_encryption())
    }

    /// Whether what is written can be read by some only.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        !matches!(self, Self::Open)
    }

    /// What is written to the result goes to `output`, for those only.
    pub(super) fn around<W: Write>(&self, output: W) -> io::Result<Sealing<W>> {
        match self {
            Self::Open => Ok(Sealing::Open(output)),
            #[cfg(feature = "backup-encryption")]
            Self::To(recipients) => {
                let recipients = recipients.iter().map(|recipient| recipient as &dyn age::Recipient);
                let encryptor = age::Encryptor::with_recipients(recipients).map_err(|error| io::Error::other(error.to_string()))?;
                encryptor.wrap_output(output).map(|stream| Sealing::Age(Box::new(stream)))
            }
            #[cfg(feature = "backup-encryption")]
            Self::With(passphrase) => {
                let encryptor = age::Encryptor::with_user_passphrase(passphrase.clone());
                encryptor.wrap_output(output).map(|stream| Sealing::Age(Box::new(stream)))
            }
        }
    }
}

/// What several persons can guess is none. With scrypt each try costs a second.
#[cfg(feature = "backup-encryption")]
const LEAST_CHARACTERS: usize = 12;

/// As much as age's own program does (2^22 of scrypt's rounds): a slow machine opens what a fast one has written, and nobody makes it work for hours.
#[cfg(feature = "backup-encryption")]
const MOST_WORK: u8 = 22;

/// The first line of a file.
#[cfg(feature = "backup-encryption")]
fn passphrase(path: &Path) -> Result<SecretString, Failure> {
    let what = "the passphrase of the backup can't be used";
    let text = secret_text(path, what, "name a file of mode 0600 that has it in its first line")?;
    let line = text.lines().next().unwrap_or_default().trim_end();
    if line.chars().count() < LEAST_CHARACTERS {
        let failure = Failure::new(Kind::Input, what).at(path.display().to_string());
        let failure = failure.because(format!("its first line has fewer than {LEAST_CHARACTERS} characters"));
        return Err(failure.hint("write one that nobody guesses, such as six words that were drawn by lot"));
    }
    Ok(SecretString::from(line.to_owned()))
}

/// What stands in a small file that nobody but its owner can read.
#[cfg(feature = "backup-encryption")]
fn secret_text(path: &Path, what: &str, readable: &str) -> Result<Zeroizing<String>, Failure> {
    let wrong = |because: String, hint: &str| Failure::new(Kind::Input, what).at(path.display().to_string()).because(because).hint(hint);
    let file = crate::plain_file::open(path).map_err(|error| wrong(error.to_string(), readable))?;
    let metadata = file.metadata().map_err(|error| wrong(error.to_string(), readable))?;
    // What a shell has opened is nobody else's.
    if let Some(mode) = crate::remote::mode_if_open(&metadata).filter(|_| metadata.is_file()) {
        return Err(wrong(format!("the mode of the file is {mode:04o}"), &format!("chmod 600 {}", path.display())));
    }
    let bytes = crate::plain_file::bounded(file, MOST_BYTES).map(Zeroizing::new).map_err(|because| wrong(because, readable))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is no text".to_owned(), readable))?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(not(feature = "backup-encryption"))]
fn without_encryption() -> Failure {
    let failure = Failure::new(Kind::Input, "this kokctl neither encrypts nor decrypts")
        .because("it was made without the feature `backup-encryption`");
    failure.hint("take one that was made with it, as releases are")
}

/// What is being written.
pub(super) enum Sealing<W: Write> {
    Open(W),
    #[cfg(feature = "backup-encryption")]
    Age(Box<age::stream::StreamWriter<W>>),
}

impl<W: Write> Sealing<W> {
    /// All was written.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Open(output) => Ok(output),
            #[cfg(feature = "backup-encryption")]
            Self::Age(stream) => stream.finish(),
        }
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Open(output) => output.write(bytes),
            #[cfg(feature = "backup-encryption")]
            Self::Age(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Open(output) => output.flush(),
            #[cfg(feature = "backup-encryption")]
            Self::Age(stream) => stream.flush(),
        }
    }
}

/// Private keys, or a passphrase, each of which may open a backup. It has no `Debug` on purpose.
pub struct Identities {
    #[cfg(feature = "backup-encryption")]
    keys: Vec<age::x25519::Identity>,
    #[cfg(feature = "backup-encryption")]
    passphrase: Option<SecretString>,
}

impl Identities {
    /// Those of a file as `age-keygen` writes it: a line each, and comments.
    ///
    /// # Errors
    /// [`Failure`] where it can't be read, others than its owner can read it, or a line is no private key; none quotes it.
    #[cfg(feature = "backup-encryption")]
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Self::of_text(&secret_text(path, NO_KEY, KEY_WANTED)?, &path.display().to_string())
    }

    /// Those of what stands in such a file; `named` says where that is.
    ///
    /// # Errors
    /// [`Failure`] where it is no text, or a line is no private key; none quotes it.
    #[cfg(feature = "backup-encryption")]
    pub fn parse(bytes: &[u8], named: &str) -> Result<Self, Failure> {
        let no_text = || Failure::new(Kind::Input, NO_KEY).at(named.to_owned()).because("it is no text").hint(KEY_WANTED);
        Self::of_text(std::str::from_utf8(bytes).map_err(|_| no_text())?, named)
    }

    #[cfg(feature = "backup-encryption")]
    fn of_text(text: &str, named: &str) -> Result<Self, Failure> {
        let wrong = |because: String| Failure::new(Kind::Input, NO_KEY).at(named.to_owned()).because(because).hint(KEY_WANTED);
        let lines = text.lines().zip(1..).map(|(line, number)| (line.trim(), number));
        let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let key = |(line, number): (&str, usize)| {
            let key = line.parse::<age::x25519::Identity>();
            key.map_err(|because| wrong(format!("line {number} is no private key of age (AGE-SECRET-KEY-1…): {because}")))
        };
        let keys = lines.map(key).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() { Err(wrong("it has none".to_owned())) } else { Ok(Self { keys, passphrase: None }) }
    }

    /// The passphrase in a file.
    ///
    /// # Errors
    /// As [`Seal::with_passphrase_of`].
    #[cfg(feature = "backup-encryption")]
    pub fn passphrase_of(path: &Path) -> Result<Self, Failure> {
        passphrase(path).map(|passphrase| Self { keys: Vec::new(), passphrase: Some(passphrase) })
    }

    /// Nothing is decrypted by a program that was made without encryption.
    ///
    /// # Errors
    /// [`Failure`] that says so.
    #[cfg(not(feature = "backup-encryption"))]
    pub fn passphrase_of(_: &Path) -> Result<Self, Failure> {
        Err(without_encryption())
    }

    /// Nothing is decrypted by a program that was made without encryption.
    ///
    /// # Errors
    /// [`Failure`] that says so.
    #[cfg(not(feature = "backup-encryption"))]
    pub fn read(_: &Path) -> Result<Self, Failure> {
        Err(without_encryption())
    }

    /// Nothing is decrypted by a program that was made without encryption.
    ///
    /// # Errors
    /// [`Failure`] that says so.
    #[cfg(not(feature = "backup-encryption"))]
    pub fn parse(_: &[u8], _: &str) -> Result<Self, Failure> {
        Err(without_encryption())
    }
}

/// Why an encrypted file can't be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum Closed {
    #[error("it is encrypted")]
    NoIdentity,
    #[error("none of the private keys given opens it: it is for others, or for a passphrase, or its beginning was changed")]
    OtherIdentity,
    #[error("the passphrase given does not open it: it is another one, or the backup is for private keys, or its beginning was changed")]
    OtherPassphrase,
    #[error("its beginning was changed after it was written")]
    Changed,
    #[error("{0}")]
    Disk(io::Error),
}

/// What is being read, decrypted if it is encrypted and one of these keys opens it.
pub(super) fn open<'a, R: BufRead + 'a>(mut input: R, identities: Option<&Identities>) -> Result<Box<dyn Read + 'a>, Closed> {
    let beginning = input.fill_buf().map_err(Closed::Disk)?;
    let is_encrypted = beginning.starts_with(MARK);
    match identities {
        _ if !is_encrypted => Ok(Box::new(input)),
        None => Err(Closed::NoIdentity),
        #[cfg(feature = "backup-encryption")]
        Some(Identities { keys, passphrase }) => {
            use age::DecryptError;
            let closed = |error: DecryptError| match error {
                DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed if passphrase.is_some() => Closed::OtherPassphrase,
                DecryptError::NoMatchingKeys => Closed::OtherIdentity,
                DecryptError::Io(error) => Closed::Disk(error),
                _ => Closed::Changed,
            };
            let decryptor = age::Decryptor::new_buffered(input).map_err(closed)?;
            let of_passphrase = passphrase.clone().map(|passphrase| {
                let mut identity = age::scrypt::Identity::new(passphrase);
                identity.set_max_work_factor(MOST_WORK);
                identity
            });
            let keys = keys.iter().map(|key| key as &dyn age::Identity);
            let stream = decryptor.decrypt(keys.chain(of_passphrase.iter().map(|it| it as &dyn age::Identity))).map_err(closed)?;
            Ok(Box::new(stream))
        }
        #[cfg(not(feature = "backup-encryption"))]
        Some(Identities {}) => Err(Closed::NoIdentity),
    }
}
