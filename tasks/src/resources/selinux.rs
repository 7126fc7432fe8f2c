//! SELinux.

use kok_crds::model::SelinuxState;

use super::Act;
use crate::change::{Change, ChangeKind, Verdict};
use crate::observe::{Look, Observations};
use crate::script::Fragment;

/// SELinux that does not enforce, now and after the next start, where it is there at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selinux {
    /// What /etc/selinux/config is to say.
    pub state: SelinuxState,
}

const NOW: &str = "/sys/fs/selinux/enforce";
const CONFIGURATION: &str = "/etc/selinux/config";

impl Selinux {
    pub(super) fn looks() -> Vec<Look> {
        vec![Look::Content(NOW.to_owned()), Look::Content(CONFIGURATION.to_owned()), Look::Path(CONFIGURATION.to_owned())]
    }

    pub(super) fn diff(self, seen: &Observations) -> Verdict {
        // Contents of files that are not there don't come along, so the path says whether somebody has looked.
        crate::change::seen!(seen.paths.get(CONFIGURATION));
        let wanted = self.state.as_str();
        let text = |path: &str| seen.contents.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if text(NOW).is_some_and(|text| text.trim() == "1") {
            return Verdict::differs(ChangeKind::SetTo(wanted.to_owned()), "it enforces its policy");
        }
        let configured =
            text(CONFIGURATION).and_then(|text| text.lines().find_map(|line| line.strip_prefix("SELINUX=").map(str::to_owned)));
        match configured.as_deref().map(str::trim) {
            None | Some("disabled") => Verdict::Same,
            Some(is) if is == wanted => Verdict::Same,
            Some(is) => Verdict::differs(
                ChangeKind::SetTo(wanted.to_owned()),
                format!("{CONFIGURATION} says {is}, so it would be that after the next start"),
            ),
        }
    }

    pub(super) fn act(self, _: &Change) -> Act {
        let state = self.state.as_str();
        Act::Script(Fragment::text(format!(
            "if [ -e {NOW} ] && [ \"$(cat {NOW})\" = 1 ]; then setenforce 0; fi\n\
             if [ -e {CONFIGURATION} ]; then sed -i 's/^SELINUX=.*/SELINUX={state}/' {CONFIGURATION}; sync {CONFIGURATION}; fi\n"
        )))
    }
}
