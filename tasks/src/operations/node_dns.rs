//! The DNS cache of a node: the link that has its address, and how it goes away.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations, PathState};
use crate::operations::{KUBECTL, SOURCE_ANNOTATION};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// File of the unit that makes the link.
pub const UNIT_FILE: &str = "/etc/systemd/system/kokctl-node-dns.service";

/// The link is there, or neither the link nor what makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDnsLink {
    /// The unit that makes it.
    pub unit: &'static str,
    /// Its name.
    pub link: &'static str,
    /// Whether it is to be there.
    pub wanted: bool,
}

impl NodeDnsLink {
    /// The kernel's own list of links.
    fn path(&self) -> String {
        format!("/sys/class/net/{}", self.link)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(self.path()), Look::Path(UNIT_FILE.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let link = seen!(seen.paths.get(&self.path())) != &PathState::Missing;
        let unit = seen!(seen.paths.get(UNIT_FILE)) != &PathState::Missing;
        match (self.wanted, link, unit) {
            (true, false, _) => Verdict::differs(ChangeKind::Set, format!("it has no link {}", self.link)),
            (false, true, _) => Verdict::differs(ChangeKind::Remove, format!("the link {} is there", self.link)),
            (false, _, true) => Verdict::differs(ChangeKind::Remove, format!("{UNIT_FILE} exists")),
            _ => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let (unit, link) = (quote(self.unit), quote(self.link));
        Act::Script(Fragment::text(if self.wanted {
            format!("systemctl restart -- {unit}\n")
        } else {
            format!(
                "systemctl disable --quiet --now -- {unit} 2>/dev/null || :\nrm -f {UNIT_FILE}\nsystemctl daemon-reload\n\
                 ip link delete {link} 2>/dev/null || :\n"
            )
        }))
    }

    pub(super) fn title(&self) -> String {
        if self.wanted { "link of the node's DNS cache" } else { "no link of a DNS cache" }.to_owned()
    }
}

/// The cluster has no DNS caches of ours any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveNodeDns {
    /// Name of the DaemonSet, and of what belongs to it.
    pub name: &'static str,
}

impl RemoveNodeDns {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    /// One without our mark is the user's own.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return super::ready::unanswered(ChangeKind::Remove, state);
        }
        match state.object("DaemonSet", "kube-system", self.name) {
            Some(object) if object.text(SOURCE_ANNOTATION).is_some() => {
                Verdict::differs(ChangeKind::Remove, format!("DaemonSet {} exists, and nodes are to have no DNS cache", self.name))
            }
            _ => Verdict::Same,
        }
    }

    /// What belongs to the DaemonSet goes first: as long as that is there, it says that something is left.
    pub(super) fn act(&self, _: &Change) -> Act {
        let name = quote(self.name);
        Act::Script(Fragment::text(format!(
            "{KUBECTL}kube -n kube-system delete configmap/{name} serviceaccount/{name} --ignore-not-found >/dev/null\n\
             kube -n kube-system delete daemonset/{name} --cascade=foreground --ignore-not-found --timeout=90s >/dev/null\n"
        )))
    }

    pub(super) fn title(&self) -> String {
        "no DNS cache on nodes".to_owned()
    }
}
