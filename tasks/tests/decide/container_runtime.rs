//! containerd of a cluster that works: in which order it is changed, and what it never goes back to.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::TomlScalar;
use kok_tasks::observe::{EtcdState, Observations, UnitState};
use kok_tasks::plan::{Making, Plan, make};

use crate::support::world::World;
use crate::support::{highly_available, inputs, step_id};

fn bare() -> World {
    World::bare_of(highly_available())
}

#[test]
fn containerd_is_restarted_on_one_control_plane_after_the_other() {
    let step = |host: &str, name: &str| step_id(host, "container-runtime", name);
    let still_works = |hosts: &[&str]| -> BTreeSet<String> { hosts.iter().map(|host| step(host, "api-server").to_string()).collect() };
    let across = |plan: &Plan, host: &str, name: &str| -> BTreeSet<String> {
        let needs = plan.needs(&step(host, name));
        needs.iter().map(|(need, _)| need.id.to_string()).filter(|id| !id.starts_with(host)).collect()
    };
    assert_eq!(across(&bare().plan(), "cp3", "service"), still_works(&[]), "nobody waits when there is nothing to lose");
    let mut world = bare().converge();
    world.cluster.settings.containerd_extra_runtime_args = BTreeMap::from([("a".to_owned(), TomlScalar::Integer(1))]);
    let plan = world.plan();
    for (host, before) in [("cp2", "cp1"), ("cp3", "cp2")] {
        assert_eq!(across(&plan, host, "service"), still_works(&[before]));
        assert_eq!(across(&plan, host, "configuration"), still_works(&[before]), "what it reads at its next start, too");
        assert!(plan.change(&step(host, "service")).is_some(), "it is restarted on {host}");
        assert!(plan.change(&step(before, "api-server")).is_some(), "that {before} still works is looked at");
    }
    assert_eq!(across(&plan, "worker1", "service"), still_works(&["cp1"]), "what breaks it is found where there are three");
    assert!(world.clone().converge().plan().is_empty());
    // Where it is dead while pods go on, it is started at once, and before any that works is changed; whatever else is broken.
    let mut seen = world.seen();
    let units = |name: &str| BTreeMap::from([(name.to_owned(), UnitState { active: "failed".to_owned(), ..UnitState::default() })]);
    seen.add_observations("cp3", Observations { units: units("containerd.service"), ..Observations::default() });
    let silent = EtcdState::NotReady("it does not answer".to_owned());
    seen.add_observations("cp1", Observations { etcd: Some(silent), ..Observations::default() });
    let Ok(Making::Made(plan)) = make(&inputs(&world.cluster, &world.bundle), &seen) else { panic!("there is no plan") };
    let needs = ["cp3", "cp2", "cp1"].map(|host| across(&plan, host, "service"));
    assert_eq!(needs, [still_works(&[]), still_works(&["cp3"]), still_works(&[])]);
}

#[test]
fn an_older_containerd_is_refused_where_a_newer_one_runs() {
    let mut world = bare().converge();
    let run = |world: &mut World, version: &str| {
        world.api.nodes.get_mut("cp2").unwrap().container_runtime = format!("containerd://{version}");
    };
    let refused = |world: &World| -> Vec<String> {
        let refusals = world.try_plan().err().unwrap_or_default();
        refusals.into_iter().map(|it| it.what).collect()
    };
    for version in ["2.2.9", "v2.3.7", "2.3.7-rc.1", "2.3.7+of-ours", "Unknown"] {
        run(&mut world, version);
        assert_eq!(refused(&world), Vec::<String>::new(), "{version}");
    }
    run(&mut world, "2.4.0");
    assert_eq!(refused(&world), ["cp2 runs containerd 2.4.0, and the newest of the bundle is 2.3.7"]);
    run(&mut world, "2.3.7");
    world.cluster.settings.containerd_version = Some("2.2.9".parse().unwrap());
    assert_eq!(refused(&world), ["cp2 runs containerd 2.3.7, and the file asks for 2.2.9"]);
    world.host("cp2").paths.remove("/var/lib/kokctl/cluster");
    assert!(!refused(&world).iter().any(|it| it.contains("runs containerd")), "that is the node of a host that was installed anew");
}
