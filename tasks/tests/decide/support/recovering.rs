//! Hosts of the model whose etcd is made anew.

use std::collections::BTreeMap;

use kok_tasks::observe::Kind;
use kok_tasks::operations::{FOUNDERS_LINK, MEMBER_DATA, Operation};
use kok_tasks::preconditions::ETCD_STARTED;
use kok_tasks::recovery::{ASIDE, ENDED, FOLDER, KUBELET, MADE, MARKER, OF, Origin, Recovery, STARTED, UNIT_ASIDE, UNIT_STARTED};

use super::api::MANIFESTS;
use super::host::{Entry, Host};
use super::world::World;

const DATA: &str = "/var/lib/etcd/member";

fn manifest(name: &str) -> (String, String) {
    (format!("/etc/kubernetes/manifests/{name}.yaml"), format!("{FOLDER}/manifests/{name}.yaml"))
}

/// Moves everything below a path.
fn rename(host: &mut Host, from: &str, to: &str) {
    let is_below = |path: &str| path == from || path.starts_with(&format!("{from}/"));
    let moved: BTreeMap<String, Entry> =
        host.paths.iter().filter(|(path, _)| is_below(path)).map(|(path, entry)| (path.clone(), entry.clone())).collect();
    host.paths.retain(|path, _| !is_below(path));
    host.paths.extend(moved.into_iter().map(|(path, entry)| (path.replacen(from, to, 1), entry)));
}

fn remove(host: &mut Host, path: &str) {
    let below = format!("{path}/");
    host.paths.retain(|there, _| there != path && !there.starts_with(&below));
}

impl World {
    pub(super) fn recovering(&mut self, host: &str, operation: &Operation) {
        match operation {
            Operation::StandStill(still) => self.stand_still(host, &still.recovery, still.unit),
            Operation::KeepData(keep) => self.keep_data(host, &keep.recovery),
            Operation::TakeSnapshot(taken) => {
                let sum = taken.artifact.sha256.clone();
                self.host(host).place(&taken.path, 0o600, "", sum);
            }
            Operation::NewEtcd(new) => self.new_etcd(host, &new.recovery),
            Operation::StartAnew(start) => self.start_anew(host, &start.recovery, start.unit),
            Operation::ManifestsBack(_) => {
                self.host(host).uses(OF);
                self.manifests_back(host);
                self.settle();
            }
            Operation::EndRecovery(end) => {
                let host = self.host(host);
                host.write(ENDED, 0o600, &format!("{}\n", end.recovery.id));
                host.paths.remove(MARKER);
                remove(host, FOLDER);
            }
            Operation::TakeBack(back) => self.take_back(host, &back.recovery),
            other => panic!("{other:?}"),
        }
    }

    fn stand_still(&mut self, host: &str, recovery: &Recovery, unit: bool) {
        let host = self.host(host);
        host.uses(MARKER);
        host.folder(&format!("{FOLDER}/manifests"), 0o700);
        host.write(OF, 0o600, &format!("{}\n", recovery.id));
        host.write(KUBELET, 0o600, &format!("{}\n", recovery.id));
        if unit {
            host.write(UNIT_ASIDE, 0o600, &format!("{}\n", recovery.id));
            let state = host.units.get_mut("etcd.service").unwrap();
            (state.active, state.file) = ("inactive".into(), "disabled".into());
        }
        for (there, aside) in MANIFESTS.map(manifest) {
            if host.has(&there) {
                rename(host, &there, &aside);
            }
        }
        host.programs.clear();
    }

    fn keep_data(&mut self, host: &str, recovery: &Recovery) {
        let running: Vec<&String> = self.hosts.iter().filter(|(_, host)| super::api::runs_etcd(host)).map(|(name, _)| name).collect();
        assert!(running.is_empty(), "{running:?} write while the data of {host} are put aside");
        let host = self.host(host);
        host.folder(&recovery.kept(), 0o700);
        if host.has(DATA) {
            rename(host, DATA, &format!("{}/member", recovery.kept()));
        }
        if host.has(ETCD_STARTED) {
            rename(host, ETCD_STARTED, UNIT_STARTED);
        }
        host.write(ASIDE, 0o600, &format!("{}\n", recovery.id));
    }

    /// Of the members of before none takes part.
    fn new_etcd(&mut self, host: &str, recovery: &Recovery) {
        let it = self.host(host);
        assert!(it.text(ASIDE).trim() == recovery.id, "what {host} has is not kept");
        // Whatever is there was begun by mistake.
        remove(it, DATA);
        match &recovery.origin {
            Origin::Member => it.uses(&format!("{}/member/wal", recovery.kept())),
            Origin::Snapshot { .. } | Origin::Backup { .. } => it.uses(&recovery.sent()),
        }
        it.folder("/var/lib/etcd/member/wal", 0o700);
        it.write(MADE, 0o600, &format!("{}\n", recovery.id));
        if !it.has(UNIT_ASIDE) {
            it.paths.insert(
                FOUNDERS_LINK.to_owned(),
                Entry { kind: Kind::Symlink, mode: 0o777, content: String::new(), sum: String::new(), changed: it.now },
            );
        }
        self.api.members = vec![host.to_owned()];
        self.api.learners.clear();
        self.api.started = [host.to_owned()].into();
    }

    fn start_anew(&mut self, host: &str, recovery: &Recovery, unit: bool) {
        let it = self.host(host);
        it.uses(MEMBER_DATA);
        it.uses(MADE);
        it.write(STARTED, 0o600, &format!("{}\n", recovery.id));
        if unit {
            unit_back(it);
        }
        self.manifests_back(host);
        self.settle();
    }

    fn manifests_back(&mut self, host: &str) {
        let it = self.host(host);
        for (there, aside) in MANIFESTS.map(manifest) {
            if let Some(entry) = it.paths.get(&aside).cloned() {
                it.paths.insert(there, entry);
            }
        }
        let now = it.now;
        if it.has("/etc/kubernetes/manifests/kube-apiserver.yaml") {
            it.programs.extend(MANIFESTS.map(|name| (name.to_owned(), now)));
            it.programs.remove("etcd");
        }
    }

    fn take_back(&mut self, host: &str, recovery: &Recovery) {
        let it = self.host(host);
        assert!(!it.has(STARTED), "{host} is taken back after its new etcd was started");
        let kept = recovery.kept();
        if it.has(&format!("{kept}/member")) {
            remove(it, DATA);
            rename(it, &format!("{kept}/member"), DATA);
        }
        remove(it, &kept);
        for (there, aside) in MANIFESTS.map(manifest) {
            if it.has(&aside) {
                rename(it, &aside, &there);
            }
        }
        if it.has(UNIT_ASIDE) {
            unit_back(it);
        }
        it.paths.remove(MARKER);
        remove(it, FOLDER);
    }
}

/// The member that is a unit runs, and is known to have had data if it was.
fn unit_back(host: &mut Host) {
    if let Some(entry) = host.paths.get(UNIT_STARTED).cloned() {
        host.paths.insert(ETCD_STARTED.to_owned(), entry);
    }
    // Without its data its unit refuses to.
    let runs = host.has(MEMBER_DATA) || !host.has(ETCD_STARTED);
    if runs {
        host.start("etcd.service");
    }
    let unit = host.units.get_mut("etcd.service").unwrap();
    unit.file = "enabled".into();
    unit.active = if runs { "active" } else { "activating" }.into();
}
