//! A host is started anew.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::Fragment;

/// Changes with each start of a host.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Debian's packages write it when what they have installed counts from the next start on (Debian policy of `reboot-notifier`, `unattended-upgrades`).
pub const REBOOT_REQUIRED: &str = "/run/reboot-required";

/// The host has another boot id than when it was looked at first, and its kubelet runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reboot {
    /// The boot id that it had.
    pub before: String,
    /// Whether only a host is started anew that says that it has to be.
    pub if_needed: bool,
}

impl Reboot {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Content(BOOT_ID.to_owned()), Look::Unit("kubelet.service".to_owned()), Look::Path(REBOOT_REQUIRED.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let now = String::from_utf8_lossy(seen!(seen.contents.get(BOOT_ID))).trim().to_owned();
        let kubelet = seen!(seen.units.get("kubelet.service"));
        let needs = matches!(seen!(seen.paths.get(REBOOT_REQUIRED)), PathState::Present(_));
        let because = match (now == self.before, needs) {
            (true, false) if self.if_needed => return Verdict::Same,
            (true, true) => format!("{REBOOT_REQUIRED} says that it has to be"),
            (true, false) => "it has not been started anew yet".to_owned(),
            (false, _) if kubelet.active != "active" => format!("it was started anew, and its kubelet is {}", kubelet.active),
            (false, _) => return Verdict::Same,
        };
        // It takes its time to go down and to come up: what it says meanwhile does not mean that it is still to do.
        Verdict::Differs(Change { assumed: true, ..Change::new(ChangeKind::Reboot, because) })
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        // One that was started anew meanwhile is not a second time.
        let before = crate::shell::quote(&self.before);
        Act::Script(Fragment::text(format!("[ \"$(cat {BOOT_ID})\" != {before} ] || systemctl reboot\n")))
    }

    pub(super) fn title(&self) -> String {
        "started anew".to_owned()
    }
}
