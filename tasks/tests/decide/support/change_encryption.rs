//! A cluster whose encryption is changed, stage by stage, as the engine does it.

use kok_crds::model::Cluster;
use kok_tasks::encryption::{LayoutTarget, Provider};
use kok_tasks::facts::HostFacts;
use kok_tasks::observe::EncryptionKeys;
use kok_tasks::plan::{
    EncryptionChange, KeyRotation, KeyStage, Making, Plan, Refusal, Seen, encryption_change, rotate_key, rotate_key_looks,
};

use super::encryption::mark;
use super::world::World;
use super::{NOW, cluster_of, good_facts};

const KINDS: [&str; 3] = ["secrets", "configmaps", "widgets.example.org"];

pub(crate) fn with(text: &str, vars: &str) -> Cluster {
    cluster_of(&format!("{text}\n  vars: {{{vars}}}\n"))
}

/// A cluster that has values of each kind, stored as its file asks for it.
pub(crate) fn world_of(text: &str, vars: &str) -> World {
    let mut world = World::bare_of(with(text, vars)).converge();
    world.hosts.values_mut().for_each(|host| host.keys_read = Some(host.encryption_keys()));
    let layout = world.hosts["cp1"].keys_in_use();
    world.api.stored = KINDS.map(|kind| ((kind.to_owned(), mark(&layout.providers(kind)[0])), 100)).into();
    world
}

/// What a first look for this sees, which is less than one for `apply`.
pub(crate) fn seen(world: &World) -> Seen {
    let mut seen = Seen::default();
    for (host, number) in world.cluster.hosts.iter().zip(11..) {
        let cluster = world.hosts[&host.name].has("/var/lib/kokctl/cluster").then(|| world.cluster.name.clone());
        seen.add_facts(&host.name, HostFacts { cluster, ..good_facts(&host.name, number) });
        seen.add_observations(&host.name, world.look(&host.name, rotate_key_looks(&world.cluster, host).iter()));
    }
    seen
}

pub(crate) fn chosen(world: &World, later: i64) -> Result<EncryptionChange, Vec<Refusal>> {
    encryption_change(&world.cluster, &seen(world), NOW + later)
}

/// The plan of a stage, after all the looks that it asks for.
pub(crate) fn made(world: &World, target: &LayoutTarget, stage: KeyStage) -> Plan {
    let mut seen = seen(world);
    loop {
        match rotate_key(&world.cluster, &KeyRotation { target, stage }, &seen).unwrap() {
            Making::Made(plan) => return *plan,
            Making::LookFirst(asked) => {
                for (host, looks) in asked {
                    seen.add_observations(&host, world.look(&host, looks.iter()));
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

/// So many steps on the way, whatever stage they are of, as the engine goes through them; whether that is the end of it.
pub(crate) fn driven(world: &mut World, later: i64, mut steps: usize) -> bool {
    let change = chosen(world, later).unwrap();
    let of_keys = [KeyStage::Read, KeyStage::First, KeyStage::Rewritten, KeyStage::Alone];
    let first = [Some(KeyStage::Laid)].into_iter().chain(change.starts.then_some(None));
    let stages: Vec<Option<KeyStage>> = first.chain(of_keys.map(Some)).chain([None]).collect();
    for (place, stage) in stages.iter().copied().enumerate() {
        let is_last = place + 1 == stages.len();
        loop {
            // Between them it is `apply`: of the cluster as its API servers are to be started first, or of the file.
            let first = change.before.clone().filter(|_| stage.is_none() && !is_last);
            let plan = match (stage, first) {
                (Some(stage), _) => made(world, &change.target, stage),
                (None, None) => world.plan(),
                (None, Some(encryption)) => {
                    let wanted = std::mem::replace(&mut world.cluster.settings.security.encryption, encryption);
                    let plan = world.plan();
                    world.cluster.settings.security.encryption = wanted;
                    plan
                }
            };
            if plan.is_empty() {
                break;
            }
            if steps == 0 {
                return false;
            }
            steps -= 1;
            world.carry_out_some(&plan, 1);
            if stage.is_none() {
                // An API server that is started reads its file, if it has one.
                started(world);
            }
            world.is_readable(&format!("{stage:?}"));
        }
    }
    true
}

fn started(world: &mut World) {
    for host in world.hosts.values_mut() {
        let manifest =
            host.paths.get("/etc/kubernetes/manifests/kube-apiserver.yaml").map(|manifest| manifest.content.clone()).unwrap_or_default();
        let encrypts = manifest.contains("encryption-provider-config");
        assert!(
            !encrypts || host.reaches_plugins(),
            "an API server is started with a plugin that it can't reach: {} {:?}",
            host.name,
            host.encryption_keys()
        );
        let keys = if manifest.contains("encryption-provider-config") { host.encryption_keys() } else { EncryptionKeys::default() };
        host.keys_read = Some(keys);
    }
}

pub(crate) fn is_done(world: &World, after: usize) {
    let wanted = &world.cluster.settings.security.encryption;
    for (kind, provider) in world.api.stored.keys() {
        let is_meant = wanted.enabled && wanted.resources.iter().any(|pattern| kok_tasks::encryption::covers(pattern, kind));
        let is_right = match provider {
            Provider::Identity => !is_meant,
            Provider::Kms(plugin) => is_meant && wanted.kms.as_ref().is_some_and(|wanted| wanted.name == plugin.name),
            Provider::Key { .. } => is_meant && provider.is_asked_by(wanted),
        };
        assert!(is_right, "after {after}: {kind} by {provider:?}");
    }
    for host in world.cluster.control_planes() {
        let is = world.hosts[&host.name].encryption_keys().layout;
        assert!(if wanted.enabled { is.is_as(wanted) && is.is_steady() } else { is.is_empty() }, "after {after}: {is}");
        let left = world.hosts[&host.name].paths.keys().filter(|path| path.contains("apiserver/encryption.")).count();
        assert_eq!(left, if wanted.enabled { 2 } else { 0 }, "after {after}");
    }
    assert!(world.plan().is_empty(), "after {after}");
}

/// Ways from worlds to how their files ask for it, each cut off after so many steps and gone on with. Not after each of them, for that takes a while: one way is
/// cut off between the cuts of another.
pub(crate) fn are_killed(ways: impl IntoIterator<Item = (String, World)>, every: usize) {
    for (way, (called, world)) in ways.into_iter().enumerate() {
        let mut steps = way;
        loop {
            let mut world = world.clone();
            let is_whole = driven(&mut world, 0, steps);
            if !is_whole {
                assert!(driven(&mut world, 3600, usize::MAX), "{called} after {steps}");
            }
            is_done(&world, steps);
            if is_whole {
                break;
            }
            steps += every;
        }
        assert!(steps >= every, "{called}: {steps} steps");
    }
}
