//! A user of the system.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, STATE_DIRECTORY};
use crate::script::Fragment;
use crate::shell::quote;

/// A user and a group of one name, without a login and without a home, as whom a unit runs. One that is there is taken as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its name.
    pub name: String,
}

/// Where it stands that kokctl has made a user: one that was there before is not removed by `reset`.
pub(crate) fn record(name: &str) -> String {
    format!("{STATE_DIRECTORY}/made/user-{name}")
}

impl User {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::User(self.name.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        if *seen!(seen.users.get(&self.name)) { Verdict::Same } else { Verdict::differs(ChangeKind::Create, "it does not exist") }
    }

    /// What is recorded and not made does no harm: it is taken away where it is not there.
    pub(super) fn act(&self, _: &Change) -> Act {
        let (name, record) = (quote(&self.name), quote(&record(&self.name)));
        Act::Script(Fragment::text(format!(
            "mkdir -p -m 700 {STATE_DIRECTORY}/made\n: >{record}\n\
             useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin -- {name}\n"
        )))
    }

    pub(super) fn title(&self) -> String {
        format!("user {}", self.name)
    }
}
