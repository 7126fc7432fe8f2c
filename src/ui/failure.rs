//! The one form in which kokctl says what went wrong.

use std::fmt;

use kok_tasks::plan::Refusal;

use crate::remote::{ConnectError, RunError, is_harmful};
use crate::run::Told;

/// Who has to do something about a failure; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What the user gave: the file, the options, the bundle. Nothing was changed. Exit code 2.
    Input,
    /// A host could not be reached or may not be changed. Nothing was changed. Exit code 3.
    Host,
    /// Something was changed, and not all that was planned. Exit code 4.
    Incomplete,
    /// The user said no. Exit code 5.
    Declined,
    /// Anything else: files of kokctl's own, a defect. Exit code 1.
    Internal,
}

impl Kind {
    /// The exit code of the program.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Input => 2,
            Self::Host => 3,
            Self::Incomplete => 4,
            Self::Declined => 5,
        }
    }
}

impl Kind {
    /// The kind that decides the exit code where there are several failures.
    #[must_use]
    pub fn worst(failures: &[Failure]) -> Self {
        failures.iter().map(|failure| failure.kind).max().unwrap_or(Self::Internal)
    }
}

/// What is wrong, where, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Who has to do something.
    pub kind: Kind,
    /// What is wrong.
    pub what: String,
    /// The host of whose failure it speaks, if it is one host's; `at` may name another place, such as a bastion before it.
    pub host: Option<Box<str>>,
    /// File, line and column, or the host.
    pub at: Option<String>,
    /// Why.
    pub because: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure that so far says only what is wrong.
    #[must_use]
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), host: None, at: None, because: None, hint: None }
    }

    /// Says whose it is.
    #[must_use]
    pub fn of(self, host: impl Into<Box<str>>) -> Self {
        Self { host: Some(host.into()), ..self }
    }

    /// Says where.
    #[must_use]
    pub fn at(self, at: impl Into<String>) -> Self {
        Self { at: Some(at.into()), ..self }
    }

    /// Says why.
    #[must_use]
    pub fn because(self, because: impl Into<String>) -> Self {
        Self { because: Some(because.into()), ..self }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What is wrong and why in one sentence, for where the place is known.
    #[must_use]
    pub fn one_line(&self) -> String {
        match &self.because {
            Some(because) => format!("{}: {because}", self.what),
            None => self.what.clone(),
        }
    }

    /// The text of something that stops nothing.
    #[must_use]
    pub fn as_warning(&self) -> String {
        self.labelled("warning")
    }

    fn labelled(&self, label: &str) -> String {
        let parts = [("     at", &self.at), ("because", &self.because), ("   hint", &self.hint)];
        let said = parts.into_iter().filter_map(|(label, text)| Some((label, text.as_ref()?)));
        let lines = said.map(|(label, text)| format!("\n{label}: {}", printable(text).replace('\n', "\n         ")));
        format!("{label}: {}", printable(&self.what)) + &lines.collect::<String>()
    }

    /// As the journal has it.
    #[must_use]
    pub fn told(&self) -> Told {
        let Self { what, at, because, hint, .. } = self.clone();
        Told { what, at, because, hint }
    }

    /// A refusal of the planner.
    #[must_use]
    pub fn refusal(kind: Kind, refusal: Refusal) -> Self {
        Self { kind, what: refusal.what, host: None, at: refusal.at, because: refusal.because, hint: refusal.hint }
    }

    /// What the reader of a cluster file found.
    #[must_use]
    pub fn problem(problem: kok_crds::Problem) -> Self {
        Self {
            kind: Kind::Input,
            what: problem.message,
            host: None,
            at: problem.position.map(|position| position.to_string()),
            because: problem.because,
            hint: problem.hint,
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let server =
            error.bastion.as_ref().map_or_else(|| format!("host {}", error.host), |name| format!("bastion {name} of {}", error.host));
        let at = format!("{server} ({}@{})", error.user, error.address);
        let (because, hint) = (error.because(), error.hint());
        Self { kind: Kind::Host, what: error.to_string(), host: Some(error.host.into()), at: Some(at), because, hint }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let host = error.host().to_owned();
        let at = Some(format!("host {host}"));
        Self { kind: Kind::Host, what: error.to_string(), host: Some(host.into()), at, because: error.because(), hint: error.hint() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.labelled("error"))
    }
}

/// What hosts say may hold terminal escapes; they are shown, not obeyed.
pub(crate) fn printable(text: &str) -> String {
    let shown = |character: char| if is_harmful(character) && !matches!(character, '\n' | '\t') { '\u{fffd}' } else { character };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_escapes_instead_of_obeying_them() {
        let failure = Failure::new(Kind::Host, "\u{1b}[2Jgone").at("host a").because("x\ny");
        assert_eq!(failure.to_string(), "error: \u{fffd}[2Jgone\n     at: host a\nbecause: x\n         y");
    }
}
