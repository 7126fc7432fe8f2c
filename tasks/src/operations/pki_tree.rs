//! The whole certificate set of a new control plane.

use kok_crds::counted;

use super::tasks_of::add_end;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::{Act, NOT_AS_SENT};
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
    /// The authorities among them that the user brings along, by their fields.
    pub own: Vec<&'static str>,
    /// The user's file in which the keys of all authorities are kept besides, if there is one.
    pub kept: Option<String>,
}

const FOLDER: &str = "/etc/kubernetes/pki";

/// Authorities of a control plane and of a host of etcd: without its own, a tree is none of ours. All of it comes by one rename.
const AUTHORITIES: [&str; 2] = ["pki/ca.crt", "pki/etcd/ca.crt"];

/// Static pods whose containers mount the folder.
const MOUNTED_BY: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];

impl PkiTree {
    pub(super) fn looks(&self) -> Vec<Look> {
        [FOLDER.to_owned()].into_iter().chain(self.authority()).map(Look::Path).collect()
    }

    fn authority(&self) -> Option<String> {
        let is_there = |path: &&&str| self.files.iter().any(|(file, _)| file == **path);
        AUTHORITIES.iter().find(is_there).map(|path| format!("/etc/kubernetes/{path}"))
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        for path in [FOLDER.to_owned()].into_iter().chain(self.authority()) {
            if *seen!(seen.paths.get(&path)) == PathState::Missing {
                return Verdict::differs(ChangeKind::Create, format!("{path} does not exist"));
            }
        }
        if let Some((path, _)) = self.secret_files().iter().find(|(path, _)| seen.written.get(path) == Some(&false)) {
            return Verdict::differs(ChangeKind::Create, format!("{path}: {NOT_AS_SENT}"));
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        fragment.line("rm -rf /etc/kubernetes/.kokctl-pki");
        fragment.line("mkdir -p -m 755 /etc/kubernetes/.kokctl-pki /etc/kubernetes/.kokctl-pki/etcd");
        for (path, mode) in &self.files {
            fragment.put(&format!("/etc/kubernetes/.kokctl-{path}"), *mode, Content::Secret(&self.secret(path)));
        }
        // The folders have another name when all of it has ended.
        fragment.line("sync /etc/kubernetes/.kokctl-pki /etc/kubernetes/.kokctl-pki/etcd");
        // Never over an existing authority: an empty folder may go, anything else stops here.
        fragment.line(&format!("if [ -e {FOLDER} ]; then rmdir {FOLDER}; fi"));
        fragment.line(&format!("mv -T /etc/kubernetes/.kokctl-pki {FOLDER}\nsync /etc/kubernetes"));
        // Containers of before have a folder mounted that somebody has removed, and would never see this one.
        fragment.line("if [ -x /usr/local/bin/ctr ] && systemctl is-active --quiet kubelet.service; then");
        add_end(&mut fragment, &MOUNTED_BY);
        fragment.line("fi");
        Act::Script(fragment)
    }

    fn secret(&self, path: &str) -> SecretName {
        SecretName::ControlPlaneFile { host: self.host.clone(), path: path.to_owned() }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec!["/etc/kubernetes/pki".to_owned()]
    }

    pub(super) fn secret_files(&self) -> Vec<(String, SecretName)> {
        self.files.iter().map(|(path, _)| (format!("/etc/kubernetes/{path}"), self.secret(path))).collect()
    }

    pub(super) fn title(&self) -> String {
        let files = counted(self.files.len(), "certificate or key", "certificates and keys");
        let own = if self.own.is_empty() { String::new() } else { format!(" with your own authorities ({})", self.own.join(", ")) };
        let kept = self.kept.as_ref().map(|path| format!(", and the keys of authorities in {path}")).unwrap_or_default();
        format!("{files}{own}{kept}")
    }
}
