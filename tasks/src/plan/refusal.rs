//! Why no plan is made.

use std::fmt;

use kok_crds::model::Concealed;
use thiserror::Error;

/// A reason not to touch anything: what is wrong, where, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// The host, or the place in the user's file.
    pub at: Option<String>,
    /// Why that is wrong.
    pub because: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Whether it may pass with nobody doing anything: something is still at work, or does not answer yet.
    pub may_pass: bool,
}

impl Refusal {
    /// A refusal that so far says only what is wrong.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), at: None, because: None, hint: None, may_pass: false }
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

    /// Says that it may pass with nobody doing anything.
    #[must_use]
    pub fn passing(self) -> Self {
        Self { may_pass: true, ..self }
    }
}

impl Refusal {
    /// Takes out what was encrypted in the user's files.
    pub(crate) fn conceal(&mut self, concealed: &Concealed) {
        for text in [&mut self.what].into_iter().chain(&mut self.because).chain(&mut self.hint) {
            *text = concealed.hide(text).into_owned();
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<crate::templates::TemplateError> for Refusal {
    fn from(error: crate::templates::TemplateError) -> Self {
        Self::new(error.to_string()).hint("this is a defect of kokctl; please report it")
    }
}
