//! Hosts of the model that leave their cluster.

use kok_tasks::observe::API_SERVER;
use kok_tasks::operations::{API_SERVER_MANIFEST, MEMBER_DATA};

use super::api;
use super::host::Host;
use super::world::World;

impl World {
    /// The host is what it was, with its data gone.
    pub(super) fn leave(&mut self, host: &str) {
        let host = self.host(host);
        *host = Host { now: host.now + 1, ..Host::bare(&host.name) };
    }

    /// The cluster forgets a node.
    pub(super) fn forget(&mut self, speaker: &str, node: &str) {
        self.uses_api(speaker, true);
        self.api.nodes.remove(node);
        self.api.annotations.remove(node);
    }

    /// Its member works still: without it, whoever asks the API server would wait.
    pub(super) fn end_api_server(&mut self, host: &str) {
        let has_member = self.api.etcd_units || self.api.members.iter().any(|name| name == host);
        assert!(has_member, "the member of {host} has left, and its API server goes on");
        let host = self.host(host);
        host.paths.remove(API_SERVER_MANIFEST);
        host.programs.remove(API_SERVER);
    }

    /// Nothing starts it again until a kubelet does.
    pub(super) fn rest_plane(&mut self, host: &str) {
        let host = self.host(host);
        host.units.get_mut("kubelet.service").unwrap().active = "inactive".into();
        host.programs.retain(|program, _| ![API_SERVER, "kube-controller-manager", "kube-scheduler"].contains(&program.as_str()));
    }

    /// The first member that runs leads.
    pub(super) fn move_leader(&mut self, from: &str) {
        self.api.members.retain(|name| name != from);
        self.api.members.push(from.to_owned());
    }

    /// etcd lets one learn at a time, and refuses while any member is away; then it is asked again.
    pub(super) fn announce(&mut self, asked: &str, host: &str) {
        assert!(self.api.members.iter().any(|name| name == asked), "{asked} has no vote, and lets nobody in");
        assert!(self.api.learners.is_empty(), "{host} is announced while {:?} learns", self.api.learners);
        let units = ["/etc/etcd/etcd.yaml", "/usr/local/bin/etcd", "/etc/systemd/system/etcd.service", "/etc/kubernetes/pki/etcd/peer.key"];
        let needed = if self.api.etcd_units { &units[..] } else { &["/var/lib/kokctl/made/preflight"] };
        assert!(needed.iter().all(|path| self.hosts[host].has(path)), "{host} is announced before it has all that it needs");
        if self.api.members.iter().all(|name| api::runs_etcd(&self.hosts[name])) && !self.api.members.iter().any(|name| name == host) {
            self.api.learners.push(host.to_owned());
        }
    }

    pub(super) fn promote(&mut self, asked: &str, host: &str) {
        self.settle();
        assert!(self.api.members.iter().any(|name| name == asked), "{asked} has no vote, and promotes nobody");
        let has_caught_up = api::runs_etcd(&self.hosts[host]) && self.hosts[host].has(MEMBER_DATA);
        if has_caught_up && self.api.learners.iter().any(|name| name == host) && api::has_quorum(&self.api, &self.hosts) {
            self.api.learners.retain(|name| name != host);
            self.api.members.push(host.to_owned());
        }
    }

    pub(super) fn remove_member(&mut self, asked: &str, host: &str) {
        assert!(self.api.members.iter().any(|name| name == asked) && asked != host, "{asked} takes {host} out");
        if !api::has_quorum(&self.api, &self.hosts) {
            return;
        }
        self.api.members.retain(|name| name != host);
        self.api.learners.retain(|name| name != host);
        self.api.started.remove(host);
    }
}
