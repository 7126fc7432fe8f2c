//! Folders that files are put into are known as such, so that one that can't be written is refused before anything is changed.

use std::collections::{BTreeMap, BTreeSet};

use kok_tasks::distribution::FAMILIES;
use kok_tasks::facts::{TARGETS, Unwritable};
use kok_tasks::operations::TrustStore;
use kok_tasks::plan::Seen;
use kok_tasks::preconditions::check;

use crate::support::world::World;
use crate::support::{highly_available, own_etcd, seen_with};

/// Each registry has a folder of its own there, which only its mark lets kokctl write to.
const OF_REGISTRIES: &str = "/etc/containerd/certs.d/";

fn folder_of(path: &str) -> String {
    let folder = path.rsplit_once('/').unwrap().0;
    if folder.starts_with(OF_REGISTRIES) { OF_REGISTRIES.trim_end_matches('/').to_owned() } else { folder.to_owned() }
}

/// Not what the host's kernel shows as files, and what is gone with the next start; nor what stands at the top, which every host has.
fn is_lasting(path: &str) -> bool {
    path.starts_with('/') && path.matches('/').count() > 1 && !["/run/", "/sys/"].iter().any(|start| path.starts_with(start))
}

/// The folders into which a whole run puts files, by host: what its steps say that they write, and what becomes of the model's hosts.
fn written(world: World) -> BTreeMap<String, BTreeSet<String>> {
    let (before, plan) = (world.hosts.clone(), world.plan());
    let mut written = BTreeMap::<String, BTreeSet<String>>::new();
    let mut add = |host: &str, path: &str| {
        if is_lasting(path) {
            written.entry(host.to_owned()).or_default().insert(folder_of(path));
        }
    };
    for (step, _) in plan.changes() {
        step.writes().iter().for_each(|path| add(&step.host, path));
    }
    let world = world.converge();
    for (name, host) in &world.hosts {
        let old = |path: &String| before[name].paths.get(path).map(|entry| entry.changed);
        host.paths.iter().filter(|(path, entry)| old(path) != Some(entry.changed)).for_each(|(path, _)| add(name, path));
    }
    written
}

/// Whether a folder of a host that can't be written is refused.
fn is_refused(world: &World, host: &str, folder: &str) -> bool {
    let seen: Seen = seen_with(|name, facts| {
        if name == host {
            facts.unwritable = vec![Unwritable { folder: folder.to_owned(), mount: folder.to_owned(), read_only: true }];
        }
    });
    check(&world.cluster, &seen).iter().any(|refusal| refusal.what.starts_with(&format!("{folder} ")))
}

#[test]
fn every_folder_that_a_step_writes_to_is_looked_at_and_refused_where_it_can_t_be_written() {
    let of_several = World::bare_of(highly_available());
    for world in [World::bare(), World::with_everything(), of_several] {
        let mut written = written(world.clone());
        // Others are as these.
        written.retain(|host, _| ["cp1", "worker1", "worker2"].contains(&host.as_str()));
        assert!(written["cp1"].len() > 15, "{written:?}");
        for (host, folder) in written.iter().flat_map(|(host, folders)| folders.iter().map(move |folder| (host, folder))) {
            assert!(TARGETS.iter().any(|target| target.path == folder), "{host}: {folder} is written to and not looked at");
            assert!(is_refused(&world, host, folder), "{host}: {folder} is written to, and may be read-only");
        }
    }
    for family in FAMILIES {
        let store = TrustStore::for_distribution(family);
        assert!(TARGETS.iter().any(|target| target.path == store.folder), "{}", family.name);
    }
}

#[test]
fn hosts_of_etcd_are_looked_at_too() {
    let written = written(World::bare_of(own_etcd()));
    for folder in ["/etc/etcd", "/etc/systemd/system", "/etc/kubernetes/pki/etcd", "/var/lib/etcd/member", "/usr/local/bin"] {
        assert!(written["etcd1"].contains(folder), "{folder}: {:?}", written["etcd1"]);
    }
    for folder in &written["etcd1"] {
        assert!(TARGETS.iter().any(|target| target.path == folder), "{folder} is written to and not looked at");
    }
}

/// What only others need does not stop a host.
#[test]
fn a_folder_that_a_host_does_not_use_may_be_as_it_is() {
    let (bare, everything) = (World::bare(), World::with_everything());
    for folder in ["/var/lib/etcd", "/etc/kubernetes/manifests", "/etc/kubernetes/pki/etcd"] {
        assert!(is_refused(&bare, "cp1", folder) && !is_refused(&bare, "worker1", folder), "{folder}");
    }
    for folder in ["/usr/local/share/ca-certificates", "/etc/containerd/certs.d", "/etc/selinux"] {
        assert!(is_refused(&everything, "worker1", folder) && !is_refused(&bare, "worker1", folder), "{folder}");
    }
}
