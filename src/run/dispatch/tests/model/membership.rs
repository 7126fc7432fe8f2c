//! What a step may never do to members of etcd and to the order of versions, whatever it is for. Nothing of it asks the planner or the gate.

use std::time::Duration;

use kok_tasks::change::Change;
use kok_tasks::drain::Cordon;
use kok_tasks::gate::Disruption;
use kok_tasks::observe::{API_SERVER, ETCD, Installed, KUBELET};
use kok_tasks::operations::{MEMBER_DATA, Operation};
use kok_tasks::plan::{Action, Step};
use kok_tasks::resources::Act;
use tokio::time::Instant;

use super::support::api::{self, FOREIGN_DATA};
use super::{Away, Inner};

/// So long after its start a kubelet has made them.
const KUBELET_STARTS: Duration = Duration::from_secs(5);

/// What the fixtures' file asks for, as major, minor, and patch.
const WANTED: (u64, u64, u64) = (1, 37, 1);

fn number(version: Option<&Installed>) -> (u64, u64, u64) {
    version.and_then(|installed| installed.running.as_ref()).map_or(WANTED, |is| (is.major, is.minor, is.patch))
}

impl Inner {
    /// Leaves a host as it was before a drain, if that is what is asked for: then not the drain's own script is sent.
    pub(super) fn gives_up(&mut self, step: &Step, act: &Act) -> bool {
        let (Action::Operation(Operation::DrainNode(drain)), Act::Script(_)) = (&step.action, act) else { return false };
        let node = self.world.api.nodes.get_mut(&drain.node).filter(|node| node.cordon.is_of_run());
        node.into_iter().for_each(|node| node.cordon = Cordon::None);
        true
    }

    /// Does a step, and looks at what it did to others.
    pub(super) fn do_step(&mut self, step: &Step, change: &Change) {
        let (members, kubelet) = (self.members_with_data(), self.kubelet(&step.host));
        self.world.carry_out(step, change);
        self.is_drained_for(step, kubelet);
        self.disturb(step);
        self.makes_pods_anew(step, kubelet);
        let left = self.members_with_data();
        let is_let_go = |name: &String| match &step.action {
            Action::Operation(Operation::RemoveMember(member)) => member.host == *name && self.is_drained(name),
            _ => false,
        };
        let gone: Vec<String> = members.into_iter().filter(|name| !left.contains(name) && !is_let_go(name)).collect();
        self.oracle.broken.extend(gone.iter().map(|name| format!("S3: {} removes the member of {name}", step.id)));
        self.starts_own_data(step);
        self.keeps_versions(step);
    }

    /// Whether no pod is left on a host, and none comes.
    fn is_drained(&self, host: &str) -> bool {
        let api = &self.world.api;
        api.nodes.get(host).is_none_or(|node| node.cordon.is_of_run()) && api.pods.get(host).is_none_or(Vec::is_empty)
    }

    fn members_with_data(&self) -> Vec<String> {
        self.world.api.members.iter().filter(|name| self.world.hosts[*name].has(MEMBER_DATA)).cloned().collect()
    }

    /// S4: etcd is not started over the data of another cluster.
    fn starts_own_data(&mut self, step: &Step) {
        let host = &self.world.hosts[&step.host];
        let starts = matches!(&step.gate, Some((Disruption::RestartMember { .. }, _))) || api::runs_etcd(host);
        if host.has(FOREIGN_DATA) && starts {
            self.oracle.broken.push(format!("S4: {} starts etcd over the data of another cluster", step.id));
        }
    }

    /// S5: no kubelet is started that is newer than an API server, API servers are within one minor version of each other, and so are members of etcd,
    /// of which none of 3.7 may meet one before 3.6.11.
    fn keeps_versions(&mut self, step: &Step) {
        if self.world.hosts.values().all(|host| host.versions.is_empty()) {
            return;
        }
        if let Some((Disruption::RestartApiServer { host }, _)) = &step.gate
            && !self.world.follows_versions
        {
            let text = format!("{}.{}.{}", WANTED.0, WANTED.1, WANTED.2);
            self.world.host(host).has_version(API_SERVER, &text, &text);
        }
        let planes = self.world.cluster.control_planes().map(|host| &self.world.hosts[&host.name]);
        let servers: Vec<_> = planes.map(|host| number(host.versions.get(API_SERVER))).collect();
        let (oldest, newest) = (servers.iter().min().copied().unwrap_or(WANTED), servers.iter().max().copied().unwrap_or(WANTED));
        let changes_servers = self.world.follows_versions || matches!(&step.gate, Some((Disruption::RestartApiServer { .. }, _)));
        if changes_servers && newest.1 - oldest.1 > 1 {
            self.oracle.broken.push(format!("S5: {} makes API servers {} minor versions apart", step.id, newest.1 - oldest.1));
        }
        let starts_kubelet =
            matches!(&step.action, Action::Operation(Operation::Join(_) | Operation::KubeletStart(_) | Operation::KubeletFinalize(_)));
        if starts_kubelet && number(self.world.hosts[&step.host].versions.get(KUBELET)) > oldest {
            self.oracle.broken.push(format!("S5: {} starts a kubelet that is newer than an API server", step.id));
        }
        let members = self.world.versions_of(ETCD);
        if let (Some(oldest), Some(newest)) = (members.first(), members.last())
            && (newest.1 - oldest.1 > 1 || ((newest.0, newest.1) == (3, 7) && *oldest < (3, 6, 11)))
        {
            self.oracle.broken.push(format!("S5: {} has etcd {newest:?} beside {oldest:?}", step.id));
        }
    }

    /// The minor version of a host's kubelet.
    fn kubelet(&self, host: &str) -> Option<u64> {
        Some(self.world.hosts[host].versions.get(KUBELET)?.running.as_ref()?.minor)
    }

    /// A kubelet of another minor version makes static pods anew: the member of etcd and the API server of a control plane, and the load balancer of a worker,
    /// which takes every API server for ready at first.
    fn makes_pods_anew(&mut self, step: &Step, before: Option<u64>) {
        let is_other = before.is_some_and(|before| self.kubelet(&step.host).is_some_and(|after| after != before));
        if !self.world.follows_versions || !is_other || self.downtime.is_zero() {
            return;
        }
        let planes: Vec<String> = self.world.cluster.control_planes().map(|host| host.name.clone()).collect();
        let mut others = planes.iter().filter(|name| **name != step.host);
        let away = others.find(|name| ["etcd", API_SERVER].iter().any(|program| self.is_away_by_us(name, program)));
        if let Some(away) = away {
            self.oracle.broken.push(format!("S2: {} makes static pods anew while those of {away} are away by the run", step.id));
        }
        if planes.contains(&step.host) {
            let until = Instant::now() + KUBELET_STARTS + self.downtime;
            let programs = [Some(API_SERVER), (!self.world.cluster.has_etcd_units()).then_some(ETCD)];
            self.down.extend(programs.into_iter().flatten().map(|program| ((step.host.clone(), program), Away { until, by_us: true })));
            self.pass();
        }
    }

    /// Pods are elsewhere when a kubelet gets another minor version (Kubernetes, "Upgrading kubeadm clusters"), unless somebody says that they stay.
    fn is_drained_for(&mut self, step: &Step, before: Option<u64>) {
        let is_other = before.is_some_and(|before| self.kubelet(&step.host).is_some_and(|after| after != before));
        let stay = self.world.cluster.settings.drains.off;
        if self.world.follows_versions && !stay && is_other && !self.is_drained(&step.host) {
            self.oracle.broken.push(format!("{} starts a kubelet of another minor version beside pods", step.id));
        }
    }
}
