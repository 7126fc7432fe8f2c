//! What a seed begins with: a cluster that works and of which something differs, bare hosts, or hosts that are to leave.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use kok_tasks::drain::DrainSettings;
use kok_tasks::observe::{API_SERVER, EtcdState, Observations, ProgramVersions};
use kok_tasks::operations::MEMBER_DATA;
use kok_tasks::plan::{Leaving, Making, Refusal, leave, reset_looks};

use super::super::super::seeded::seeded;
use super::lives::{Random, SimulatedLife};
use super::*;
use model::support::api::FOREIGN_DATA;
use serde::Serialize;

thread_local! {
    /// Etcd beside API servers, and as units.
    static WORLDS: LazyCell<[World; 2]> = LazyCell::new(|| {
        [model::support::highly_available(), model::support::own_etcd()].map(|cluster| World::bare_of(cluster).converge())
    });
}

/// What a life is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// What differs from what is wanted.
    Change,
    Founding,
    /// A host leaves, whatever it is. Who applies after that has it back.
    Reset,
}

/// What is typed in a life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypedOrder {
    Apply,
    Remove(String),
}

/// What somebody has done to files of a cluster that works, as hosts and paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Edits {
    pub(super) edited: Vec<(String, String)>,
    pub(super) removed: Vec<(String, String)>,
}

impl Edits {
    /// Those of a world, by what is otherwise than where a run has just ended.
    pub(super) fn from_world(world: &World) -> Self {
        let which = usize::from(world.cluster.has_etcd_units());
        let mut edits = Self::default();
        WORLDS.with(|worlds| {
            for (host, was) in &worlds[which].hosts {
                let paths = || EDITED.iter().chain(&REMOVED).filter(|path| was.has(path));
                let at = |path: &&str| (host.clone(), (*path).to_owned());
                edits.removed.extend(paths().filter(|path| !world.hosts[host].has(path)).map(&at));
                let is_edited = |path: &&&str| world.hosts[host].has(path) && world.hosts[host].text(path).ends_with(EDIT);
                edits.edited.extend(paths().filter(is_edited).map(at));
            }
        });
        edits
    }
}

/// Files to which somebody writes a line, and what it is.
const EDITED: [&str; 3] = ["/etc/kubernetes/manifests/etcd.yaml", "/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/etcd/etcd.yaml"];
const EDIT: &str = "# edited\n";

/// Files that somebody removes.
const REMOVED: [&str; 2] = ["/var/lib/kubelet/config.yaml", "/etc/containerd/config.toml"];

impl Beginning {
    pub(super) fn any(random: &mut Random) -> Self {
        match random.below(10) {
            0 => Self::Founding,
            1 | 2 => Self::Reset,
            _ => Self::Change,
        }
    }

    /// What the life after it is for.
    pub(super) fn next(self) -> Self {
        if self == Self::Reset { Self::Change } else { self }
    }

    pub(super) fn is_apply(self) -> bool {
        self != Self::Reset
    }

    pub(super) fn world(self, random: &mut Random) -> World {
        // Nothing else differs where workers leave: an apply that has them back and starts containerd of cp1 anew makes the token for joining while
        // the API server there is away, for nothing says yet that the token needs `container-runtime/api-server`.
        let mut world = match self {
            Self::Founding => World::bare(),
            Self::Reset => WORLDS.with(|worlds| worlds[usize::from(random.one_in(4))].clone()),
            Self::Change => drifted(random),
        };
        world.hides = hidden();
        world
    }

    pub(super) fn plan(self, world: &World, random: &mut Random) -> (TypedOrder, Result<Plan, Vec<Refusal>>) {
        if self.is_apply() {
            return (TypedOrder::Apply, world.try_plan());
        }
        let hosts: Vec<String> = world.cluster.hosts.iter().map(|host| host.name.clone()).collect();
        let chosen = hosts[usize::try_from(random.below(hosts.len() as u64)).unwrap()].clone();
        let plan = left_by(world, &chosen);
        (TypedOrder::Remove(chosen), plan)
    }

    pub(super) fn life(self, random: &mut Random, world: &World) -> SimulatedLife {
        if self == Self::Founding { SimulatedLife::of_founding(random) } else { SimulatedLife::any(random, world) }
    }
}

/// The plan by which a host leaves.
pub(super) fn left_by(world: &World, chosen: &str) -> Result<Plan, Vec<Refusal>> {
    let chosen = chosen.to_owned();
    let drain = DrainSettings { delete_unmanaged: true, ..DrainSettings::default() };
    let leaving = Leaving { hosts: std::slice::from_ref(&chosen), dead: &BTreeSet::new(), drain, members: None, even: true };
    let mut cluster = world.cluster.clone();
    if seeded!(ResetTakesAnyHost) {
        let host = cluster.hosts.iter_mut().find(|host| host.name == chosen).unwrap();
        host.roles = kok_crds::model::Roles { worker: true, ..kok_crds::model::Roles::default() };
    }
    let mut seen = world.seen();
    for host in &world.cluster.hosts {
        seen.add_observations(&host.name, world.look(&host.name, reset_looks(host, false).iter()));
    }
    loop {
        match leave(&cluster, &leaving, &seen)? {
            Making::Made(plan) => return Ok(*plan),
            Making::Incomplete(refusals) => return Err(refusals),
            Making::AskFirst(hosts) => panic!("{hosts:?} were all asked"),
            Making::LookFirst(asked) => {
                for (host, looks) in asked {
                    seen.add_observations(&host, world.look(&host, looks.iter()));
                }
            }
        }
    }
}

/// Hosts that have data of a member that is none any more.
pub(super) fn left_with_data(world: &World) -> Vec<String> {
    let api = &world.api;
    let is_member = |name: &String| api.members.contains(name) || api.learners.contains(name);
    world.hosts.iter().filter(|(name, host)| host.has(MEMBER_DATA) && !is_member(name)).map(|(name, _)| name.clone()).collect()
}

/// What no look shows while a bug is switched on.
fn hidden() -> Option<fn(&mut Observations)> {
    if seeded!(ForeignDataNotSeen) {
        return Some(|seen| {
            if let Some(EtcdState::Ready(member)) = &mut seen.etcd {
                member.cluster_id = "7".to_owned();
            }
        });
    }
    seeded!(VersionsNotSeen).then_some(|seen| seen.versions = seen.versions.take().map(|_| ProgramVersions::new()))
}

/// A cluster that works, of which something differs from what is wanted.
fn drifted(random: &mut Random) -> World {
    let which = usize::from(random.one_in(4));
    let mut world = WORLDS.with(|worlds| worlds[which].clone());
    let hosts: Vec<String> = world.hosts.keys().cloned().collect();
    for host in hosts {
        for path in EDITED.iter().filter(|path| world.hosts[&host].has(path)).collect::<Vec<_>>() {
            if random.one_in(2) {
                let text = world.hosts[&host].text(path).to_owned();
                world.host(&host).write(path, 0o600, &format!("{text}{EDIT}"));
            }
        }
        for path in REMOVED {
            if random.one_in(3) {
                world.host(&host).paths.remove(path);
            }
        }
    }
    spoil(random, &mut world);
    world
}

/// Now and then a member has the data of another cluster, or an upgrade by somebody else has stopped halfway.
fn spoil(random: &mut Random, world: &mut World) {
    if random.one_in(12) {
        let member = world.api.members[usize::try_from(random.below(world.api.members.len() as u64)).unwrap()].clone();
        world.host(&member).write(FOREIGN_DATA, 0o600, "");
    }
    if random.one_in(12) {
        let version = random.one_of(&["1.36.3", "1.35.1"]);
        let planes: Vec<String> = world.cluster.control_planes().map(|host| host.name.clone()).collect();
        let count = 1 + usize::try_from(random.below(planes.len() as u64)).unwrap();
        planes.iter().take(count).for_each(|host| world.host(host).has_version(API_SERVER, version, version));
    }
}

/// The owner does what refusals ask for: the data are the cluster's again, and the upgrade is finished.
pub(super) fn heal(world: &mut World) {
    for host in world.hosts.values_mut() {
        host.paths.remove(FOREIGN_DATA);
        if !world.follows_versions {
            host.versions.clear();
        }
    }
}
