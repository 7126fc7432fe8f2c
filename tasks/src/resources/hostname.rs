//! The name of the host.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// The host's name, now and after the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hostname {
    /// A DNS label.
    pub name: String,
}

const FILE: &str = "/etc/hostname";

/// The kernel's name of the host is one of its parameters.
const KERNEL: &str = "kernel.hostname";

impl Hostname {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Sysctl(KERNEL.to_owned()), Look::Content(FILE.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let now = seen!(seen.sysctls.get(KERNEL)).as_deref().unwrap_or_default();
        let file = seen.contents.get(FILE).map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned()).unwrap_or_default();
        let is = |because: String| Verdict::differs(ChangeKind::SetTo(self.name.clone()), because);
        if now != self.name {
            is(format!("it is {now}"))
        } else if file != self.name {
            is(format!("{FILE} says `{}`, so it would be that after the next start", file.chars().take(80).collect::<String>()))
        } else {
            Verdict::Same
        }
    }

    /// The command `hostname` is not on every host, and `hostnamectl` needs D-Bus: either will do.
    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        fragment.put(FILE, 0o644, Content::Bytes(format!("{}\n", self.name).as_bytes()));
        let name = quote(&self.name);
        fragment.line(&format!("hostname {name} 2>/dev/null || hostnamectl set-hostname -- {name}"));
        Act::Script(fragment)
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![FILE.to_owned()]
    }

    pub(super) fn title(&self) -> String {
        "host name".to_owned()
    }
}
