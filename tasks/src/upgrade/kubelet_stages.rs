//! The stages in which kubelets get their version, with members of etcd beside them where that saves a start.

use kok_crds::model::{Host, Pool, Serial, Wave};
use semver::Version;

use super::stages::Builder;
use super::{Hop, StageName};

impl Builder<'_> {
    /// Whether members of etcd get their version in such a step with the kubelets beside them, which make all static pods anew: they are started once less, and
    /// a patch of before comes with the API servers. So it is where all of these go without a stop between them.
    pub(super) fn has_members_with_kubelets(&self, hop: &Hop) -> bool {
        let Hop::Kubernetes { to, etcd: Some(etcd), kubelets: true, emulates: None } = hop else { return false };
        let is_behind = |host: &&Host| self.is.etcd.get(&host.name).is_some_and(|is| is < etcd);
        let makes_anew =
            |host: &Host| self.is.kubelets.get(&host.name).is_some_and(|is| is.minor != to.minor) && self.wish.has_kubelet(host);
        let mut behind = self.cluster.etcd_hosts().filter(is_behind).peekable();
        let is_meant =
            self.wish.pause.is_none() && self.wish.has_planes() && self.cluster.control_planes().all(|host| self.wish.has(&host.name));
        !self.cluster.has_etcd_units() && is_meant && behind.peek().is_some() && behind.all(makes_anew)
    }

    /// The kubelets of control planes, and the members of etcd beside them.
    pub(super) fn kubelets_with_members(&mut self, to: &Version, etcd: &Version) {
        let is_behind = |host: &&Host| self.is.kubelets.get(&host.name).is_some_and(|is| is != to) && self.wish.has_kubelet(host);
        let planes: Vec<Host> = self.cluster.control_planes().filter(is_behind).cloned().collect();
        // What comes before it leaves members as they are.
        if !planes.is_empty() {
            self.waits_for_api_servers();
        }
        for host in &planes {
            self.is.etcd.get_mut(&host.name).into_iter().for_each(|is| *is = etcd.clone());
        }
        self.wave(to, &planes, None);
    }

    /// Control planes first, then the workers pool after pool, and those of none in the end.
    pub(super) fn kubelets(&mut self, to: &Version) {
        let is_behind = |host: &&Host| self.is.kubelets.get(&host.name).is_some_and(|is| is != to) && self.wish.has_kubelet(host);
        let behind: Vec<Host> = self.cluster.nodes().filter(is_behind).cloned().collect();
        let is_of = |host: &Host, pool: &Pool| !host.roles.control_plane && pool.hosts.contains(&host.name);
        if self.cluster.pools.is_empty() {
            return self.wave(to, &behind, None);
        }
        let (planes, mut workers): (Vec<Host>, Vec<Host>) = behind.into_iter().partition(|host| host.roles.control_plane);
        self.wave(to, &planes, None);
        for pool in &self.cluster.pools {
            let (of_pool, others) = workers.into_iter().partition(|host| is_of(host, pool));
            workers = others;
            self.wave(to, &of_pool, Some(pool));
        }
        self.wave(to, &workers, None);
    }

    /// The kubelets of these hosts, in one stage.
    fn wave(&mut self, to: &Version, behind: &[Host], pool: Option<&Pool>) {
        if behind.is_empty() {
            return;
        }
        self.waits_for_api_servers();
        // A patch makes no container anew; and one node alone has nowhere to send its pods.
        let is_other_minor = |host: &&Host| self.is.kubelets.get(&host.name).is_some_and(|is| is.minor != to.minor);
        let has_elsewhere = self.cluster.nodes().count() > 1 && !self.wish.undrained;
        let drained: Vec<String> = behind.iter().filter(is_other_minor).filter(|_| has_elsewhere).map(|host| host.name.clone()).collect();
        let hosts: Vec<String> = behind.iter().map(|host| host.name.clone()).collect();
        for host in &hosts {
            self.is.kubelets.insert(host.clone(), to.clone());
        }
        self.push(StageName::Kubelets, hosts, to);
        let Some(stage) = self.stages.last_mut() else { return };
        if let Some(serial) = pool.and_then(|pool| pool.serial) {
            // What is a share of the pool is a number of the workers.
            stage.cluster.settings.serial = Serial::Count(serial.count_of(stage.hosts.len()));
        }
        let wave = Wave {
            pool: pool.map(|pool| pool.name.clone()),
            hosts: stage.hosts.clone(),
            soak: pool.map(|pool| pool.soak).unwrap_or_default(),
        };
        if let Some(underway) = &mut stage.cluster.underway {
            underway.drained = drained;
            underway.wave = Some(wave).filter(|_| !self.cluster.pools.is_empty());
        }
    }
}
