//! The whole certificate set of a new control plane.

use kok_crds::counted;

use crate::change::{Change, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;

/// `/etc/kubernetes/pki` of a control plane that has none, put in place by one rename: it is there as a whole or not at all, so whatever
/// interrupts a run, the next one finds either no certificate authority or all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PkiTree {
    /// The control plane.
    pub host: String,
    /// The files with their modes, by their paths below `/etc/kubernetes`, all in `pki/`.
    pub files: Vec<(String, u32)>,
}

const FOLDER: &str = "/etc/kubernetes/pki";

/// Marks the tree as whole; the last file of every set.
const LAST: &str = "/etc/kubernetes/pki/sa.pub";

impl PkiTree {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(FOLDER.to_owned()), Look::Path(LAST.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match (seen!(seen.paths.get(FOLDER)), seen!(seen.paths.get(LAST))) {
            (PathState::Present(_), PathState::Present(_)) => Verdict::Same,
            _ => Verdict::differs("create", format!("{FOLDER} does not exist")),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        fragment.line("rm -rf /etc/kubernetes/.kokctl-pki");
        fragment.line("mkdir -p -m 755 /etc/kubernetes/.kokctl-pki /etc/kubernetes/.kokctl-pki/etcd");
        for (path, mode) in &self.files {
            let name = SecretName::ControlPlaneFile { host: self.host.clone(), path: path.clone() };
            fragment.put(&format!("/etc/kubernetes/.kokctl-{path}"), *mode, Content::Secret(&name));
        }
        // Never over an existing authority: an empty folder may go, anything else stops here.
        fragment.line(&format!("if [ -e {FOLDER} ]; then rmdir {FOLDER}; fi"));
        fragment.line(&format!("mv -T /etc/kubernetes/.kokctl-pki {FOLDER}\nsync /etc/kubernetes"));
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        counted(self.files.len(), "certificate or key", "certificates and keys")
    }
}
