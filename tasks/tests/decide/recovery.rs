//! An etcd that has lost its quorum is made anew, whatever is cut off on the way; and taken back, as long as it was not started.

use std::collections::BTreeSet;

use kok_tasks::artifact::{Artifact, Supply};
use kok_tasks::observe::{EtcdMember, EtcdPeer, EtcdState, Observations};
use kok_tasks::operations::MEMBER_DATA;
use kok_tasks::plan::{Making, Plan, Recovering, RecoveryStage, Refusal, Seen, recover, recovery_looks, take_back};
use kok_tasks::preconditions::{check_best, check_chosen, check_recovery, check_reset, check_restore, recovery_of};
use kok_tasks::recovery::{Candidate, Origin, Recovery, best, candidates, parties};

use crate::bootstrap::{bare, refusal_text};
use crate::support::world::World;
use crate::support::{inputs, step_id};

pub(crate) fn order(host: &str, lost: &[&str]) -> Recovery {
    Recovery {
        id: "r-1".to_owned(),
        host: host.to_owned(),
        origin: Origin::Member,
        least: 7,
        newest: 9,
        lost: lost.iter().map(|host| (*host).to_owned()).collect(),
    }
}

/// What the members say that answer.
pub(crate) fn seen(world: &World, silent: &BTreeSet<String>) -> Seen {
    let mut seen = world.seen_but(silent);
    for host in parties(&world.cluster).filter(|host| !silent.contains(&host.name)) {
        seen.add_observations(&host.name, world.look(&host.name, recovery_looks(host).iter()));
    }
    seen
}

fn planned(world: &World, silent: &BTreeSet<String>, make: impl Fn(&Seen) -> Result<Making, Vec<Refusal>>) -> Result<Plan, Vec<Refusal>> {
    let mut seen = seen(world, silent);
    loop {
        match make(&seen)? {
            Making::Made(plan) => return Ok(*plan),
            Making::LookFirst(asked) => {
                asked.into_iter().for_each(|(host, looks)| seen.add_observations(&host, world.look(&host, looks.iter())));
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn stage(world: &World, recovery: &Recovery, stage: RecoveryStage, snapshot: Option<&Artifact>) -> Result<Plan, Vec<Refusal>> {
    let wanted = Recovering { recovery, snapshot };
    planned(world, &recovery.lost, |seen| recover(&inputs(&world.cluster, &world.bundle), wanted, stage, seen))
}

pub(crate) fn undo(world: &World, recovery: &Recovery) -> Result<Plan, Vec<Refusal>> {
    planned(world, &recovery.lost, |seen| take_back(&world.cluster, recovery, seen))
}

/// Both stages, up to a new etcd of one member.
pub(crate) fn made_anew(world: &mut World, recovery: &Recovery, snapshot: Option<&Artifact>) {
    for part in [RecoveryStage::Aside, RecoveryStage::Anew] {
        let plan = stage(world, recovery, part, snapshot).unwrap();
        world.carry_out_all(&plan);
    }
}

/// Three control planes, of which two have lost their data, and with them the third its API server.
pub(crate) fn without_quorum() -> World {
    let mut world = bare().converge();
    for host in ["cp1", "cp2"] {
        world.host(host).paths.retain(|path, _| !path.starts_with("/var/lib/etcd/member"));
    }
    world
}

fn is_whole(world: &World) {
    let mut members = world.api.members.clone();
    members.sort();
    assert_eq!(members, ["cp1", "cp2", "cp3"]);
    assert_eq!(world.plan().changes().count(), 0);
}

#[test]
fn a_survivor_becomes_etcd_and_the_others_join_it() {
    let mut world = without_quorum();
    let candidates = candidates(&world.cluster, &seen(&world, &BTreeSet::new()));
    assert_eq!(best(&candidates).map(|best| best.host.as_str()), Some("cp3"));
    let (recovery, nodes) = (order("cp3", &[]), world.api.nodes.clone());
    made_anew(&mut world, &recovery, None);
    assert_eq!((world.api.members.as_slice(), &world.api.nodes), (["cp3".to_owned()].as_slice(), &nodes));
    assert!(world.hosts["cp3"].has("/var/lib/etcd/before-r-1/member/wal"), "what it had is kept");
    assert!(world.hosts.values().all(|host| !host.has("/var/lib/kokctl/recover")), "nothing says that it is under way");
    is_whole(&world.converge());
}

#[test]
fn nothing_is_put_aside_before_all_stand_still_and_nothing_ends_before_the_api_answers() {
    let mut world = without_quorum();
    let recovery = order("cp3", &[]);
    let plan = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
    let needs = |plan: &Plan, later: (&str, &str), earlier: (&str, &str)| {
        let earlier = step_id(earlier.0, "recovery", earlier.1);
        plan.needs(&step_id(later.0, "recovery", later.1)).iter().any(|(need, _)| need.id == earlier)
    };
    for (one, other) in [("cp1", "cp3"), ("cp3", "cp1"), ("cp2", "cp3"), ("cp3", "cp3")] {
        assert!(needs(&plan, (one, "still"), (other, "begun")) && needs(&plan, (one, "kept"), (other, "still")));
    }
    world.carry_out_all(&plan);
    let plan = stage(&world, &recovery, RecoveryStage::Anew, None).unwrap();
    assert!(needs(&plan, ("cp1", "ended"), ("cp3", "api-server")) && needs(&plan, ("cp3", "ended"), ("cp1", "ended")));
    assert!(plan.steps().all(|step| step.host == "cp3" || step.id.name() == "ended"));
}

/// Whoever goes on knows of it only what the hosts say.
#[test]
fn a_recovery_that_is_cut_off_anywhere_is_gone_on_with() {
    let broken = without_quorum();
    for cut in (0..24).step_by(2) {
        let mut world = broken.clone();
        let recovery = order("cp3", &[]);
        let plan = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
        let steps = plan.changes().count();
        world.carry_out_some(&plan, cut);
        if cut > steps {
            let plan = stage(&world, &recovery, RecoveryStage::Anew, None).unwrap();
            world.carry_out_some(&plan, cut - steps);
        }
        match recovery_of(&world.cluster, &seen(&world, &BTreeSet::new())).unwrap() {
            Some(begun) => {
                assert_eq!(begun, recovery);
                let refused = refusal_text(&check_reset(&world.cluster, &seen(&world, &BTreeSet::new())));
                assert!(refused.contains("recover -f FILE --continue"), "after {cut} steps: {refused}");
                made_anew(&mut world, &begun, None);
            }
            None if cut == 0 => made_anew(&mut world, &recovery, None),
            None => assert_eq!(world.api.members, ["cp3"], "after {cut} steps"),
        }
        assert!(world.hosts["cp3"].has("/var/lib/etcd/before-r-1/member/wal"), "after {cut} steps");
        is_whole(&world.converge());
    }
}

#[test]
fn it_is_taken_back_as_long_as_the_new_etcd_was_not_started() {
    let mut taken = 0;
    let before = without_quorum();
    for cut in 1..24 {
        let mut world = before.clone();
        let recovery = order("cp3", &[]);
        let plan = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
        let steps = plan.changes().count();
        world.carry_out_some(&plan, cut);
        if cut > steps {
            let plan = stage(&world, &recovery, RecoveryStage::Anew, None).unwrap();
            world.carry_out_some(&plan, cut - steps);
        }
        let cp3 = &world.hosts["cp3"];
        let has_ended = world.api.members.len() == 1 && !cp3.has("/var/lib/kokctl/recover");
        let was_started = cp3.has("/var/lib/kokctl/recovery/started") || has_ended;
        match undo(&world, &recovery) {
            Ok(plan) => {
                assert!(!was_started, "after {cut} steps");
                world.carry_out_all(&plan);
                taken += 1;
                let paths = |world: &World, host: &str| world.hosts[host].paths.keys().cloned().collect::<BTreeSet<_>>();
                for host in ["cp1", "cp2", "cp3"] {
                    assert_eq!(paths(&world, host), paths(&before, host), "{host} after {cut} steps");
                }
            }
            Err(refused) => {
                assert!(was_started && refusal_text(&refused).contains("can't be taken back"), "after {cut} steps: {refused:?}")
            }
        }
    }
    assert!(taken >= 9, "{taken}");
}

#[test]
fn hosts_that_are_given_up_are_kept_out_and_what_is_left_is_a_cluster() {
    let mut world = bare().converge();
    let recovery = order("cp3", &["cp1", "cp2"]);
    // They are off, so that nothing runs there.
    for host in ["cp1", "cp2"] {
        world.host(host).units.remove("kubelet.service");
    }
    let plan = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
    assert!(plan.steps().all(|step| step.host == "cp3"), "nothing is asked of those that are given up");
    world.carry_out_all(&plan);
    let plan = stage(&world, &recovery, RecoveryStage::Anew, None).unwrap();
    for lost in ["cp1", "cp2"] {
        let needs = |later: &str, earlier: &str| {
            let earlier = step_id("cp3", "recovery", earlier);
            plan.needs(&step_id("cp3", "recovery", later)).iter().any(|(need, _)| need.id == earlier)
        };
        assert!(needs(&format!("{lost}-gone"), &format!("{lost}-kept-out")) && needs("ended", &format!("{lost}-gone")));
        // The model's cluster has no policy that keeps a node out.
        world.api.nodes.remove(lost);
    }
    world.carry_out_all(&plan);
    assert!(!world.api.nodes.contains_key("cp1") && !world.api.nodes.contains_key("cp2"));
    world.cluster = world.cluster.without(&["cp1", "cp2"]);
    let world = world.converge();
    assert_eq!((world.plan().changes().count(), world.api.members.as_slice()), (0, ["cp3".to_owned()].as_slice()));
}

#[test]
fn a_snapshot_is_restored_where_no_member_has_anything() {
    let mut world = without_quorum();
    world.host("cp3").paths.retain(|path, _| !path.starts_with("/var/lib/etcd/member"));
    let seen = seen(&world, &BTreeSet::new());
    let refused = check_best(&candidates(&world.cluster, &seen)).unwrap_err();
    assert!(refused.hint.unwrap().contains("--from"));
    let artifact = |sum: &str| Artifact { title: "s".into(), path: "/s.db".into(), size: 1, sha256: sum.repeat(64), supply: Supply::Sent };
    let recovery = Recovery { origin: Origin::Snapshot { sha256: "a".repeat(64) }, ..order("cp2", &[]) };
    for (wrong, what) in [(None, "needed once more"), (Some(artifact("b")), "another snapshot")] {
        let refused = refusal_text(&stage(&world, &recovery, RecoveryStage::Anew, wrong.as_ref()).unwrap_err());
        assert!(refused.contains(what), "{refused}");
    }
    made_anew(&mut world, &recovery, Some(&artifact("a")));
    is_whole(&world.converge());
}

#[test]
fn a_backup_is_restored_in_the_place_of_an_etcd_that_works() {
    let mut world = bare().converge();
    let before = seen(&world, &BTreeSet::new());
    assert!(refusal_text(&check_recovery(&world.cluster, &[], &before)).contains("nothing is recovered that does"));
    assert_eq!(refusal_text(&check_restore(&world.cluster, &[], &before)), "");
    let artifact = |sum: &str| Artifact { title: "s".into(), path: "/s.db".into(), size: 1, sha256: sum.repeat(64), supply: Supply::Sent };
    let recovery = Recovery { origin: Origin::Backup { sha256: "a".repeat(64), is_elsewhere: false }, least: 0, ..order("cp2", &[]) };
    for (wrong, what) in [(None, "the backup is needed once more"), (Some(artifact("b")), "another backup")] {
        let refused = stage(&world, &recovery, RecoveryStage::Aside, wrong.as_ref()).unwrap_err();
        assert!(refusal_text(&refused).contains(what) && refused[0].hint.as_ref().unwrap().contains("kokctl restore FILE --continue"));
    }
    made_anew(&mut world, &recovery, Some(&artifact("a")));
    is_whole(&world.converge());
}

#[test]
fn a_restore_is_refused_where_members_are_left_out_of_the_file() {
    let mut world = bare().converge();
    world.cluster = world.cluster.without(&["cp3"]);
    let seen = seen(&world, &BTreeSet::new());
    assert!(refusal_text(&check_restore(&world.cluster, &[], &seen)).contains("etcd has a member cp3 that the file does not have"));
}

#[test]
fn nothing_is_recovered_that_works_or_may_work_again() {
    let world = bare().converge();
    let refused = |seen: &Seen, lost: &[&str]| {
        let lost: Vec<String> = lost.iter().map(|host| (*host).to_owned()).collect();
        refusal_text(&check_recovery(&world.cluster, &lost, seen))
    };
    let whole = seen(&world, &BTreeSet::new());
    assert!(refused(&whole, &[]).contains("kokctl replace"), "{}", refused(&whole, &[]));
    // Two of three run, and have not found a leader.
    let peers = ["11", "12", "13"].map(|last| EtcdPeer { peer_url: format!("https://10.20.0.{last}:2380"), ..EtcdPeer::default() });
    let leaderless = EtcdMember { members: peers.into(), ..EtcdMember::default() };
    let with = |hosts: &[&str]| {
        let mut seen = seen(&without_quorum(), &BTreeSet::new());
        for host in hosts {
            seen.add_observations(host, Observations { etcd: Some(EtcdState::Ready(leaderless.clone())), ..Observations::default() });
        }
        seen
    };
    assert!(refused(&with(&["cp2", "cp3"]), &[]).contains("2 of 3 members"));
    assert_eq!(refused(&with(&["cp3"]), &[]), "");
    // From here nobody answers there, and the survivor reaches a member that works.
    let mut apart = with(&["cp3"]);
    let url = "https://10.20.0.11:2379".to_owned();
    apart.add_observations("cp3", Observations { etcd_peers: [(url, "healthy".to_owned())].into(), ..Observations::default() });
    assert!(refused(&apart, &["cp1"]).contains("cp1 is not lost"), "{}", refused(&apart, &["cp1"]));
    assert!(!refused(&apart, &[]).contains("cp1 is not lost"));
}

pub(crate) fn candidate(host: &str, revision: Option<u64>, index: u64, last: i64) -> Candidate {
    Candidate {
        host: host.to_owned(),
        runs: true,
        revision,
        term: Some(1),
        index: Some(index),
        version: None,
        cluster_id: Some("1".to_owned()),
        last_write: Some(last),
        bytes: Some(1000),
        free: 1 << 40,
    }
}

#[test]
fn the_one_with_most_is_taken_and_nobody_guesses() {
    let name = |candidates: &[Candidate]| best(candidates).map(|best| best.host.clone());
    let (a, b) = (candidate("a", Some(7), 9, 5), candidate("b", Some(8), 1, 1));
    assert_eq!(name(&[a.clone(), b.clone()]).as_deref(), Some("b"), "by its revision");
    assert_eq!(name(&[a.clone(), candidate("b", Some(7), 10, 1)]).as_deref(), Some("b"), "then by what it has applied");
    assert_eq!(name(&[candidate("b", Some(7), 9, 4), a.clone()]).as_deref(), Some("a"), "then by its last write");
    assert_eq!(name(&[a.clone(), candidate("b", Some(7), 9, 5)]).as_deref(), Some("a"), "then by the file");
    assert_eq!(name(&[a.clone(), Candidate { bytes: None, ..b.clone() }]).as_deref(), Some("a"), "of those that have data");
    assert_eq!(name(&[a.clone(), candidate("b", None, 9, 5)]), None, "nobody knows what b has");
    assert_eq!(name(&[candidate("b", None, 9, 5)]).as_deref(), Some("b"), "there is no choice");
    assert_eq!(name(&[a.clone(), Candidate { cluster_id: Some("2".into()), ..b }]), None, "they are of two");
    assert!(check_best(&[a, candidate("b", None, 9, 5)]).unwrap_err().hint.unwrap().contains("--member"));
}

#[test]
fn what_was_chosen_has_data_and_room() {
    let refused = |host: &str, candidates: &[Candidate]| refusal_text(&check_chosen(&order(host, &[]), candidates));
    let a = candidate("a", Some(7), 9, 5);
    assert_eq!(refused("a", std::slice::from_ref(&a)), "");
    assert!(refused("b", std::slice::from_ref(&a)).contains("those that do are a"));
    assert!(refused("a", &[Candidate { bytes: None, ..a.clone() }]).contains("has no data"));
    let full = refused("a", &[Candidate { bytes: Some(1_000_000_000), free: 2_000_000_000, ..a }]);
    assert!(full.contains("2000 MB free") && full.contains("3128 MB"), "{full}");
}

#[test]
fn an_order_is_read_as_it_was_written_and_nothing_else_is_one() {
    let sha256 = "0a".repeat(32);
    let (snapshot, backup) = (Origin::Snapshot { sha256: sha256.clone() }, Origin::Backup { sha256, is_elsewhere: true });
    let of_file = |origin| Recovery { origin, ..order("cp3", &["cp1", "cp2"]) };
    for recovery in [order("cp3", &[]), of_file(snapshot), of_file(backup)] {
        assert_eq!(Recovery::parse(&recovery.text()), Some(recovery));
    }
    let text = order("cp3", &["cp1"]).text();
    for (from, to) in [
        ("id r-1", "id ../../etc"),
        ("id r-1", "id r-1\nid r-2"),
        ("host cp3", "host cp3'; reboot"),
        ("host cp3\n", ""),
        ("from member", "from elsewhere"),
        ("from member", "from snapshot 12"),
        ("from member", "from backup 12"),
        ("lost cp1", "lost $(id)"),
        ("revision 7", "revision 7; reboot"),
        ("revision 7\n", ""),
    ] {
        assert_eq!(Recovery::parse(&text.replace(from, to)), None, "{to}");
    }
    assert_eq!(Recovery::parse(&"x".repeat(5000)), None);
}

#[test]
fn hosts_that_say_different_things_stop_everything() {
    let mut world = without_quorum();
    let say = |world: &mut World, host: &str, text: &str| world.host(host).write("/var/lib/kokctl/recover", 0o644, text);
    say(&mut world, "cp1", &order("cp3", &["cp2"]).text());
    say(&mut world, "cp3", &order("cp3", &[]).text());
    let begun = |world: &World| recovery_of(&world.cluster, &seen(world, &BTreeSet::new()));
    assert_eq!(begun(&world).unwrap(), Some(order("cp3", &["cp2"])), "whom any of them gives up is given up");
    say(&mut world, "cp1", &Recovery { id: "r-2".into(), ..order("cp1", &[]) }.text());
    assert!(begun(&world).unwrap_err().what.contains("two recoveries"));
    say(&mut world, "cp1", "nonsense");
    assert!(begun(&world).unwrap_err().what.contains("can't be read"));
    assert!(!world.hosts["cp1"].has(MEMBER_DATA));
}
