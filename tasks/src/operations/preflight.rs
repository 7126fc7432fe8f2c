//! kubeadm's own checks of a host that is to become a control plane.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// `kubeadm config validate`, which finds fields that kubeadm does not know and values that it does not take, where its phases only warn or go
/// on without them; then `kubeadm init phase preflight`. Once, before anything of a control plane is written: later it would find our own files and ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// Path of kubeadm's configuration on the host.
    pub configuration: String,
    /// Its sha256.
    pub source: String,
    /// Whether etcd runs as units. kubeadm asks all members for their versions, a quarter of a minute if one does not answer; more than half of them are enough
    /// here, their versions are those of the bundle, and before them are other steps. So kubeadm is not told of them, and what it finds of them is no fault.
    pub has_etcd_units: bool,
    /// Whether the configuration makes failures of all checks warnings: then kubeadm refuses to be told of single ones.
    pub ignores_all: bool,
}

const MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";
const ETCD_MANIFEST: &str = "/etc/kubernetes/manifests/etcd.yaml";
const RECORD: &str = "/var/lib/kokctl/made/preflight";
/// Says that the kubelet of a control plane was set up here. Where its manifests are gone all the same, as those are that a recovery of etcd has put
/// aside, kubeadm would take that kubelet for somebody else's.
const KUBELET: &str = "/var/lib/kokctl/made/kubelet";

/// Leaves out what `ClusterConfiguration` says of etcd. kubeadm then thinks of a member that it makes beside the API server, and has nobody to ask.
const WITHOUT_ETCD: &str = "awk '/^etcd:/ { left_out = 1; next } /^[^ ]/ { left_out = 0 } !left_out'";
/// The checks of such a member, which fail where one runs as a unit.
const OF_ETCD: &str = "Port-2379,Port-2380,DirAvailable--var-lib-etcd";

impl Preflight {
    pub(super) fn looks(&self) -> Vec<Look> {
        let paths = [MANIFEST, ETCD_MANIFEST, KUBELET].map(|path| Look::Path(path.to_owned()));
        paths.into_iter().chain([Look::Content(RECORD.to_owned())]).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        for path in [MANIFEST, ETCD_MANIFEST, KUBELET] {
            if *seen!(seen.paths.get(path)) != PathState::Missing {
                return Verdict::Same;
            }
        }
        let passed = seen.contents.get(RECORD).is_some_and(|text| text.trim_ascii() == self.source.as_bytes());
        if passed { Verdict::Same } else { Verdict::differs(ChangeKind::Check, "kubeadm has not checked this host yet") }
    }

    fn command(&self) -> String {
        let configuration = quote(&self.configuration);
        if !self.has_etcd_units {
            return format!("kubeadm init phase preflight --config={configuration}");
        }
        let ignored = if self.ignores_all { String::new() } else { format!(" --ignore-preflight-errors={OF_ETCD}") };
        format!("{WITHOUT_ETCD} {configuration} | kubeadm init phase preflight --config=/dev/stdin{ignored}")
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let script = format!(
            "kubeadm config validate --config={} >/dev/null\n{}\nmkdir -p -m 700 /var/lib/kokctl/made\nprintf '%s\\n' {} >{RECORD}\n",
            quote(&self.configuration),
            self.command(),
            quote(&self.source)
        );
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job preflight");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "kubeadm's preflight checks".to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::process::Command;

    use super::*;

    #[test]
    fn kubeadm_is_told_of_all_but_etcd() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeadm.yaml");
        let (before, after) =
            ("kind: InitConfiguration\n---\nkind: ClusterConfiguration\n", "networking:\n  etcd: no\n---\nkind: KubeletConfiguration\n");
        std::fs::write(&path, format!("{before}etcd:\n  external:\n    endpoints:\n    - \"https://192.0.2.1:2379\"\n{after}")).unwrap();
        let output = Command::new("sh").args(["-c", &format!("{WITHOUT_ETCD} {}", quote(path.to_str().unwrap()))]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{before}{after}"));
    }

    #[test]
    fn single_checks_are_not_named_beside_all_of_them() {
        let command =
            |ignores_all| Preflight { configuration: "/x".to_owned(), source: String::new(), has_etcd_units: true, ignores_all }.command();
        assert!(command(false).ends_with(" --config=/dev/stdin --ignore-preflight-errors=Port-2379,Port-2380,DirAvailable--var-lib-etcd"));
        assert!(command(true).ends_with(" --config=/dev/stdin"));
    }
}
