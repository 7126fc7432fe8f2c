//! Several versions of Kubernetes at once: an upgrade that somebody began by other means, and that `apply` would finish in a forbidden order.
//!
//! `apply` writes what the file says on all hosts at once, kubelets of workers before the API servers of other control planes. That is right
//! where one version runs. Where several do, the order matters, and pods have to leave nodes first: it is refused before anything is changed.

use kok_crds::model::Cluster;
use semver::Version;

use super::Findings;
use super::needed::UPGRADE;
use crate::observe::KUBELET;
use crate::plan::{Refusal, Seen};
use crate::upgrade::has_own_emulation;
use crate::versions::{HostVersions, Versions, named};

/// Checks that what runs is one version of Kubernetes, that of the file.
pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    if cluster.underway.is_some() {
        // The way of an upgrade goes by what was seen of all hosts.
        return;
    }
    let judged = Judged::new(cluster, seen);
    if let Some(refusal) = judged.refusal() {
        found.refuse(refusal);
    } else if let Some(warning) = judged.warning() {
        found.warn(warning);
    }
}

/// Whether several versions of Kubernetes run, more than `apply` may make one of.
#[must_use]
pub fn is_mixed(cluster: &Cluster, seen: &Seen) -> bool {
    Judged::new(cluster, seen).is_mixed()
}

/// Hosts that were asked and whose kubelets are of another patch than the file. A newer one may be started there only if every API server has
/// it, so all control planes have to be asked.
pub(crate) fn kubelets_of_another_patch(cluster: &Cluster, seen: &Seen) -> Vec<String> {
    let judged = Judged::new(cluster, seen);
    judged.versions.0.iter().filter(|host| host.is_asked && judged.is_other_patch(host)).map(|host| host.host.clone()).collect()
}

/// What runs, and what `apply` may make of it.
struct Judged<'a> {
    cluster: &'a Cluster,
    seen: &'a Seen,
    versions: Versions,
}

impl<'a> Judged<'a> {
    fn new(cluster: &'a Cluster, seen: &'a Seen) -> Self {
        Self { cluster, seen, versions: Versions::from_seen(cluster, seen) }
    }

    fn wanted(&self) -> &'a Version {
        &self.cluster.kubernetes_version
    }

    /// Whether control planes have nothing else than the file asks for, as far as they were asked.
    fn has_control_planes(&self) -> bool {
        self.versions.0.iter().flat_map(HostVersions::of_control_plane).all(|version| version == self.wanted())
    }

    /// A kubelet of another patch is started anew in its place: no pod has to leave for that, and no order is broken where all API servers have
    /// the version already. It is how a run looks that was killed between the two.
    fn is_other_patch(&self, host: &HostVersions) -> bool {
        let is_same = |version: &Version| (version.major, version.minor) == (self.wanted().major, self.wanted().minor);
        host.of_kubelet().all(is_same) && host.of_kubelet().any(|version| version != self.wanted())
    }

    /// A host that is left out is not changed, and its kubelet may be older than the API servers.
    fn is_left_behind(&self, host: &HostVersions) -> bool {
        self.seen.is_unreachable(&host.host) && host.of_kubelet().all(|version| version < self.wanted())
    }

    fn is_in_the_way(&self, host: &HostVersions) -> bool {
        let is_other = |version: &Version| version != self.wanted();
        let may_go_on = self.has_control_planes() && (self.is_other_patch(host) || self.is_left_behind(host));
        host.of_control_plane().any(is_other) || (!may_go_on && host.of_kubelet().any(is_other))
    }

    fn is_refused(&self) -> bool {
        self.versions.0.iter().any(|host| self.is_in_the_way(host))
    }

    fn is_mixed(&self) -> bool {
        self.is_refused() && self.versions.of_kubernetes().len() > 1
    }

    /// One version that is another one than the file's is told by what the cluster's configuration says of itself; where that says nothing of it,
    /// what runs counts.
    fn refusal(&self) -> Option<Refusal> {
        let is_told = || super::running::version(self.cluster, self.seen).is_some_and(|is| is != *self.wanted());
        if !self.is_refused() || (!self.is_mixed() && is_told()) {
            return None;
        }
        let versions = self.versions.of_kubernetes().into_iter().map(ToString::to_string).collect::<Vec<_>>();
        let what = match versions.as_slice() {
            [one] => format!("Kubernetes {one} runs, and the file asks for {}", self.wanted()),
            several => format!("several versions of Kubernetes run ({}), and the file asks for {}", several.join(", "), self.wanted()),
        };
        let field = "spec.kubernetesVersion";
        let place = self.cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string);
        Some(
            Refusal::new(what)
                .at(place)
                .because(format!(
                    "{}\napply knows no order: kubelets would become newer than API servers, and no pod would leave its node before\n{}",
                    UPGRADE,
                    self.versions.table()
                ))
                .hint(self.what_is_left()),
        )
    }

    /// Kubelets of another patch are no reason to stop.
    fn warning(&self) -> Option<Refusal> {
        let hosts = self.hosts(|host| self.is_other_patch(host));
        (!hosts.is_empty()).then(|| {
            Refusal::new(format!("kubelets of another version than {} run on {}", self.wanted(), named(&hosts)))
                .at(format!("hosts {}", named(&hosts)))
                .because(format!(
                    "somebody may be upgrading them by other means; all API servers have {} already\n{}",
                    self.wanted(),
                    self.versions.table()
                ))
                .hint("apply starts them anew with the version of the file, some at a time; no pod leaves its node")
        })
    }

    fn hosts(&self, is_meant: impl Fn(&HostVersions) -> bool) -> Vec<&str> {
        self.versions.0.iter().filter(|host| is_meant(host)).map(|host| host.host.as_str()).collect()
    }

    /// What a person has left to do, in its order.
    fn what_is_left(&self) -> String {
        let mut programs = self.versions.0.iter().flat_map(|host| host.programs.values());
        if !has_own_emulation(self.cluster) && programs.any(|installed| installed.emulates.is_some()) {
            return "control planes work as the version of before: `kokctl upgrade --finish` goes on to the end, and `kokctl upgrade --take-back` leads back".to_owned();
        }
        let Some(newest) = self.versions.newest_of_control_planes().or_else(|| self.versions.of_kubernetes().into_iter().max()) else {
            return String::new();
        };
        let ahead = self.hosts(|host| host.of_kubelet().any(|version| version > newest));
        let planes = self.hosts(|host| host.of_control_plane().any(|version| version < newest));
        let behind = self.hosts(|host| host.of_program(KUBELET).is_some() && host.of_kubelet().any(|version| version < newest));
        let mut steps = Vec::new();
        if !ahead.is_empty() {
            steps.push(format!("put the kubelet {newest} back on {}, for none may be newer than an API server", named(&ahead)));
        }
        if !planes.is_empty() {
            steps.push(format!("`kubeadm upgrade node`, with the kubeadm of {newest}, on {} in turn", named(&planes)));
        }
        if !behind.is_empty() {
            steps.push(format!(
                "on {} in turn `kubectl drain NODE`, `kubeadm upgrade node` on workers, the kubelet {newest} in place of the old one, `systemctl restart \
                 kubelet`, `kubectl uncordon NODE`",
                named(&behind)
            ));
        }
        if newest != self.wanted() {
            steps.push(format!("write kubernetesVersion: {newest}"));
        }
        let steps = steps.into_iter().enumerate().map(|(number, step)| format!("{}. {step}", number + 1)).collect::<Vec<_>>();
        format!(
            "finish it by `kokctl upgrade`, which goes on where it was cut off; or by the means that it was begun with, and apply then; what is left:\n{}",
            steps.join("\n")
        )
    }
}
