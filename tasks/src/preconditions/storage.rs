//! Room, inodes, and mounts that can be written.

use std::collections::BTreeMap;

use kok_crds::model::FirewallPolicy;

use super::{Findings, Scope, missing_programs};
use crate::facts::{FOLDERS, Storage, TARGETS, Unwritable, Writer};
use crate::observe::{Firewall, STATE_DIRECTORY};
use crate::plan::Refusal;

/// Files of the images that every host gets, unpacked, with those of their writable layers: some 3,000. Half as much again for pods.
const MINIMUM_INODES: u64 = 5_000;

/// Below this, a host that works already soon does not: etcd and the kubelet write all the time.
const NEARLY_FULL: u64 = 200_000_000;

/// The kubelet's own thresholds: with less of it free, in percent, it removes images and ends pods, and takes no new ones
/// (`imagefs.available`, `nodefs.available` of its defaults for `evictionHard`).
const EVICTION_PERCENT: [(&str, u64); 2] = [("/var/lib/containerd", 15), ("/var/lib/kubelet", 10)];

pub(super) fn storage(scope: &Scope<'_>, found: &mut Findings) {
    let facts = scope.facts;
    unwritable(scope, found);
    // Folders by the file system below them: what they need adds up there.
    let mut mounts: BTreeMap<&str, (&Storage, u64, Vec<&str>)> = BTreeMap::new();
    let roles = scope.host.roles;
    // The archive, what is in it, and what apt makes of its lists.
    let packages = scope.bundled().map_or(0, |bundled| 3 * bundled.packages.size);
    for folder in FOLDERS.iter().filter(|folder| (!folder.etcd || roles.etcd) && (!folder.node || roles.is_node())) {
        let Some(storage) = facts.storage.get(folder.path) else { continue };
        let entry = mounts.entry(&storage.mount).or_insert((storage, 0, Vec::new()));
        entry.1 += folder.bytes + if folder.path == STATE_DIRECTORY { packages } else { 0 };
        entry.2.push(folder.path);
        usable(folder.path, folder.programs, storage, found);
        // Whoever says when pods are evicted knows what is free.
        if scope.cluster.settings.components.kubelet_of(scope.host).evictions().is_none() {
            evicts(folder.path, storage, found);
        }
    }
    for (mount, (storage, needed, folders)) in mounts {
        room(scope, mount, storage, needed, &folders, found);
    }
}

/// Whether this host's roles and settings put files into a folder. Others may be as they are.
fn is_written(scope: &Scope<'_>, folder: &str) -> bool {
    let (roles, settings) = (&scope.host.roles, scope.settings());
    let balanced = scope.cluster.has_load_balancers() && !roles.control_plane && roles.is_node();
    let writes = |writer: Writer| match writer {
        Writer::Host => true,
        Writer::Node => roles.is_node(),
        Writer::ControlPlane => roles.control_plane,
        Writer::Etcd => roles.etcd,
        Writer::EtcdClient => roles.etcd || roles.control_plane,
        Writer::EtcdUnit => roles.etcd && scope.cluster.has_etcd_units(),
        Writer::Firewall => {
            let is_active = scope.seen.firewall.as_ref().is_some_and(|firewall| *firewall != Firewall::None);
            settings.host.firewall == FirewallPolicy::Open && is_active
        }
        Writer::LoadBalancer => balanced,
        Writer::StaticPods => roles.control_plane || balanced,
        Writer::Mirrors => roles.is_node() && !settings.containerd_registries_mirrors.is_empty(),
        Writer::Name => settings.host.override_system_hostname,
        Writer::Packages => !missing_programs(scope.facts, scope.cluster, scope.host).is_empty(),
        Writer::Proxy => roles.is_node() && settings.host.has_proxy(),
        Writer::Selinux => settings.host.preinstall_selinux_state.is_some(),
        Writer::Time => scope.cluster.time.is_managed(),
        Writer::VirtualAddress => roles.control_plane && scope.cluster.virtual_address().is_some(),
        Writer::Trust => !settings.host.trusted_certificates.is_empty() || scope.cluster.resources.adds_trust(&scope.host.name),
    };
    TARGETS.iter().find(|target| target.path == folder).is_none_or(|target| writes(target.writer))
}

/// Folders that files are put into, by the mount that forbids it.
fn unwritable(scope: &Scope<'_>, found: &mut Findings) {
    // Of the file systems that are measured it is said with what they are for.
    let is_told = |one: &&Unwritable| {
        let whole = scope.facts.storage.iter().filter(|(folder, storage)| storage.read_only && *folder != "/");
        whole.map(|(_, storage)| &storage.mount).any(|mount| *mount == one.mount)
    };
    let mut by_mount: BTreeMap<(&str, bool), Vec<&str>> = BTreeMap::new();
    for one in scope.facts.unwritable.iter().filter(|one| is_written(scope, &one.folder) && !is_told(one)) {
        by_mount.entry((&one.mount, one.read_only)).or_default().push(&one.folder);
    }
    for ((mount, read_only), folders) in by_mount {
        let refusal = Refusal::new(format!("{} can't be written", folders.join(", ")));
        found.refuse(match read_only {
            true => refusal
                .because(format!("{mount} is mounted with the option ro, and kokctl installs files there"))
                .hint(format!("`mount -o remount,rw {mount}`, and take ro out of its options in /etc/fstab; look into the kernel's log for errors of the disk")),
            false => refusal
                .because("kokctl installs files there, and the file system takes none")
                .hint("look at the folder's attributes (`lsattr -d`), and into the kernel's log for errors of the disk"),
        });
    }
}

fn evicts(folder: &str, storage: &Storage, found: &mut Findings) {
    let Some((_, percent)) = EVICTION_PERCENT.iter().find(|(path, _)| *path == folder) else { return };
    let (free, total) = (storage.free_bytes, storage.total_bytes);
    if free.saturating_mul(100) < total.saturating_mul(*percent) {
        found.warn(
            Refusal::new(format!(
                "of the {} GB below {folder} {} % are free",
                total / 1_000_000_000,
                free.saturating_mul(100) / total.max(1)
            ))
            .because(format!("with less than {percent} % the kubelet removes images and ends pods (DiskPressure), and takes no new ones"))
            .hint(format!("make room in {}, or mount a file system of its own there", storage.mount)),
        );
    }
}

fn usable(folder: &str, programs: bool, storage: &Storage, found: &mut Findings) {
    let mount = &storage.mount;
    // `/` itself may be read-only where everything that is written lies elsewhere.
    if storage.read_only && folder != "/" {
        found.refuse(
            Refusal::new(format!("{folder} is read-only"))
                .because(format!("{mount} is mounted with the option ro, and kokctl, containerd or the kubelet write there"))
                .hint(format!("`mount -o remount,rw {mount}`; look into the kernel's log for errors of the disk")),
        );
    }
    if storage.no_exec && programs {
        found.refuse(
            Refusal::new(format!("no program can be run from {folder}"))
                .because(format!("{mount} is mounted with the option noexec, and programs of Kubernetes are installed there"))
                .hint(format!("take noexec out of the options of {mount} in /etc/fstab and mount it again")),
        );
    } else if storage.no_exec && matches!(folder, "/var/lib/containerd" | "/var/lib/kubelet") {
        found.warn(
            Refusal::new(format!("no program can be run from {folder}"))
                .because(format!("{mount} is mounted with the option noexec; containers may fail to start"))
                .hint(format!("take noexec out of the options of {mount} in /etc/fstab and mount it again")),
        );
    }
}

fn room(scope: &Scope<'_>, mount: &str, storage: &Storage, needed: u64, folders: &[&str], found: &mut Findings) {
    let free = storage.free_bytes;
    let megabytes = |bytes: u64| bytes / 1_000_000;
    if scope.is_fresh() && free < needed {
        found.refuse(
            Refusal::new(format!("{mount} has {} MB free", megabytes(free)))
                .because(format!("programs, images and their layers need {} MB there, below {}", megabytes(needed), folders.join(", ")))
                .hint("make room, or mount a larger file system there"),
        );
    } else if !scope.is_fresh() && needed > 0 && free < NEARLY_FULL.min(needed) {
        found.warn(
            Refusal::new(format!("{mount} has {} MB free", megabytes(free)))
                .because("etcd, the kubelet and containerd stop working when it is full")
                .hint("make room; `journalctl --vacuum-size=200M` often helps"),
        );
    }
    let images = folders.contains(&"/var/lib/containerd");
    let least = if images { MINIMUM_INODES } else { MINIMUM_INODES / 10 };
    if let Some(inodes) = storage.free_inodes.filter(|inodes| needed > 0 && scope.is_fresh() && *inodes < least) {
        found.refuse(
            Refusal::new(format!("{mount} has room for {inodes} more files"))
                .because(format!("programs, images and their layers are {least} files, below {}", folders.join(", ")))
                .hint("remove small files (`df -i` shows the count), or mount another file system there"),
        );
    }
}
