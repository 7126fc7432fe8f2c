//! What an upgrade comes to.

use kok_tasks::drain::{Cordon, Cordoner};
use kok_tasks::observe::{API_SERVER, ETCD, KUBELET};
use kok_tasks::upgrade::{StageName, Wish};

use crate::support::upgrading::{NEW, of_version, upgradable};
use crate::support::world::World;
use crate::upgrades::{plan_of, way};

fn upgraded() -> World {
    let mut world = upgradable();
    while let Some(stage) = way(&world, &Wish::default()).into_iter().next() {
        let plan = plan_of(&world, &stage);
        assert!(!plan.is_empty(), "{}", stage.name);
        world.cluster = stage.cluster;
        world.carry_out_all(&plan);
    }
    world
}

/// Stage after stage, each planned from what hosts say by then, and nothing is left for another upgrade or an apply.
#[test]
fn all_stages_lead_to_the_new_version() {
    let mut world = upgraded();
    let numbers = |version: &str| version.split('.').map(|part| part.parse().unwrap()).collect::<Vec<u64>>();
    for (program, version) in [(API_SERVER, NEW), (KUBELET, NEW), (ETCD, "3.7.0")] {
        let runs: Vec<_> = world.versions_of(program).into_iter().map(|(major, minor, patch)| vec![major, minor, patch]).collect();
        assert_eq!(runs, [numbers(version)], "{program}");
    }
    world.cluster = of_version(NEW);
    assert_eq!(world.plan().changes().count(), 0);
}

/// Cut off between the last kubelet and the end: all have the version, and the same word lets the node take pods again.
#[test]
fn a_node_that_a_run_has_left_cordoned_takes_pods_again() {
    let mut world = upgraded();
    let cordon = |world: &mut World, by| world.api.nodes.get_mut("worker2").unwrap().cordon = Cordon::Ours(by);
    cordon(&mut world, Cordoner::Word);
    assert_eq!(way(&world, &Wish::default()), [], "what somebody asked for by a word stays");
    cordon(&mut world, Cordoner::Run);
    let others = Wish { limit: vec!["worker1".to_owned()], ..Wish::default() };
    assert_eq!(way(&world, &others), []);
    let stages = way(&world, &Wish::default());
    assert_eq!(
        stages.iter().map(|stage| (stage.name, stage.hosts.as_slice())).collect::<Vec<_>>(),
        [(StageName::TakesPods, &["worker2".to_owned()][..])]
    );
    let plan = plan_of(&world, &stages[0]);
    assert_eq!(plan.changes().map(|(step, _)| step.id.to_string()).collect::<Vec<_>>(), ["cp1/control-plane/uncordoned"]);
    world.carry_out_all(&plan);
    assert_eq!(way(&world, &Wish::default()), []);
}
