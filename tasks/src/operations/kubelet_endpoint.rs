//! Where a worker's kubelet asks the API.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// The kubelet of a worker asks the API by the name that leads to every control plane, and no longer at the address of the one that was the only one when
/// it joined. The rest of its kubeconfig stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletEndpoint {
    /// The API's URL.
    pub server: String,
}

const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";

/// By rename, and with the rights of the one that was there.
const SCRIPT: &str = r#"new=/etc/kubernetes/.kokctl-kubelet.conf
sed "s|^\( *server: \).*|\1$server|" /etc/kubernetes/kubelet.conf | (umask 077 && cat >"$new")
sync "$new"
mv -fT "$new" /etc/kubernetes/kubelet.conf
sync /etc/kubernetes
systemctl restart kubelet.service
"#;

impl KubeletEndpoint {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(KUBELET_CONF.to_owned()), Look::KubeconfigCertificate(KUBELET_CONF.to_owned())]
    }

    /// A host that joins gets it with that name.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        if *seen!(seen.paths.get(KUBELET_CONF)) == PathState::Missing {
            return Verdict::Same;
        }
        match seen.kubeconfig_servers.get(KUBELET_CONF) {
            Some(is) if *is != self.server => Verdict::differs(ChangeKind::SetTo(self.server.clone()), format!("it asks {is}")),
            _ => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        let script = format!("server={}\n{SCRIPT}", quote(&self.server));
        fragment.feed(Content::Bytes(script.as_bytes()), "job kubelet-endpoint");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "where the kubelet asks the API".to_owned()
    }
}
