//! kubelet.conf names the certificate that the kubelet renews by itself.

use super::join::KUBELET_CONF;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::operations::ready::CLIENT_CERTIFICATE;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// kubeadm's `kubelet-finalize`. It returns without an error while the kubelet's own certificate is missing, so done is what kubelet.conf
/// says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletFinalize {
    /// Path of kubeadm's configuration on the host.
    pub configuration: String,
}

/// The sha256 of a kubelet.conf that names the kubelet's own certificate. The file itself may hold a private key, so it is never asked for.
/// That certificate is signed in the cluster: on each control plane that has the file, an API server has worked.
pub const FINALIZED: &str = "/var/lib/kokctl/made/kubelet-finalized";

impl KubeletFinalize {
    pub(super) fn looks(&self) -> Vec<Look> {
        let kubelet_conf = Look::File { path: KUBELET_CONF.to_owned(), expected: None };
        // kubeadm starts the kubelet anew: who waits for its node has to know when.
        vec![Look::Content(FINALIZED.to_owned()), kubelet_conf, Look::Unit("kubelet.service".to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let conf = seen!(seen.paths.get(KUBELET_CONF)).present().and_then(|file| file.sha256.clone());
        let record = seen.contents.get(FINALIZED).map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
        match (conf, record) {
            (Some(conf), Some(record)) if conf == record => Verdict::Same,
            _ => Verdict::differs(ChangeKind::PointToOwnCertificate, format!("{KUBELET_CONF} does not name {CLIENT_CERTIFICATE} yet")),
        }
    }

    /// The record is the sum of a kubelet.conf in which the name was found, so it holds for that very content.
    pub(super) fn act(&self, _: &Change) -> Act {
        let script = format!(
            "kubeadm init phase kubelet-finalize all --config={}\ngrep -qF {CLIENT_CERTIFICATE} {KUBELET_CONF}\n\
             mkdir -p -m 700 /var/lib/kokctl/made\nsum=$(sha256sum <{KUBELET_CONF})\nprintf '%s\\n' \"${{sum%% *}}\" >{FINALIZED}\n",
            quote(&self.configuration)
        );
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job kubelet-finalize");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "kubelet.conf with the kubelet's own certificate".to_owned()
    }
}
