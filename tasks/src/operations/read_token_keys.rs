//! Programs that go by the keys of service accounts that are there.

use super::tasks_of::{Readers, diff_of, end, looks_of};
use crate::change::{Change, Verdict};
use crate::observe::{API_SERVER, CONTROLLERS, Look, Observations};
use crate::resources::Act;
use crate::token_keys::{SIGNING_KEY, TOKEN_KEYS};

/// Who reads them, at its start and never again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKeysReader {
    /// It signs tokens, and knows those of each key.
    ApiServer,
    /// It signs tokens that stand in Secrets.
    ControllerManager,
}

impl TokenKeysReader {
    const fn program(self) -> &'static str {
        match self {
            Self::ApiServer => API_SERVER,
            Self::ControllerManager => CONTROLLERS[0],
        }
    }

    const fn reads(self) -> Readers<'static> {
        match self {
            Self::ApiServer => &[(API_SERVER, SIGNING_KEY), (API_SERVER, TOKEN_KEYS)],
            Self::ControllerManager => &[(CONTROLLERS[0], SIGNING_KEY)],
        }
    }
}

/// A program of this host's control plane goes by the keys of service accounts that are there. One that is older than them is ended, and the kubelet starts it
/// anew; one that does not run will read what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTokenKeys {
    /// Which.
    pub reader: TokenKeysReader,
}

impl ReadTokenKeys {
    pub(super) fn looks(&self) -> Vec<Look> {
        looks_of(self.reader.reads())
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        diff_of(self.reader.reads(), seen)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        end(&[self.reader.program()])
    }

    pub(super) fn title(&self) -> String {
        format!("{} knows the keys of service accounts", self.reader.program())
    }
}
