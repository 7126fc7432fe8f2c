//! An etcd of units that has lost its quorum is made anew, on hosts of its own: API servers elsewhere stand still meanwhile, and go on with what they had.

use std::collections::BTreeSet;

use kok_tasks::artifact::{Artifact, Supply};
use kok_tasks::plan::{Plan, RecoveryStage};
use kok_tasks::preconditions::{check_best, check_recovery, recovery_of};
use kok_tasks::recovery::{Origin, Recovery, best, candidates};

use crate::bootstrap::refusal_text;
use crate::recovery::{made_anew, order, seen, stage, undo};
use crate::support::world::World;
use crate::support::{own_etcd, step_id};

const PLANES: [&str; 2] = ["cp1", "cp2"];
const MEMBERS: [&str; 3] = ["etcd1", "etcd2", "etcd3"];

/// Three members, of which two have lost their data; their units refuse to start without.
fn without_quorum() -> World {
    let mut world = World::bare_of(own_etcd()).converge();
    for host in ["etcd1", "etcd2"] {
        let host = world.host(host);
        host.paths.retain(|path, _| !path.starts_with("/var/lib/etcd/member"));
        host.units.get_mut("etcd.service").unwrap().active = "activating".into();
    }
    world
}

fn is_whole(world: &World, after: usize) {
    let members: BTreeSet<&str> = world.api.members.iter().map(String::as_str).collect();
    assert_eq!(members, MEMBERS.into(), "after {after} steps");
    assert!(MEMBERS.iter().all(|host| world.hosts[*host].has("/var/lib/kokctl/made/etcd-started")), "after {after} steps");
    assert_eq!(world.plan().changes().count(), 0, "after {after} steps");
}

fn needs(plan: &Plan, later: (&str, &str), earlier: (&str, &str)) -> bool {
    let earlier = step_id(earlier.0, "recovery", earlier.1);
    plan.needs(&step_id(later.0, "recovery", later.1)).iter().any(|(need, _)| need.id == earlier)
}

#[test]
fn api_servers_stand_still_before_data_are_put_aside_and_all_of_them_answer_before_it_ends() {
    let mut world = without_quorum();
    let before = world.clone();
    let candidates = candidates(&world.cluster, &seen(&world, &BTreeSet::new()));
    assert_eq!(candidates.iter().map(|it| it.host.as_str()).collect::<Vec<_>>(), MEMBERS);
    assert_eq!(best(&candidates).map(|best| best.host.as_str()), Some("etcd3"));
    let recovery = order("etcd3", &[]);
    let plan = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
    for plane in PLANES {
        assert!(needs(&plan, ("etcd3", "kept"), (plane, "still")) && needs(&plan, (plane, "still"), ("etcd1", "begun")), "{plane}");
        assert!(plan.step(&step_id(plane, "recovery", "kept")).is_none(), "{plane} has no data of etcd");
    }
    world.carry_out_all(&plan);
    assert!(MEMBERS.iter().all(|host| !world.hosts[*host].is_active("etcd.service")));
    let plan = stage(&world, &recovery, RecoveryStage::Anew, None).unwrap();
    for plane in PLANES {
        assert!(
            needs(&plan, (plane, "started"), ("etcd3", "member")) && needs(&plan, ("etcd3", "ended"), (plane, "api-server")),
            "{plane}"
        );
    }
    world.carry_out_all(&plan);
    for plane in PLANES {
        let manifest = |world: &World| world.hosts[plane].text("/etc/kubernetes/manifests/kube-apiserver.yaml").to_owned();
        assert_eq!(manifest(&world), manifest(&before), "{plane} goes on with what it had");
    }
    assert_eq!(world.api.members, ["etcd3"]);
    assert!(world.hosts["etcd3"].has("/var/lib/etcd/before-r-1/member/wal"), "what it had is kept");
    is_whole(&world.converge(), usize::MAX);
}

/// Whoever goes on, or takes it back, knows of it only what the hosts say.
#[test]
fn one_that_is_cut_off_anywhere_is_gone_on_with_or_taken_back() {
    let broken = without_quorum();
    let (mut taken, mut gone_on) = (0, 0);
    for cut in 1..40 {
        let (mut world, recovery) = (broken.clone(), order("etcd3", &[]));
        let plan = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
        let steps = plan.changes().count();
        world.carry_out_some(&plan, cut);
        if cut > steps {
            let plan = stage(&world, &recovery, RecoveryStage::Anew, None).unwrap();
            world.carry_out_some(&plan, cut - steps);
        }
        let begun = recovery_of(&world.cluster, &seen(&world, &BTreeSet::new())).unwrap();
        let etcd3 = &world.hosts["etcd3"];
        let was_started = etcd3.has("/var/lib/kokctl/recovery/started") || (world.api.members.len() == 1 && begun.is_none());
        match undo(&world, &recovery) {
            Ok(plan) => {
                assert!(!was_started, "after {cut} steps");
                let mut back = world.clone();
                back.carry_out_all(&plan);
                taken += 1;
                for host in PLANES.iter().chain(&MEMBERS) {
                    let paths = |world: &World| world.hosts[*host].paths.keys().cloned().collect::<BTreeSet<_>>();
                    assert_eq!(paths(&back), paths(&broken), "{host} after {cut} steps");
                }
                assert!(back.hosts["etcd3"].is_active("etcd.service"), "after {cut} steps");
            }
            Err(refused) => {
                assert!(was_started && refusal_text(&refused).contains("can't be taken back"), "after {cut} steps: {refused:?}")
            }
        }
        if let Some(begun) = begun {
            assert_eq!(begun, recovery);
            made_anew(&mut world, &begun, None);
            gone_on += 1;
        }
        is_whole(&world.converge(), cut);
    }
    assert!(taken >= 12 && gone_on >= 24, "{taken} {gone_on}");
}

/// No member has anything: the snapshot is brought to one of them, and to no host that has none; cut off anywhere, it is gone on with while the snapshot is there.
#[test]
fn a_snapshot_becomes_the_etcd_of_units_and_a_cut_anywhere_loses_nothing() {
    let mut broken = without_quorum();
    let etcd3 = broken.host("etcd3");
    etcd3.paths.retain(|path, _| !path.starts_with("/var/lib/etcd/member"));
    etcd3.units.get_mut("etcd.service").unwrap().active = "activating".into();
    let seen_now = |world: &World| seen(world, &BTreeSet::new());
    let refused = check_best(&candidates(&broken.cluster, &seen_now(&broken))).unwrap_err();
    assert!(refused.hint.unwrap().contains("--from"));
    let snapshot = Artifact { title: "s".into(), path: "/s.db".into(), size: 1, sha256: "a".repeat(64), supply: Supply::Sent };
    let recovery = Recovery { origin: Origin::Snapshot { sha256: snapshot.sha256.clone() }, ..order("etcd2", &[]) };
    let sent = |world: &World, part: RecoveryStage| {
        let plan = stage(world, &recovery, part, Some(&snapshot)).unwrap();
        let streams = plan.changes().filter(|(step, _)| step.title().contains("snapshot")).map(|(step, _)| step.host.clone());
        (streams.collect::<BTreeSet<_>>(), plan)
    };
    let mut gone_on = 0;
    for cut in 1..40 {
        let mut world = broken.clone();
        let (hosts, plan) = sent(&world, RecoveryStage::Aside);
        let of_aside = plan.changes().count();
        world.carry_out_some(&plan, cut);
        if cut > of_aside {
            let (more, plan) = sent(&world, RecoveryStage::Anew);
            assert_eq!(hosts.union(&more).map(String::as_str).collect::<Vec<_>>(), ["etcd2"], "after {cut} steps");
            world.carry_out_some(&plan, cut - of_aside);
        }
        if let Some(begun) = recovery_of(&world.cluster, &seen_now(&world)).unwrap() {
            assert_eq!(begun, recovery);
            made_anew(&mut world, &begun, Some(&snapshot));
            gone_on += 1;
        }
        is_whole(&world.converge(), cut);
    }
    assert!(gone_on >= 20, "{gone_on}");
}

/// Its node is kept out by a control plane that is there, for a host of etcd can't ask the API.
#[test]
fn a_control_plane_that_is_given_up_is_kept_out_by_another_one_and_one_has_to_be_left() {
    let world = without_quorum();
    let refused = check_recovery(&world.cluster, &["cp1".to_owned(), "cp2".to_owned()], &seen(&world, &BTreeSet::new()));
    assert!(refusal_text(&refused).contains("no control plane would be left"), "{refused:?}");
    let mut world = world;
    let recovery = order("etcd3", &["cp1", "etcd1"]);
    // They are off, so that nothing runs there.
    world.host("cp1").units.remove("kubelet.service");
    world.host("etcd1").units.remove("etcd.service");
    for part in [RecoveryStage::Aside, RecoveryStage::Anew] {
        let plan = stage(&world, &recovery, part, None).unwrap();
        assert!(plan.steps().all(|step| !["cp1", "etcd1"].contains(&step.host.as_str())), "nothing is asked of those that are given up");
        if part == RecoveryStage::Anew {
            let gone = plan.step(&step_id("etcd3", "recovery", "cp1-gone")).unwrap();
            assert_eq!(gone.host, "cp2");
            assert!(needs(&plan, ("etcd3", "ended"), ("etcd3", "cp1-gone")));
            // The model's cluster has no policy that keeps a node out.
            world.api.nodes.remove("cp1");
        }
        world.carry_out_all(&plan);
    }
    assert_eq!(world.api.members, ["etcd3"]);
}
