//! The one form in which kokctl says what went wrong.

use std::fmt;

use kok_tasks::plan::Refusal;

use crate::event::FailureRecord;

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

/// What has to happen before the same may succeed: a caller decides by it, where the [`Kind`] says too little.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cause {
    /// A person has to change something: the host, the file, or what is around them.
    #[default]
    Condition,
    /// A host can't be reached, or does not answer. That may pass by itself.
    Unreachable,
    /// What answers may be another host than the one that is meant.
    Doubt,
    /// Another run holds hosts or the cluster.
    Held(HeldBy),
    /// Something is under way, or not ready yet. That may pass by itself.
    Passing,
}

/// A run that holds hosts or the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBy {
    /// Whose run it is, as it says itself.
    pub by: String,
    /// Since when, in RFC 3339, if it says that.
    pub since: Option<String>,
}

/// Whose a failure is, and what it came from. In a box, for most functions may end with a failure, and few of these are of a host that can't be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Whose {
    /// The host; `at` may name another place, such as a bastion before it.
    pub(crate) host: Option<String>,
    /// The lines of an ssh_config that say where it is. Told with the cause, and no part of it: hosts with lines of their own may have one.
    pub(crate) origin: Option<String>,
    /// What has to happen before the same may succeed.
    pub(crate) cause: Cause,
}

/// What is wrong, where, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Who has to do something.
    pub kind: Kind,
    /// What is wrong.
    pub what: String,
    /// Whose it is, if it is one host's.
    pub(crate) whose: Option<Box<Whose>>,
    /// File, line and column, or the host.
    pub at: Option<String>,
    /// Why.
    pub because: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

/// What to do about what nobody foresaw.
const DEFECT: &str = "run it again with `-vv --log-file FILE`; if it comes again, report it with that file, for it is a defect of kokctl";

impl Failure {
    /// A failure that so far says only what is wrong; what nobody can do anything about is a defect.
    #[must_use]
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        let hint = (kind == Kind::Internal).then(|| DEFECT.to_owned());
        Self { kind, what: what.into(), whose: None, at: None, because: None, hint }
    }

    /// Says whose it is.
    #[must_use]
    pub fn of_host(mut self, host: impl Into<String>) -> Self {
        self.whose.get_or_insert_default().host = Some(host.into());
        self
    }

    /// Whether what answered may be another host than the one that is meant: that is no host that is away.
    #[must_use]
    pub(crate) fn is_doubt(&self) -> bool {
        self.due_to() == &Cause::Doubt
    }

    /// Says what has to happen before the same may succeed.
    #[must_use]
    pub fn due(mut self, cause: Cause) -> Self {
        if cause != Cause::Condition || self.whose.is_some() {
            self.whose.get_or_insert_default().cause = cause;
        }
        self
    }

    /// What has to happen before the same may succeed.
    #[must_use]
    pub fn due_to(&self) -> &Cause {
        self.whose.as_ref().map_or(&Cause::Condition, |whose| &whose.cause)
    }

    /// The host whose failure it is, if need be by the place that it names: `host NAME (…)`, `host NAME: …`.
    pub(crate) fn host(&self) -> Option<&str> {
        let named = || self.at.as_deref()?.strip_prefix("host ")?.split([' ', ':', ',']).next();
        self.whose.as_ref().and_then(|whose| whose.host.as_deref()).or_else(named).filter(|name| !name.is_empty())
    }

    /// Whether it is one host's.
    #[must_use]
    pub(crate) fn is_of_host(&self) -> bool {
        self.whose.as_ref().is_some_and(|whose| whose.host.is_some())
    }

    /// Says which lines of an ssh_config have said where that is.
    #[must_use]
    pub(crate) fn found_by(mut self, origin: Option<String>) -> Self {
        if origin.is_some() {
            self.whose.get_or_insert_default().origin = origin;
        }
        self
    }

    /// The lines of an ssh_config that say where the host is.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.whose.as_ref()?.origin.as_deref()
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

    /// Why, with the lines that say where the host is.
    #[must_use]
    pub fn cause(&self) -> Option<String> {
        let parts: Vec<&str> = [self.because.as_deref(), self.origin()].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// What is wrong and why in one sentence, for where the place is known.
    #[must_use]
    pub fn one_line(&self) -> String {
        match self.cause() {
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
        let parts = [("     at", &self.at), ("because", &self.cause()), ("   hint", &self.hint)];
        let present = parts.into_iter().filter_map(|(label, text)| Some((label, text.as_ref()?)));
        let lines = present.map(|(label, text)| format!("\n{label}: {}", printable(text).replace('\n', "\n         ")));
        format!("{label}: {}", printable(&self.what)) + &lines.collect::<String>()
    }

    /// As the journal has it.
    #[must_use]
    pub fn to_record(&self) -> FailureRecord {
        let Self { what, at, hint, .. } = self.clone();
        FailureRecord { what, at, because: self.cause(), hint }
    }

    /// What the journal has.
    #[must_use]
    pub fn from_record(kind: Kind, record: &FailureRecord) -> Self {
        let FailureRecord { what, at, because, hint } = record.clone();
        Self { at, because, hint, ..Self::new(kind, what) }
    }

    /// A refusal of the planner.
    #[must_use]
    pub fn refusal(kind: Kind, refusal: Refusal) -> Self {
        let Refusal { what, at, because, hint, may_pass } = refusal;
        let cause = if may_pass { Cause::Passing } else { Cause::Condition };
        Self { at, because, hint, ..Self::new(kind, what) }.due(cause)
    }

    /// What the reader of a cluster file found.
    #[must_use]
    pub fn problem(problem: kok_crds::Problem) -> Self {
        let at = problem.position.map(|position| position.to_string());
        Self { at, because: problem.because, hint: problem.hint, ..Self::new(Kind::Input, problem.message) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.labelled("error"))
    }
}

/// Whether a character could drive a terminal, or show a text in another order than it was written (bidirectional overrides and isolates).
pub(crate) fn is_harmful(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
    fn a_defect_has_something_to_do_too() {
        assert!(Failure::new(Kind::Internal, "what").hint.is_some_and(|hint| hint.contains("--log-file")));
        assert_eq!(Failure::new(Kind::Internal, "what").hint("do").hint.as_deref(), Some("do"));
    }

    #[test]
    fn shows_escapes_instead_of_obeying_them() {
        let failure = Failure::new(Kind::Host, "\u{1b}[2Jgone").at("host a").because("x\ny");
        assert_eq!(failure.to_string(), "error: \u{fffd}[2Jgone\n     at: host a\nbecause: x\n         y");
    }
}
