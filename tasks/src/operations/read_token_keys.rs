//! Programs that go by the keys of service accounts that are there.

use super::tasks_of::TASKS_OF;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{API_SERVER, CONTROLLERS, Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;
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
    fn program(self) -> &'static str {
        match self {
            Self::ApiServer => API_SERVER,
            Self::ControllerManager => CONTROLLERS[0],
        }
    }

    fn files(self) -> &'static [&'static str] {
        match self {
            Self::ApiServer => &[SIGNING_KEY, TOKEN_KEYS],
            Self::ControllerManager => &[SIGNING_KEY],
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

/// It gets the time that a kubelet would give it (`terminationGracePeriodSeconds` of kubeadm's manifests). An API server that is watched takes a minute more by
/// itself, in which it takes no new connection: by then its own node is lost.
const SCRIPT: &str = r#"tasks_of "$program" | while read -r container process; do
  /usr/local/bin/ctr -n k8s.io tasks kill --signal SIGTERM "$container" || :
  left=150
  while [ -e "/proc/$process" ] && [ "$left" -gt 0 ]; do
    left=$((left - 1))
    sleep 0.2
  done
  [ ! -e "/proc/$process" ] || /usr/local/bin/ctr -n k8s.io tasks kill --signal SIGKILL "$container" || :
done
"#;

impl ReadTokenKeys {
    pub(super) fn looks(&self) -> Vec<Look> {
        let files = self.reader.files().iter().map(|path| Look::Path((*path).to_owned()));
        files.chain([Look::Programs]).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let (programs, program) = (seen!(&seen.programs), self.reader.program());
        for path in self.reader.files() {
            seen!(seen.paths.get(*path));
            if programs.get(program).is_some_and(|started| seen.is_older(*started, path)) {
                return Verdict::differs(ChangeKind::Restart, format!("{path} changed after {program} was started"));
            }
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(TASKS_OF);
        fragment.line(&format!("program={}", quote(self.reader.program())));
        fragment.line(SCRIPT);
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        format!("{} knows the keys of service accounts", self.reader.program())
    }
}
