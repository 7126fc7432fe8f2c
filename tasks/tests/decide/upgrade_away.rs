//! An upgrade while a worker can't be reached.

use std::collections::BTreeSet;

use kok_tasks::observe::KUBELET;
use kok_tasks::plan::{Choice, Selection, Step};
use kok_tasks::upgrade::{StageName, Wish};

use crate::support::upgrading::{NEW, OLD, of_version, upgradable};
use crate::support::world::World;
use crate::upgrades::{plan_of, way};

fn kubelets(world: &World) -> Vec<String> {
    world.versions_of(KUBELET).into_iter().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")).collect()
}

/// All stages come to their end without it, nobody asks for it, and it gets the version when it is back.
#[test]
fn nobody_waits_for_a_worker_that_is_left_out() {
    let mut world = upgradable(of_version(OLD));
    let away = BTreeSet::from(["worker2".to_owned()]);
    let names = world.cluster.hosts.iter().map(|host| host.name.clone());
    let others: Vec<String> = names.filter(|host| !away.contains(host)).collect();
    let wish = Wish { limit: others.clone(), away: away.clone(), ..Wish::default() };
    let choice = Choice { only: &[], skip: &[], limit: &others };
    let selection = Selection::new(choice, &world.cluster).unwrap().without(&away);
    let mut names = Vec::new();
    while let Some(stage) = way(&world, &wish).into_iter().next() {
        names.push(stage.name);
        world.cluster = stage.cluster;
        let (plan, asked) = world.plan_of(&selection).unwrap();
        assert!(!plan.is_empty() && asked.is_empty(), "{}: {asked:?}", stage.name);
        let of_it = |step: &Step| step.id.host() == "worker2" || step.host == "worker2";
        assert_eq!(
            plan.changes().map(|(step, _)| step).filter(|step| of_it(step)).map(|step| step.id.to_string()).collect::<Vec<_>>(),
            [""; 0]
        );
        world.carry_out_all(&plan);
    }
    assert_eq!(names, [StageName::ControlPlanes, StageName::Kubelets, StageName::Configuration, StageName::Kubelets]);
    assert_eq!(kubelets(&world), [OLD, NEW]);
    while let Some(stage) = way(&world, &Wish::default()).into_iter().next() {
        let plan = plan_of(&world, &stage);
        assert!(!plan.is_empty(), "{}", stage.name);
        world.cluster = stage.cluster;
        world.carry_out_all(&plan);
    }
    assert_eq!(kubelets(&world), [NEW]);
    world.cluster = of_version(NEW);
    assert_eq!(world.plan().changes().count(), 0);
}
