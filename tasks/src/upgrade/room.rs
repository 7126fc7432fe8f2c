//! Room on the disks of hosts for a second version beside the one that runs.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host};

use semver::Version;

use crate::facts::{FOLDERS, Storage};
use crate::observe::{API_SERVER, KUBELET};
use crate::plan::{Refusal, Seen};
use crate::versions::{HostVersions, Versions};

/// Folders that get programs and images of a version. What [`FOLDERS`] has for them is for two versions.
const GROWS: [&str; 3] = ["/opt", "/usr/local", "/var/lib/containerd"];

/// With less of containerd's file system free, in percent, a kubelet removes images and ends pods (`imagefs.available` of its default `evictionHard`).
const EVICTS_BELOW: u64 = 15;

/// Hosts that can't take version `to`, and those whose kubelet would end pods for it; whether it is the former. A host that has begun with it, in an upgrade
/// that was paused or cut off, has got what needs the room.
pub(super) fn room(cluster: &Cluster, seen: &Seen, to: &Version) -> Vec<(bool, Refusal)> {
    let hosts = cluster.hosts.iter().zip(Versions::from_seen(cluster, seen).0);
    let has_begun = |versions: &HostVersions| {
        [API_SERVER, KUBELET]
            .iter()
            .any(|program| versions.of_program(program).is_some_and(|installed| installed.all().any(|version| version == to)))
    };
    hosts.filter(|(_, versions)| !has_begun(versions)).flat_map(|(host, _)| of_host(cluster, host, seen)).collect()
}

fn of_host(cluster: &Cluster, host: &Host, seen: &Seen) -> Vec<(bool, Refusal)> {
    let Some(facts) = seen.facts(&host.name) else { return Vec::new() };
    let mut mounts: BTreeMap<&str, (&Storage, u64, Vec<&str>)> = BTreeMap::new();
    for folder in FOLDERS.iter().filter(|folder| GROWS.contains(&folder.path) && (!folder.node || host.roles.is_node())) {
        let Some(storage) = facts.storage.get(folder.path) else { continue };
        let entry = mounts.entry(&storage.mount).or_insert((storage, 0, Vec::new()));
        entry.1 += folder.bytes / 2;
        entry.2.push(folder.path);
    }
    let has_own_limits = cluster.settings.components.kubelet_of(host).evictions().is_some();
    let judged = mounts.into_iter().filter_map(|(mount, (storage, needed, folders))| {
        let is_of_images = folders.contains(&"/var/lib/containerd") && !has_own_limits;
        judge((mount, storage), (needed, &folders), is_of_images)
    });
    judged.map(|(blocks, refusal)| (blocks, refusal.at(format!("host {} ({})", host.name, host.address)))).collect()
}

fn judge((mount, storage): (&str, &Storage), (needed, folders): (u64, &[&str]), is_of_images: bool) -> Option<(bool, Refusal)> {
    let (free, total) = (storage.free_bytes, storage.total_bytes);
    let has = Refusal::new(format!("{mount} has {} MB free", free / 1_000_000));
    if free < needed {
        let because = format!("programs and images of another version need {} MB there, below {}", needed / 1_000_000, folders.join(", "));
        return Some((true, has.because(because).hint("make room, or mount a larger file system there")));
    }
    let evicts = is_of_images && (free - needed).saturating_mul(100) < total.saturating_mul(EVICTS_BELOW);
    evicts.then(|| {
        let because = format!(
            "with {} MB for another version less than {EVICTS_BELOW} % of {} MB are left, and the kubelet removes images and ends pods then (DiskPressure)",
            needed / 1_000_000,
            total / 1_000_000
        );
        (false, has.because(because).hint("make room before"))
    })
}
