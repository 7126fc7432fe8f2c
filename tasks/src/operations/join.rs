//! A host becomes a node.

use super::kubelet::running;
use super::ready::{CLIENT_CERTIFICATE, kubelets_own_has_ended};
use super::record::Record;
use super::stand_in;
use super::tasks_of::TASKS_OF;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;

/// A worker becomes a node: by `kubeadm join` with a discovery file and a short-lived token, or with a kubeconfig that was issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// The host.
    pub host: String,
    /// sha256 of everything but the token that its JoinConfiguration and the kubelet's configuration say.
    pub source: String,
    /// What it was where the cluster had one control plane, and its address was the endpoint: the kubelet's files were the same.
    pub source_alone: Option<String>,
    /// kubeadm's configuration for the kubelet's files of a host that is a node already.
    pub kubelet: String,
    /// Files besides its configuration that the kubelet read when it started: binary and unit.
    pub reads: Vec<String>,
    /// Whether it comes with a kubeconfig that somebody else has issued, which an earlier step has put there: then no token is needed, and
    /// no certificate of its own comes about.
    pub by_issued: bool,
}

pub(crate) const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";
const FILES: [&str; 2] = ["/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"];

/// A host that is a node already only gets its kubelet's files anew. `kubeadm upgrade node` would write but one of them, and join none of
/// them without a new certificate; the phase of `init` writes both, asks no API server and touches nothing else.
///
/// Otherwise whatever an interrupted join left is removed first (reliability table "Worker": bootstrap-kubelet.conf without kubelet.conf is
/// a join that did not get its certificate), because kubeadm's preflight would refuse it.
///
/// A node whose kubelet's certificate has ended is Ready in words until the controller manager has missed it for a minute, and kubeadm lets none join in
/// the place of one that is: so it is asked again meanwhile.
///
/// What the kubelet shows was put there before, and stays. Where it gets another version, the host's load balancer is stood in for ([`stand_in`]).
///
/// A kubelet asks for its certificate in the background, and for the cluster's objects as nobody in the meantime. Those requests are refused
/// and not made again for seconds; a pod that comes before the services have been read is not tried again for 10 to 15 s
/// (`backOffPeriod` of the kubelet's pod workers). So it begins anew once it is somebody.
const SCRIPT: &str = "if [ -z \"$joins\" ] && [ -s /etc/kubernetes/kubelet.conf ] && { [ -h /var/lib/kubelet/pki/kubelet-client-current.pem ] || [ -s /var/lib/kubelet/pki/kubelet-client-current.pem ]; }; then
  stand_in_begins
  kubeadm init phase kubelet-start --config=/run/kokctl/kubelet.yaml
  stand_in_ends
else
  systemctl stop kubelet.service
  left=18
  while :; do
    rm -f /etc/kubernetes/bootstrap-kubelet.conf /etc/kubernetes/kubelet.conf /etc/kubernetes/pki/ca.crt
    rm -f /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet/instance-config.yaml
    [ ! -d /var/lib/kubelet/pki ] || find /var/lib/kubelet/pki -mindepth 1 ! -name kubelet.crt ! -name kubelet.key -delete
    if said=$(kubeadm join --config=/run/kokctl/join.yaml 2>&1); then break; fi
    left=$((left - 1))
    case \"$said\" in
      *'already exists in the cluster'*) [ \"$left\" -gt 0 ] || { printf '%s\\n' \"$said\" >&2; exit 1; };;
      *) printf '%s\\n' \"$said\" >&2; exit 1;;
    esac
    sleep 5
  done
  systemctl restart kubelet.service
fi
";

/// With a kubeconfig that is there the kubelet needs its files and its start.
const START: &str = "stand_in_begins
kubeadm init phase kubelet-start --config=/run/kokctl/kubelet.yaml
stand_in_ends
";

/// The inputs are gone when the step ends, however it ends: here where the job could not be started, and in the job where nobody is left to
/// wait for it.
const FORGET_INPUTS: &str = "trap 'rm -f /run/kokctl/join.yaml /run/kokctl/discovery.conf /run/kokctl/kubelet.yaml' EXIT\n";

impl Join {
    fn record(&self) -> Record<'_> {
        Record { name: "kubelet", source: &self.source, also: self.source_alone.as_deref(), files: &FILES }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let mut looks = self.record().looks();
        looks.extend(self.credentials().iter().map(|path| Look::Path((*path).to_owned())));
        looks.extend((!self.by_issued).then(|| Look::Certificate(CLIENT_CERTIFICATE.to_owned())));
        looks.push(Look::Unit("kubelet.service".to_owned()));
        looks.extend(self.reads.iter().map(|path| Look::Path(path.clone())));
        looks
    }

    pub(crate) fn diff(&self, seen: &Observations) -> Verdict {
        for path in self.credentials() {
            match seen!(seen.paths.get(*path)) {
                PathState::Missing => return Verdict::differs(ChangeKind::Join, format!("{path} does not exist")),
                PathState::Present(is) if is.size == 0 => return Verdict::differs(ChangeKind::Join, format!("{path} is empty")),
                PathState::Present(_) => {}
            }
        }
        if let Some(end) = kubelets_own_has_ended(seen).filter(|_| !self.by_issued) {
            return Verdict::differs(ChangeKind::Join, format!("{CLIENT_CERTIFICATE} ended at {end}"));
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
        change.kind == ChangeKind::Join
    }

    /// What only a host has that is a node.
    fn credentials(&self) -> &'static [&'static str] {
        if self.by_issued { &[] } else { &[KUBELET_CONF, CLIENT_CERTIFICATE] }
    }

    pub(super) fn act(&self, change: &Change) -> Act {
        let mut fragment = Fragment::text(FORGET_INPUTS);
        if Self::needs_token(change) {
            let configuration = SecretName::JoinConfiguration { host: self.host.clone() };
            fragment.put("/run/kokctl/discovery.conf", 0o600, Content::Secret(&SecretName::DiscoveryKubeconfig));
            fragment.put("/run/kokctl/join.yaml", 0o600, Content::Secret(&configuration));
        }
        fragment.put("/run/kokctl/kubelet.yaml", 0o600, Content::Bytes(self.kubelet.as_bytes()));
        let become_node = if self.by_issued { START } else { SCRIPT };
        let joins = if Self::needs_token(change) && !self.by_issued { "joins=yes\n" } else { "joins=\n" };
        let functions = format!("{TASKS_OF}{}", stand_in::functions());
        let script = format!("{FORGET_INPUTS}{functions}{}{joins}{become_node}{}", self.record().forget(), self.record().keep());
        fragment.feed(Content::Bytes(script.as_bytes()), "job join");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "node".to_owned()
    }
}
