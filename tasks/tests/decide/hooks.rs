//! Scripts of a user's: where they come, how often, and that what is owed after a run that died is done by the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kok_crds::Position;
use kok_crds::model::{Cluster, Content, Hook as Wanted, HookPlace, OnFailure, Text};
use kok_tasks::drain::DrainSettings;
use kok_tasks::plan::{
    Action, Choice, Leaving, Making, Plan, Reboots, Seen, Selection, Step, StepId, leave, make, reboot, reboot_looks, reset, reset_looks,
};
use kok_tasks::resources::Resource;
use kok_tasks::script::Part;
use kok_tasks::upgrade::Wish;

use crate::convergence::left;
use crate::support::host::Host;
use crate::support::world::World;
use crate::support::{cluster, highly_available, inputs, own_etcd};
use crate::upgrades::{is_after, old, way};

fn hook(at: HookPlace, hosts: &[&str], once: bool) -> Wanted {
    Wanted {
        name: format!("{}{}", if once { "once-" } else { "" }, at.as_str()),
        at,
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        once,
        script: Content::Text(Text::new("true\n")),
        creates: None,
        unless: None,
        timeout: Duration::from_secs(30),
        environment: BTreeMap::new(),
        secrets: BTreeMap::new(),
        on_failure: OnFailure::Stop,
        origin: Position { file: "cluster.yaml".into(), line: 1, column: 1 },
    }
}

const HOSTS: [&str; 5] = ["cp1", "cp2", "cp3", "worker1", "worker2"];

/// A hook in each place, and one that runs once for all.
fn with_all(cluster: Cluster) -> Cluster {
    let hooks = HookPlace::ALL.into_iter().flat_map(|at| [false, true].map(|once| hook(at, &HOSTS, once)));
    Cluster { hooks: hooks.collect(), ..cluster }
}

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

fn in_order(plan: &Plan, steps: &[&str]) {
    for pair in steps.windows(2) {
        assert!(plan.step(&id(pair[0])).is_some() && plan.step(&id(pair[1])).is_some(), "{pair:?}");
        assert!(is_after(plan, &id(pair[1]), &id(pair[0])), "{} does not come after {}", pair[1], pair[0]);
    }
}

fn hooks_of(plan: &Plan) -> BTreeSet<String> {
    let is_hook = |step: &Step| step.task == "hooks" && step.is_told();
    plan.changes().filter(|(step, _)| is_hook(step)).map(|(step, _)| step.id.to_string()).collect()
}

#[test]
fn founding_has_those_of_preparation_and_join_each_in_its_place() {
    let world = World::bare_of(with_all(highly_available()));
    let plan = world.plan();
    in_order(
        &plan,
        &[
            "worker1/host/claim",
            "worker1/hooks/beforePreparation",
            "worker1/container-runtime/service",
            "worker1/hooks/afterPreparation",
            "worker1/hooks/beforeJoin",
            "worker1/kubelet-join/joined",
            "worker1/hooks/afterJoin",
        ],
    );
    in_order(&plan, &["cp2/hooks/beforePreparation", "cp2/hooks/afterPreparation", "cp2/control-plane/kubelet", "cp2/hooks/afterJoin"]);
    // One for all of them comes before each, and after each.
    in_order(&plan, &["cp1/hooks/once-beforePreparation", "worker2/container-runtime/service", "cp1/hooks/once-afterPreparation"]);
    in_order(&plan, &["cp1/hooks/once-beforeJoin", "worker2/kubelet-join/joined", "cp1/hooks/once-afterJoin"]);
    let hooks = hooks_of(&plan);
    assert!(hooks.iter().all(|hook| hook.ends_with("Preparation") || hook.ends_with("Join")), "{hooks:?}");
    assert_eq!(hooks.len(), 4 * (5 + 1));
    let mut world = world.converge();
    assert_eq!(left(&world), Vec::<String>::new());
    // Another text is another script.
    world.cluster.hooks[0].script = Content::Text(Text::new("false\n"));
    assert_eq!(hooks_of(&world.plan()).len(), 5, "{:?}", left(&world));
}

/// With its hosts, whatever they are.
fn with_all_of(cluster: Cluster) -> Cluster {
    let names: Vec<String> = cluster.hosts.iter().map(|host| host.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hooks = HookPlace::ALL.into_iter().flat_map(|at| [false, true].map(|once| hook(at, &names, once)));
    Cluster { hooks: hooks.collect(), ..cluster }
}

#[test]
fn every_kind_of_cluster_is_founded_with_hooks_wherever_a_run_dies() {
    for cluster in [cluster(), highly_available(), own_etcd()] {
        for most in [3, 40, 90, 150, 300] {
            let mut world = World::bare_of(with_all_of(cluster.clone()));
            let plan = world.plan();
            world.carry_out_some(&plan, most);
            world.token_id = "kokab2".to_owned();
            let world = world.converge();
            assert_eq!(left(&world), Vec::<String>::new(), "{most}");
        }
    }
}

#[test]
fn a_guard_says_whether_there_is_something_to_do() {
    let guarded = Wanted { creates: Some("/etc/there".to_owned()), ..hook(HookPlace::AfterPreparation, &["worker1"], false) };
    let mut world = World::bare_of(Cluster { hooks: vec![guarded], ..highly_available() }).converge();
    assert_eq!(left(&world), Vec::<String>::new());
    let record = "/var/lib/kokctl/hooks/afterPreparation";
    assert!(!world.hosts["worker1"].paths.contains_key(record), "the guard says all that there is to know");
    world.host("worker1").paths.remove("/etc/there");
    assert_eq!(left(&world), ["worker1/hooks/afterPreparation: run because /etc/there does not exist"]);
    // One whose failure stops nothing is tried once, and what has ended well is no failure.
    world.cluster.hooks[0].on_failure = OnFailure::Go;
    let mut world = world.converge();
    assert!(!world.hosts["worker1"].paths.contains_key(record));
    world.host("worker1").paths.remove("/etc/there");
    assert_eq!(left(&world).len(), 1);
    let plan = world.plan();
    let Action::Resource(Resource::Hook(hook)) = &plan.step(&id("worker1/hooks/afterPreparation")).unwrap().action else { panic!() };
    let unguarded = kok_tasks::resources::Hook { creates: None, ..hook.clone() };
    let (path, text) = unguarded.kept().unwrap();
    world.host("worker1").folder("/var/lib/kokctl/hooks", 0o755);
    world.host("worker1").write(&path, 0o644, &text);
    assert_eq!(left(&world), Vec::<String>::new(), "it was tried");
}

#[test]
fn an_upgrade_has_its_hooks_once_however_often_it_is_begun() {
    let mut world = old();
    world.cluster = with_all(world.cluster);
    let mut world = world.converge();
    let mut ran: Vec<String> = Vec::new();
    let stages = way(&world, &Wish::default());
    let all: Vec<Cluster> = stages.iter().map(|stage| with_all(stage.cluster.clone())).collect();
    for cluster in all {
        world.cluster = cluster;
        let plan = world.plan();
        ran.extend(hooks_of(&plan));
        if plan.step(&id("worker1/kubelet-join/drained")).is_some() {
            in_order(
                &plan,
                &[
                    "worker1/kubelet-join/cordoned",
                    "worker1/hooks/beforeUpgrade",
                    "worker1/hooks/beforeDrain",
                    "worker1/kubelet-join/drained",
                    "worker1/hooks/afterDrain",
                    "worker1/kubelet-join/joined",
                    "worker1/kubelet-join/takes-pods",
                    "worker1/hooks/afterUpgrade",
                ],
            );
            in_order(&plan, &["cp1/hooks/once-beforeDrain", "worker1/kubelet-join/cordoned"]);
        }
        // The run dies when its hooks have run; the next one begins with the same stage.
        for (step, change) in plan.changes().filter(|(step, _)| step.task == "hooks") {
            world.carry_out(step, change);
        }
        let again = hooks_of(&world.plan());
        assert!(again.is_empty(), "{again:?}");
    }
    let times = |name: &str| ran.iter().filter(|hook| hook.ends_with(name)).count();
    for name in ["/beforeUpgrade", "/afterUpgrade"] {
        assert_eq!(times(name), 5, "{name}: {ran:?}");
    }
    for name in ["/once-beforeUpgrade", "/once-afterUpgrade"] {
        assert_eq!(times(name), 1, "{name}: {ran:?}");
    }
    // What was owed at the end of an upgrade is done by an ordinary run.
    let mut new = World::bare_of(with_all(highly_available())).converge();
    assert!(left(&new).is_empty(), "one that was never upgraded owes nothing");
    new.host("worker1").write("/var/lib/kokctl/hook-afterUpgrade:owed", 0o644, "1.37.1\n");
    assert_eq!(left(&new), ["worker1/hooks/afterUpgrade: run because it is owed"]);
    let mut new = new.converge();
    assert!(left(&new).is_empty());
    // Another text of one that was paid is no debt.
    new.cluster.hooks.iter_mut().filter(|hook| hook.at == HookPlace::AfterUpgrade).for_each(|hook| {
        hook.script = Content::Text(Text::new("another\n"));
    });
    assert!(left(&new).is_empty(), "{:?}", left(&new));
    new.host("worker1").write("/var/lib/kokctl/hook-afterUpgrade:owed", 0o644, "1.38.0\n");
    assert!(left(&new).is_empty(), "that is another upgrade's");
}

fn seen_of(world: &World) -> Seen {
    let mut seen = world.seen();
    for host in &world.cluster.hosts {
        let facts = kok_tasks::facts::HostFacts {
            boot_id: Some(format!("boot of {}", host.name)),
            cluster: Some(world.cluster.name.clone()),
            ..seen.facts(&host.name).unwrap().clone()
        };
        seen.add_facts(&host.name, facts);
        seen.add_observations(&host.name, world.look(&host.name, reboot_looks(host).iter()));
        seen.add_observations(&host.name, world.look(&host.name, reset_looks(host, false).iter()));
    }
    seen
}

fn until_made(world: &World, make: impl Fn(&Seen) -> Making) -> Plan {
    until_made_from(world, seen_of(world), make)
}

fn until_made_from(world: &World, mut seen: Seen, make: impl Fn(&Seen) -> Making) -> Plan {
    for _ in 0..9 {
        match make(&seen) {
            Making::Made(plan) => return *plan,
            Making::LookFirst(asked) => {
                asked.into_iter().for_each(|(host, looks)| seen.add_observations(&host, world.look(&host, looks.iter())));
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it asks again and again")
}

fn drain() -> DrainSettings {
    DrainSettings { delete_unmanaged: true, ..DrainSettings::default() }
}

#[test]
fn a_start_has_those_of_the_drain() {
    let mut world = World::bare_of(with_all(highly_available())).converge();
    let hosts = ["worker1".to_owned(), "worker2".to_owned()];
    for host in &hosts {
        world.host(host).folder("/proc/sys/kernel/random", 0o555);
        world.host(host).write("/proc/sys/kernel/random/boot_id", 0o444, &format!("boot of {host}"));
    }
    let (boots, back_within) = (BTreeMap::new(), Duration::from_secs(60));
    let wanted = Reboots { hosts: &hosts, if_needed: false, drain: drain(), back_within, boots: &boots };
    let plan = until_made(&world, |seen| reboot(&world.cluster, &wanted, seen).unwrap());
    in_order(
        &plan,
        &[
            "cp1/hooks/once-beforeDrain",
            "worker1/reboot/cordoned",
            "worker1/hooks/beforeDrain",
            "worker1/reboot/drained",
            "worker1/hooks/afterDrain",
            "worker1/reboot/reboot",
        ],
    );
    in_order(&plan, &["worker2/reboot/drained", "cp1/hooks/once-afterDrain"]);
    // The turn of the second comes when the first is back: nothing of it may be waited for until then.
    assert!(!is_after(&plan, &id("worker1/reboot/reboot"), &id("worker2/reboot/cordoned")));
    assert_eq!(hooks_of(&plan).len(), 6);
    // However they stand in the file.
    let mut world = world;
    world.cluster.hooks.reverse();
    let plan = until_made(&world, |seen| reboot(&world.cluster, &wanted, seen).unwrap());
    assert!(!is_after(&plan, &id("worker1/reboot/reboot"), &id("worker2/reboot/cordoned")));
}

#[test]
fn those_of_one_place_come_in_the_order_of_the_file() {
    let own = Wanted { name: "own".to_owned(), ..hook(HookPlace::AfterJoin, &HOSTS, false) };
    let all = Wanted { name: "all".to_owned(), ..hook(HookPlace::AfterJoin, &HOSTS, true) };
    let plan = World::bare_of(Cluster { hooks: vec![own, all], ..highly_available() }).plan();
    in_order(&plan, &["worker2/hooks/own", "cp1/hooks/all"]);
    in_order(&plan, &["cp1/hooks/own", "cp1/hooks/all"]);
}

/// What is about all hosts and comes after something waits until that is a part of what is asked for.
#[test]
fn none_runs_before_what_it_comes_after() {
    let mut world = World::bare_of(highly_available()).converge();
    world.cluster = with_all(world.cluster);
    let limit = ["cp1".to_owned()];
    let part = Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &world.cluster).unwrap();
    let hooks = hooks_of(&world.plan_of(&part).unwrap().0);
    assert!(hooks.contains("cp1/hooks/afterJoin") && hooks.contains("cp1/hooks/once-beforeJoin"), "{hooks:?}");
    assert!(!hooks.contains("cp1/hooks/once-afterJoin"), "{hooks:?}");
}

/// One that is away holds nobody back.
#[test]
fn nobody_waits_for_a_host_that_is_away() {
    let world = World::bare_of(with_all(highly_available())).converge();
    let mut world = world;
    world.cluster.hooks.iter_mut().for_each(|hook| hook.script = Content::Text(Text::new("another\n")));
    let mut seen = world.seen_but(&["worker2".to_owned()].into());
    seen.add_unreachable("worker2");
    let inputs = inputs(&world.cluster, &world.bundle);
    let plan = until_made_from(&world, seen, |seen| make(&inputs, seen).unwrap());
    let of_away = |step: &&Step| step.host == "worker2" || step.id.host() == "worker2";
    for step in plan.steps().filter(of_away) {
        let waits = plan.needed_by(&step.id).into_iter().filter(|(other, _)| other.task == "hooks" && other.id.host() != "worker2");
        assert_eq!(waits.map(|(other, _)| other.id.to_string()).collect::<Vec<_>>(), Vec::<String>::new(), "{}", step.id);
    }
}

#[test]
fn a_removal_has_its_own_on_the_host_and_on_one_that_stays() {
    let world = World::bare_of(with_all(highly_available())).converge();
    let hosts = ["worker1".to_owned(), "worker2".to_owned()];
    let dead: BTreeSet<String> = ["worker2".to_owned()].into();
    let none = BTreeSet::new();
    let wanted = |dead| Leaving { hosts: &hosts, dead, drain: drain(), members: None, even: false };
    let plan = until_made(&world, |seen| leave(&world.cluster, &wanted(&none), seen).unwrap());
    in_order(
        &plan,
        &[
            "cp1/hooks/once-beforeRemoval",
            "worker1/reset/cordoned",
            "worker1/hooks/beforeRemoval",
            "worker1/hooks/beforeDrain",
            "worker1/reset/drained",
            "worker1/hooks/afterDrain",
            "worker1/reset/reset",
            "worker1/hooks/afterRemoval",
        ],
    );
    in_order(&plan, &["worker2/reset/node", "worker1/hooks/once-afterRemoval"]);
    // It is owed before they leave.
    in_order(&plan, &["worker1/hooks/afterRemoval:owed", "worker1/reset/reset"]);
    in_order(&plan, &["worker1/hooks/once-afterRemoval:owed", "worker2/reset/reset"]);
    let at = |name: &str| plan.step(&id(name)).unwrap().host.clone();
    assert_eq!([at("worker1/hooks/beforeRemoval"), at("worker1/hooks/afterRemoval")], ["worker1", "cp1"]);
    // Of one that is gone for good only what comes after it is left.
    let mut silent = world.clone();
    silent.api.nodes.values_mut().for_each(|node| node.silent = true);
    let plan = until_made(&silent, |seen| leave(&silent.cluster, &wanted(&dead), seen).unwrap());
    let of_dead: Vec<String> = hooks_of(&plan).into_iter().filter(|hook| hook.starts_with("worker2/")).collect();
    assert_eq!(of_dead, ["worker2/hooks/afterRemoval"]);
    // One that has left long ago is owed nothing; a run that died before its hook leaves the debt.
    let mut gone = world.clone();
    gone.api.nodes.remove("worker1");
    *gone.host("worker1") = Host::bare("worker1");
    let only = ["worker1".to_owned()];
    let again = |world: &World| {
        let wanted = Leaving { hosts: &only, dead: &none, drain: drain(), members: None, even: false };
        let mut seen = seen_of(world);
        // Nothing there says whose it was.
        let facts = kok_tasks::facts::HostFacts { cluster: None, ..seen.facts("worker1").unwrap().clone() };
        seen.add_facts("worker1", facts);
        hooks_of(&until_made_from(world, seen, |seen| leave(&world.cluster, &wanted, seen).unwrap()))
    };
    assert!(again(&gone).is_empty(), "{:?}", again(&gone));
    gone.host("cp1").write("/var/lib/kokctl/hook-afterRemoval:worker1:owed", 0o644, "removal\n");
    assert_eq!(again(&gone), ["worker1/hooks/afterRemoval".to_owned()].into());
    // A cluster that ends has nobody left afterwards.
    let plan = until_made(&world, |seen| reset(&world.cluster, seen).unwrap());
    let hooks = hooks_of(&plan);
    assert_eq!(hooks.len(), 5 + 1, "{hooks:?}");
    in_order(&plan, &["worker1/hooks/beforeRemoval", "worker1/reset/reset"]);
    in_order(&plan, &["cp1/hooks/once-beforeRemoval", "worker1/reset/reset"]);
}

#[test]
fn secrets_are_names_in_scripts() {
    let mut wanted = hook(HookPlace::BeforePreparation, &["worker1"], false);
    wanted.secrets = [("TOKEN".to_owned(), Text::new("correct-horse"))].into();
    wanted.environment = [("SITE".to_owned(), "it's here".to_owned())].into();
    let world = World::bare_of(Cluster { hooks: vec![wanted], ..highly_available() });
    let plan = world.plan();
    let step = plan.step(&id("worker1/hooks/beforePreparation")).unwrap();
    let act = step.act(plan.change(&step.id).unwrap());
    let texts =
        act.script().unwrap().parts().iter().filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None });
    let script: String = texts.collect();
    assert!(script.contains(r"export SITE='it'\''s here'") && !script.contains("correct-horse"), "{script}");
    assert_eq!(step.given().iter().map(|(_, text)| text.expose()).collect::<Vec<_>>(), ["correct-horse"]);
}
