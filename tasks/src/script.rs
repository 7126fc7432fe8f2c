//! Script fragments: shell text with named secrets in it.

use crate::secret_name::SecretName;
use crate::shell::quote;

/// What an action does on a host: shell text, run by `sh` as root with `set -eu`, in which secrets stand by name.
///
/// Text that comes from a user or a host is quoted by whoever adds it. A secret is sent as base64 in a here-document, so its bytes can't end
/// the script, and never as an argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fragment {
    parts: Vec<Part>,
}

/// A piece of a [`Fragment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Shell text.
    Text(String),
    /// The bytes of this secret as base64, in lines.
    Secret(SecretName),
}

/// Ends a here-document; has characters that base64 doesn't.
const END: &str = "--END--";

impl Fragment {
    /// A fragment of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())] }
    }

    /// Adds a line of shell text.
    pub fn line(&mut self, line: &str) {
        self.parts.push(Part::Text(format!("{line}\n")));
    }

    /// Adds a command that gets `content` on its standard input through `base64 -d`; `command` is used as the last part of a pipe.
    pub fn feed(&mut self, content: Content<'_>, command: &str) {
        self.parts.push(Part::Text(format!("base64 -d <<'{END}' | {command}\n")));
        match content {
            Content::Bytes(bytes) => self.parts.push(Part::Text(in_lines(bytes))),
            Content::Secret(name) => self.parts.push(Part::Secret(name.clone())),
        }
        self.parts.push(Part::Text(format!("{END}\n")));
    }

    /// Writes a whole file: nothing else ever sees a part of it, and its mode and owner (root) are right before its content is there.
    pub fn put(&mut self, path: &str, mode: u32, content: Content<'_>) {
        self.feed(content, &format!("put {} {mode:04o}", quote(path)));
    }

    /// The parts in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Joins another fragment to this one.
    pub fn append(&mut self, other: Self) {
        self.parts.extend(other.parts);
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

/// Functions that fragments use; stands once at the beginning of a script.
///
/// * `put PATH MODE` writes its standard input to a temporary file beside PATH, flushes it to the disk and renames it into place. The
///   temporary name begins with a dot, which the kubelet ignores in the folder of static pods, and is always the same for PATH, so that
///   what an interrupted run left is replaced by the next.
/// * `job NAME` runs its standard input as a script in a transient systemd unit, which goes on when the connection breaks, waits for it,
///   and prints what it printed. Its script is a 0600 file; that and what it printed are removed afterwards, also where nobody listens any
///   more. If a unit of that name is still running it is
///   waited for first.
pub const PRELUDE: &str = r#"put() {
  temporary="${1%/*}/.kokctl-${1##*/}"
  { rm -f "$temporary" && (umask 077; : >"$temporary") && chmod "$2" "$temporary" && cat >"$temporary" && sync "$temporary" && mv -fT "$temporary" "$1" && sync "${1%/*}"; } || { rm -f "$temporary"; return 1; }
}
job() {
  folder=/run/kokctl/jobs
  mkdir -p -m 700 "$folder"
  looked=0
  while systemctl is-active --quiet "kokctl-$1.service"; do
    looked=$((looked + 1))
    [ "$looked" -lt 500 ] || { echo "kokctl-$1.service of an earlier run is still at work" >&2; return 1; }
    sleep 0.2
  done
  systemctl reset-failed "kokctl-$1.service" 2>/dev/null || :
  (umask 077; cat >"$folder/$1.sh")
  : >"$folder/$1.log"
  result=0
  systemd-run --quiet --wait --unit="kokctl-$1" --property=KillMode=mixed --property=RuntimeMaxSec=900 \
    --setenv=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --setenv=LC_ALL=C --setenv=HOME=/root \
    /bin/sh -c 'exec >"$1.log" 2>&1 9>/run/kokctl/lock; flock -s 9; exec /bin/sh -eu "$1.sh"' job "$folder/$1" </dev/null || result=$?
  rm -f "$folder/$1.sh"
  tail -n 60 "$folder/$1.log" 2>/dev/null || :
  rm -f "$folder/$1.log"
  systemctl reset-failed "kokctl-$1.service" 2>/dev/null || :
  return "$result"
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stand_by_name() {
        let name = SecretName::BootstrapTokenConfiguration;
        let mut fragment = Fragment::default();
        fragment.put("/run/x", 0o600, Content::Secret(&name));
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
