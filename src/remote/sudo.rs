//! Root by sudo, with a password only where sudo asks for one.
//!
//! Nothing here reads what sudo writes: its texts differ between versions, languages, PAM modules, and sudo-rs. What counts is its exit
//! status and lines of our own that carry a nonce.
use super::channel::{ExitStatus, Output};
use super::gate::{OutputGate, Password};
use super::nonce::ScriptNonce;
use super::script::{Start, begin_mark, end_mark};
use kok_crds::Secret;
use tokio::sync::OnceCell;

/// How commands become root on one connection.
pub(super) enum Privilege {
    /// They are root.
    Root,
    /// By a sudo that must not ask.
    Sudo,
    /// By a sudo that may ask; whether it does is found out once, and a refusal is final: trying again might lock the account.
    SudoWith(Secret, OnceCell<SudoAnswer>),
}

/// What sudo said to the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SudoAnswer {
    /// It does not ask.
    Free,
    /// It asks and took the password.
    Granted,
    /// It refused.
    Refused { with_password: bool, output: Option<String> },
}

/// A command and what has to be known to start it.
pub(super) struct SudoCommand {
    pub(super) text: String,
    pub(super) gate: Option<OutputGate>,
    pub(super) password: Option<Password>,
}

impl SudoCommand {
    fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), gate: None, password: None }
    }

    /// The command that starts a script, and the line that opens it where there is one.
    pub(super) fn starting(start: Start, privilege: &Privilege, nonce: &ScriptNonce) -> Self {
        match privilege {
            Privilege::Root => Self::plain(start.command(false)),
            Privilege::SudoWith(secret, asks) if asks.get() == Some(&SudoAnswer::Granted) => {
                let mark = granted_mark(nonce);
                let (gate, granted) = OutputGate::new(&mark);
                let password = Password { secret: secret.clone(), asked: None, granted: Some(granted) };
                Self { text: start.command_with_password(&mark), gate: Some(gate), password: Some(password) }
            }
            Privilege::Sudo | Privilege::SudoWith(..) => Self::plain(start.command(true)),
        }
    }

    /// Asks whether sudo wants the password, and if so whether this is the right one. The password is sent when a sudo without it was
    /// refused and not before; after it comes the end of the input, so a wrong one is tried once.
    ///
    /// `-k` in front of a command means for sudo and sudo-rs that a password typed earlier does not count: that sudo does not ask now says
    /// nothing of later.
    ///
    /// `/bin/sh -c :` is of the kind that will be run, so rules that allow only some commands are found out here too.
    pub(super) fn asking(secret: &Secret, nonce: &ScriptNonce) -> Self {
        let mark = asked_mark(nonce);
        let (gate, asked) = OutputGate::new(&mark);
        let text = format!(
            "exec /bin/sh -c 'echo; echo {begin}; if sudo -k -n /bin/sh -c : >/dev/null 2>&1 </dev/null; then echo free; else \
             echo; echo {mark}; sudo -k -S -p \"\" /bin/sh -c :; fi; s=$?; echo; echo {end} $s; exit $s'",
            begin = begin_mark(nonce),
            end = end_mark(nonce),
        );
        let password = Password { secret: secret.clone(), asked: Some(asked), granted: None };
        Self { text, gate: Some(gate), password: Some(password) }
    }
}

impl SudoAnswer {
    /// For the log.
    pub(super) fn in_words(&self) -> &'static str {
        match self {
            Self::Free => "does not ask",
            Self::Granted => "asked, and took the password",
            Self::Refused { with_password: true, .. } => "refused the password",
            Self::Refused { with_password: false, .. } => "refused",
        }
    }

    /// Reads what the question left.
    pub(super) fn read(output: &Output, nonce: &ScriptNonce) -> Self {
        let mark = asked_mark(nonce);
        let asked = output.stdout.windows(mark.len()).any(|window| window == mark.as_bytes());
        match output.status {
            ExitStatus::Exited(0) if asked => Self::Granted,
            ExitStatus::Exited(0) => Self::Free,
            // 127 is a shell that found no sudo, which read no password.
            ref status => Self::Refused { with_password: *status != ExitStatus::Exited(127), output: output.reason() },
        }
    }
}

fn asked_mark(nonce: &ScriptNonce) -> String {
    format!("kokctl-ask-{nonce}")
}

fn granted_mark(nonce: &ScriptNonce) -> String {
    format!("kokctl-sudo-{nonce}")
}
