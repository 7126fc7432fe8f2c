//! Script fragments: shell text with named secrets in it.

mod digest;
mod prelude;

use std::collections::BTreeSet;

pub use digest::DIGESTS;
pub use prelude::{JOBS, PRELUDE};

use crate::digest::sha256;
use crate::secret_name::SecretName;
use crate::shell::quote;

/// What an action does on a host: shell text, run by `sh` as root with `set -eu`, in which secrets stand by name.
///
/// Text that comes from a user or a host is quoted by whoever adds it. A secret is sent as base64 in a here-document, so its bytes can't end
/// the script, and never as an argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fragment {
    parts: Vec<Part>,
    folders: BTreeSet<String>,
}

/// A piece of a [`Fragment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Shell text.
    Text(String),
    /// The bytes of this secret as base64, in lines.
    Secret(SecretName),
    /// The sha256 of this secret, as an argument of a function of the script: no program is given it, and no host prints it.
    Digest(SecretName),
}

/// Ends a here-document; has characters that base64 doesn't.
const END: &str = "--END--";

impl Fragment {
    /// A fragment of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())], folders: BTreeSet::new() }
    }

    /// Adds a line of shell text.
    pub fn line(&mut self, line: &str) {
        self.parts.push(Part::Text(format!("{line}\n")));
    }

    /// Adds a command that gets `content` on its standard input; `command` is used as the last part of a pipe. It is begun only with the whole
    /// of the content: where something on the host cuts it off, such as a full disk below a here-document, the script fails instead.
    pub fn feed(&mut self, content: Content<'_>, command: &str) {
        self.give(content, &format!("base64 -d <<'{END}' | whole "), &format!(" {command}"));
    }

    /// Writes a whole file: nothing else ever sees a part of it, and its mode and owner (root) are right before its content is there. What is
    /// not what was sent never takes its place. Whoever runs the fragment flushes [`folders`](Self::folders) at its end: a file has its name only then for good.
    pub fn put(&mut self, path: &str, mode: u32, content: Content<'_>) {
        self.put_as(path, mode, "0:0", content);
    }

    /// The same with another owner: an argument of chown(1) as a word of the shell.
    pub(crate) fn put_as(&mut self, path: &str, mode: u32, owner: &str, content: Content<'_>) {
        let others = if owner == "0:0" { String::new() } else { format!(" {owner}") };
        self.give(content, &format!("put {} {mode:04o} ", quote(path)), &format!("{others} <<'{END}'"));
        self.renames_into(path);
    }

    /// Says that it renames something to this path, whose folder is to be flushed then.
    pub(crate) fn renames_into(&mut self, path: &str) {
        // What is below /run does not outlive a power cut anyway.
        if let Some((folder, _)) = path.rsplit_once('/').filter(|_| !path.starts_with("/run/")) {
            self.folders.insert(if folder.is_empty() { "/".to_owned() } else { folder.to_owned() });
        }
    }

    /// The folders into which it renames files: to be flushed when it has ended, by `flush` of the [`PRELUDE`], so that dozens of files cost that once.
    #[must_use]
    pub const fn folders(&self) -> &BTreeSet<String> {
        &self.folders
    }

    /// A command with the digest of `content` between these parts of it, which gets that as base64.
    fn give(&mut self, content: Content<'_>, begin: &str, end: &str) {
        let text = |text: String| Part::Text(text);
        match content {
            Content::Bytes(bytes) => {
                self.parts.extend([text(format!("{begin}{}{end}\n", sha256(bytes))), text(in_lines(bytes))]);
            }
            Content::Secret(name) => {
                let (digest, secret) = (Part::Digest(name.clone()), Part::Secret(name.clone()));
                self.parts.extend([text(begin.to_owned()), digest, text(format!("{end}\n")), secret]);
            }
        }
        self.parts.push(text(format!("{END}\n")));
    }

    /// The parts in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Joins another fragment to this one.
    pub fn append(&mut self, other: Self) {
        self.parts.extend(other.parts);
        self.folders.extend(other.folders);
    }
}

/// What is written or fed.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// What stands for this name at the time of the run.
    Secret(&'a SecretName),
}

/// Base64 in lines of 76 characters, each ended; nothing for no bytes.
#[must_use]
pub fn in_lines(bytes: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut lines = String::with_capacity(text.len() + text.len() / 76 + 1);
    for (index, character) in text.chars().enumerate() {
        if index > 0 && index % 76 == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stand_by_name() {
        let name = SecretName::BootstrapTokenConfiguration { host: "cp1".to_owned() };
        let mut fragment = Fragment::default();
        fragment.put("/run/x", 0o600, Content::Secret(&name));
        assert!(fragment.parts().contains(&Part::Digest(name.clone())));
        assert!(fragment.parts().contains(&Part::Secret(name)));
    }

    #[test]
    fn base64_lines_are_ended() {
        assert_eq!(in_lines(b""), "");
        assert_eq!(in_lines(&[0; 57]).lines().count(), 1);
        assert_eq!(in_lines(&[0; 58]).lines().count(), 2);
        assert!(in_lines(b"a").ends_with('\n'));
    }
}
