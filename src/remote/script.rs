//! Scripts and the text around them.
//!
//! sshd hands a command to the login shell, which may be anything. So the command is one of four constants that mean the same to
//! sh, bash, zsh, csh, tcsh and fish; all that differs travels by standard input, where nobody but our own `/bin/sh` reads it.
use super::nonce::ScriptNonce;
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// Standard output that is kept unless a script asks for another limit.
const DEFAULT_STDOUT_LIMIT: usize = 1 << 20;

/// What every script finds. A user's profile, sudo's settings or sshd's environment must not change what our commands mean.
const ENVIRONMENT: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TZ=UTC\n\
    export PATH LC_ALL TZ\nunset IFS CDPATH ENV BASH_ENV LANGUAGE\numask 077\ncd / || exit\n";

/// Calls the script with dd between it and us, which writes only when it has 64 KiB or all of it. The script's exit status goes past dd
/// by a file of its own; a dd that fails is a failure too, for its output is not all there is.
const GATHERED: &str = "{ kokctl_status=$( { { ( kokctl_script ) </dev/null 3>&- 4>&-; echo \"$?\" >&4; } | \
    dd ibs=64k obs=64k 2>/dev/null >&3 4>&-; } 4>&1 ) || kokctl_status=97; } 3>&1";

/// A POSIX shell script to run on a host as root.
///
/// It finds a fixed `PATH`, `LC_ALL=C`, `TZ=UTC`, `umask 077` and `/` as its folder, and its `exit` ends only itself. It may
/// hold secrets: it reaches the host by standard input alone, and has neither `Debug` nor `Display`.
pub struct Script {
    body: Zeroizing<String>,
    gathered: bool,
    pub(super) stdout_limit: usize,
    pub(super) at_most: bool,
}

impl Script {
    /// A script with this body. Values in it were quoted by [`quote`](super::quote).
    #[must_use]
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: Zeroizing::new(body.into()), gathered: false, stdout_limit: DEFAULT_STDOUT_LIMIT, at_most: false }
    }

    /// Gathers the standard output on the host and sends it in few pieces, for scripts that say much by many commands: each write of a
    /// script is a packet that sshd makes and we take apart. It must leave nothing behind that keeps its output open. Streams don't gather.
    #[must_use]
    pub fn gathered(self) -> Self {
        Self { gathered: true, ..self }
    }

    /// Keeps at most `bytes` of standard output (1 MiB if not set). The rest is read and thrown away, and the output says so.
    #[must_use]
    pub fn stdout_limit(mut self, bytes: usize) -> Self {
        self.stdout_limit = bytes;
        self
    }

    /// The same, and the connection is ended where there is more, or more than the memory for all answers: what such a host says is of no use.
    #[must_use]
    pub fn at_most(self, bytes: usize) -> Self {
        Self { at_most: true, ..self.stdout_limit(bytes) }
    }

    /// The text for a shell that reads its script from standard input: one function, called on the last line. A script that was
    /// cut off on its way therefore does nothing.
    pub(super) fn for_run(&self, nonce: &ScriptNonce) -> Zeroizing<String> {
        self.framed(nonce, if self.gathered { GATHERED } else { "( kokctl_script ) </dev/null; kokctl_status=$?" })
    }

    /// The text for [`LOADER`]: the second stage of the loader, the script, its end line. Whatever follows on the same stream is
    /// the script's standard input, to the byte: `read` takes no more than its line from a pipe.
    pub(super) fn for_stream(&self, nonce: &ScriptNonce) -> Zeroizing<String> {
        // What a consumer leaves, such as the padding of an archive, is read too: so success means that all was sent. A consumer
        // that failed need not be sent the rest.
        let call = "( kokctl_script ); kokctl_status=$?; [ \"$kokctl_status\" != 0 ] || cat >/dev/null";
        self.loaded(nonce, call)
    }

    /// The same for a script that has nothing to read but the end of its input, and does not wait for that.
    pub(super) fn for_attended(&self, nonce: &ScriptNonce) -> Zeroizing<String> {
        self.loaded(nonce, "( kokctl_script ); kokctl_status=$?")
    }

    fn loaded(&self, nonce: &ScriptNonce, call: &str) -> Zeroizing<String> {
        let script = self.framed(nonce, call);
        let mut text = Zeroizing::new(String::with_capacity(script.len() + 512));
        // The command substitution would drop a trailing newline, so it carries an x behind it.
        let _ = writeln!(
            text,
            "nl=$(printf '\\nx'); nl=${{nl%x}}; s=; while IFS= read -r l; do \
             if [ \"$l\" = kokctl-script-{nonce} ]; then eval \"$s\"; exit; fi; s=$s$l$nl; done; exit 97"
        );
        text.push_str(&script);
        let _ = writeln!(text, "kokctl-script-{nonce}");
        text
    }

    fn framed(&self, nonce: &ScriptNonce, call: &str) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(self.body.len() + 1024));
        // Both streams are marked, so that what a login shell said before is told apart from what the script says.
        let _ = writeln!(text, "printf '\\n{}\\n'; printf '\\n{}\\n' >&2", begin_mark(nonce), begin_mark(nonce));
        text.push_str(ENVIRONMENT);
        text.push_str("kokctl_script() {\n:\n");
        text.push_str(&self.body);
        let _ = writeln!(
            text,
            "\n}}\n{call}; \
             printf '\\n{} %s\\n' \"$kokctl_status\"; exit \"$kokctl_status\"",
            end_mark(nonce)
        );
        text
    }
}

/// The line behind which a script's output begins.
pub(super) fn begin_mark(nonce: &ScriptNonce) -> String {
    format!("kokctl-begin-{nonce}")
}

/// The line, followed by the exit status, before which a script's output ended.
pub(super) fn end_mark(nonce: &ScriptNonce) -> String {
    format!("kokctl-end-{nonce}")
}

/// The command for a script that arrives whole and reads nothing itself.
const RUN: &str = "exec /bin/sh -s";
/// `-k`, because a password that somebody typed a moment ago is no right that lasts as long as a run.
const RUN_SUDO: &str = "exec sudo -k -n /bin/sh -s";
/// The command for a script with data behind it. `sh -s` may read ahead and swallow data, the builtin `read` may not. Inside the
/// single quotes is nothing that csh (`!`, newline) or fish (backslash) would touch.
pub(super) const LOADER: &str = r#"exec /bin/sh -c 'IFS= read -r loader; eval "$loader"'"#;
const LOADER_SUDO: &str = r#"exec sudo -k -n /bin/sh -c 'IFS= read -r loader; eval "$loader"'"#;

/// The line before a script that follows a password.
pub(super) const GO: &str = "kokctl-go";

/// How a script is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The script is all that comes.
    Run,
    /// Data for the script comes behind it.
    Stream,
}

impl Start {
    /// The command for this start with a sudo that reads its password from standard input. What comes behind the password waits for
    /// `mark`, and is skipped up to [`GO`]: should sudo not have read the password, then the shell passes over it.
    pub(super) fn command_with_password(self, mark: &str) -> String {
        let then = match self {
            Self::Run => "exec /bin/sh -s",
            Self::Stream => r#"IFS= read -r loader; eval "$loader"; exit"#,
        };
        format!(
            "exec sudo -k -S -p \"\" /bin/sh -c 'echo; echo {mark}; \
             while IFS= read -r l; do case \"$l\" in {GO}) {then};; esac; done; exit 97'"
        )
    }

    /// The constant command for this start.
    pub(super) fn command(self, sudo: bool) -> &'static str {
        match (self, sudo) {
            (Self::Run, false) => RUN,
            (Self::Run, true) => RUN_SUDO,
            (Self::Stream, false) => LOADER,
            (Self::Stream, true) => LOADER_SUDO,
        }
    }
}
