//! A host becomes a node.

use super::kubelet::running;
use super::ready::CLIENT_CERTIFICATE;
use super::record::Record;
use crate::change::{Change, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;

/// `kubeadm join` of a worker, by a discovery file and a short-lived token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// The host.
    pub host: String,
    /// sha256 of everything but the token that its JoinConfiguration says.
    pub source: String,
    /// Files besides its configuration that the kubelet read when it started: binary and unit.
    pub reads: Vec<String>,
}

const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";
const FILES: [&str; 2] = ["/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"];

/// A host that is a node already only gets its kubelet's configuration anew, from the cluster. Otherwise whatever an interrupted join left
/// is removed first (reliability table "Worker": bootstrap-kubelet.conf without kubelet.conf is a join that did not get its certificate),
/// because kubeadm's preflight would refuse it. The inputs are gone in any case when the step ends.
const SCRIPT: &str = "trap 'rm -f /run/kokctl/join.yaml /run/kokctl/discovery.conf' EXIT
systemctl daemon-reload
if [ -s /etc/kubernetes/kubelet.conf ] && { [ -h /var/lib/kubelet/pki/kubelet-client-current.pem ] || [ -s /var/lib/kubelet/pki/kubelet-client-current.pem ]; }; then
  kubeadm upgrade node phase kubelet-config
  systemctl restart kubelet.service
else
  systemctl stop kubelet.service
  rm -f /etc/kubernetes/bootstrap-kubelet.conf /etc/kubernetes/kubelet.conf /etc/kubernetes/pki/ca.crt
  rm -f /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet/instance-config.yaml
  rm -rf /var/lib/kubelet/pki
  kubeadm join --config=/run/kokctl/join.yaml
fi
";

const JOIN: &str = "join";

impl Join {
    fn record(&self) -> Record<'_> {
        Record { name: "kubelet", source: &self.source, files: &FILES }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let mut looks = self.record().looks();
        looks.extend([KUBELET_CONF, CLIENT_CERTIFICATE].map(|path| Look::Path(path.to_owned())));
        looks.push(Look::Unit("kubelet.service".to_owned()));
        looks.extend(self.reads.iter().map(|path| Look::Path(path.clone())));
        looks
    }

    pub(crate) fn diff(&self, seen: &Observations) -> Verdict {
        for path in [KUBELET_CONF, CLIENT_CERTIFICATE] {
            match seen!(seen.paths.get(path)) {
                PathState::Missing => return Verdict::differs(JOIN, format!("{path} does not exist")),
                PathState::Present(is) if is.size == 0 => return Verdict::differs(JOIN, format!("{path} is empty")),
                PathState::Present(_) => {}
            }
        }
        let files = self.record().diff(seen);
        if files != Verdict::Same {
            return files;
        }
        running("kubelet.service", self.reads.iter().map(String::as_str).chain(FILES), seen)
    }

    /// Whether the host is to become a node with this change, so that a token is needed.
    #[must_use]
    pub fn needs_token(change: &Change) -> bool {
        change.summary == JOIN
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        let configuration = SecretName::JoinConfiguration { host: self.host.clone() };
        fragment.put("/run/kokctl/discovery.conf", 0o600, Content::Secret(&SecretName::DiscoveryKubeconfig));
        fragment.put("/run/kokctl/join.yaml", 0o600, Content::Secret(&configuration));
        let script = format!("{}{SCRIPT}{}", self.record().forget(), self.record().keep());
        fragment.feed(Content::Bytes(script.as_bytes()), "job join");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "node".to_owned()
    }
}
