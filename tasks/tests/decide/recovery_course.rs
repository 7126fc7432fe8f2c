//! By what a recovery goes on and is taken back: what the hosts have, whoever has cut off what.

use std::collections::BTreeSet;

use kok_tasks::observe::{EtcdMember, EtcdPeer, EtcdState, Observations};
use kok_tasks::plan::{RecoveryStage, Seen};
use kok_tasks::preconditions::{check_best, check_chosen, check_recovery, recovery_of};
use kok_tasks::recovery::{Candidate, Course, Recovery, best};

use crate::bootstrap::{bare, refusal_text};
use crate::recovery::{candidate, made_anew, order, seen, stage, undo, without_quorum};
use crate::support::world::World;

fn course(world: &World, host: &str) -> Course {
    Course::on_host(&order("cp3", &[]), host, &seen(world, &BTreeSet::new())).unwrap()
}

#[test]
fn how_far_it_has_come_is_what_the_host_has() {
    let (mut world, recovery) = (without_quorum(), order("cp3", &[]));
    assert_eq!(course(&world, "cp3"), Course::Untouched);
    let mut courses = BTreeSet::new();
    for part in [RecoveryStage::Aside, RecoveryStage::Anew] {
        let mut last = course(&world, "cp3");
        for _ in 0..20 {
            let plan = stage(&world, &recovery, part, None).unwrap();
            if plan.changes().count() == 0 {
                break;
            }
            world.carry_out_some(&plan, 1);
            let next = course(&world, "cp3");
            assert!(next >= last, "{next:?} after {last:?}");
            courses.insert(next);
            last = next;
        }
    }
    let all = [Course::Untouched, Course::Begun, Course::Aside, Course::Made, Course::Started, Course::Ended];
    courses.insert(Course::Untouched);
    assert_eq!(courses.into_iter().collect::<Vec<_>>(), all);
    // What another recovery has left says nothing of this one.
    let other = Recovery { id: "r-2".into(), ..recovery };
    assert_eq!(Course::on_host(&other, "cp3", &seen(&world, &BTreeSet::new())), Some(Course::Untouched));
    // Cut off between the two last things that are done, it has not ended, and is not taken back.
    world.host("cp3").write("/var/lib/kokctl/recover", 0o600, &order("cp3", &[]).text());
    assert_eq!(course(&world, "cp3"), Course::Works);
    assert!(refusal_text(&undo(&world, &order("cp3", &[])).unwrap_err()).contains("can't be taken back"));
    made_anew(&mut world, &order("cp3", &[]), None);
    assert_eq!(course(&world, "cp3"), Course::Ended);
}

/// All have their data again but the one that would be made anew, and they find each other: what they write now would be put aside by who goes on.
#[test]
fn one_that_was_taken_back_in_part_is_taken_back_and_not_gone_on_with() {
    let mut world = bare().converge();
    let recovery = order("cp3", &[]);
    let aside = stage(&without_quorum(), &recovery, RecoveryStage::Aside, None).unwrap();
    world.carry_out_all(&aside);
    let back = undo(&world, &recovery).unwrap();
    let last = back.changes().last().map(|(step, _)| step.host.clone());
    assert_eq!(last.as_deref(), Some("cp3"), "as long as another one says so, it knows how far it has come");
    world.carry_out_some(&back, 2);
    assert_eq!((course(&world, "cp1"), course(&world, "cp3")), (Course::Untouched, Course::Aside));
    let begun = recovery_of(&world.cluster, &seen(&world, &BTreeSet::new())).unwrap();
    assert_eq!(begun.as_ref(), Some(&recovery));
    let refused = refusal_text(&stage(&world, &recovery, RecoveryStage::Aside, None).unwrap_err());
    assert!(refused.contains("etcd works") && refused.contains("--undo"), "{refused}");
    let back = undo(&world, &recovery).unwrap();
    world.carry_out_all(&back);
    assert_eq!(course(&world, "cp3"), Course::Untouched);
    assert_eq!(recovery_of(&world.cluster, &seen(&world, &BTreeSet::new())).unwrap(), None);
}

/// It was off while the others were taken back, and what it has aside is its member's still.
#[test]
fn a_host_that_was_away_is_taken_back_when_it_is_there_again() {
    let mut world = bare().converge();
    let recovery = order("cp3", &[]);
    let aside = stage(&without_quorum(), &recovery, RecoveryStage::Aside, None).unwrap();
    world.carry_out_all(&aside);
    let without = order("cp3", &["cp1"]);
    let back = undo(&world, &without).unwrap();
    world.carry_out_all(&back);
    assert_eq!((course(&world, "cp1"), course(&world, "cp3")), (Course::Aside, Course::Untouched));
    let begun = recovery_of(&world.cluster, &seen(&world, &BTreeSet::new())).unwrap();
    assert_eq!(begun.as_ref(), Some(&recovery));
    let back = undo(&world, &recovery).unwrap();
    assert_eq!(back.changes().map(|(step, _)| step.host.as_str()).collect::<Vec<_>>(), ["cp1"]);
    world.carry_out_all(&back);
    assert_eq!(course(&world, "cp1"), Course::Untouched);
}

#[test]
fn what_is_gone_is_not_begun_with() {
    let recovery = order("cp3", &[]);
    let mut world = without_quorum();
    world.host("cp3").paths.retain(|path, _| !path.starts_with("/var/lib/etcd/member"));
    let refused = |world: &World, part| refusal_text(&stage(world, &recovery, part, None).unwrap_err());
    let said = refused(&world, RecoveryStage::Aside);
    assert!(said.contains("what cp3 had of etcd is gone") && said.contains("/var/lib/etcd/member/wal"), "{said}");
    let mut world = without_quorum();
    let aside = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
    world.carry_out_all(&aside);
    world.host("cp3").paths.retain(|path, _| !path.starts_with("/var/lib/etcd/before-r-1/member"));
    let said = refused(&world, RecoveryStage::Anew);
    assert!(said.contains("before-r-1/member/wal") && said.contains("--undo"), "{said}");
}

/// Two of three are founded anew by the manifests that a power cut has brought back, on nothing: what is in the place of the data is none of them.
#[test]
fn what_is_there_without_a_word_is_not_the_new_etcd() {
    let (mut world, recovery) = (without_quorum(), order("cp3", &[]));
    let aside = stage(&world, &recovery, RecoveryStage::Aside, None).unwrap();
    world.carry_out_all(&aside);
    world.host("cp3").folder("/var/lib/etcd/member/wal", 0o700);
    let plan = stage(&world, &recovery, RecoveryStage::Anew, None).unwrap();
    assert!(plan.changes().any(|(step, _)| step.id.name() == "new-etcd"), "it is made all the same");
}

#[test]
fn members_that_the_file_does_not_have_are_named() {
    let world = without_quorum();
    let peer = |name: &str, last: &str| EtcdPeer {
        name: name.to_owned(),
        peer_url: format!("https://10.20.0.{last}:2380"),
        is_started: !name.is_empty(),
        ..EtcdPeer::default()
    };
    let members = [peer("cp1", "11"), peer("cp2", "12"), peer("cp3", "13"), peer("cp4", "14"), peer("cp5", "15"), peer("", "16")];
    let leaderless = EtcdMember { members: members.into(), ..EtcdMember::default() };
    let with = |lost: &[&str]| {
        let mut seen: Seen = seen(&world, &BTreeSet::new());
        seen.add_observations("cp3", Observations { etcd: Some(EtcdState::Ready(leaderless.clone())), ..Observations::default() });
        let lost: Vec<String> = lost.iter().map(|name| (*name).to_owned()).collect();
        refusal_text(&check_recovery(&world.cluster, &lost, &seen))
    };
    let said = with(&[]);
    assert!(said.contains("a member cp4 that the file does not have") && said.contains("cp5") && said.contains("--lost cp4"), "{said}");
    assert!(said.contains("https://10.20.0.14:2380") && !said.contains("10.20.0.16"), "one that was never started has nothing: {said}");
    assert!(!with(&["cp4"]).contains("cp4") && with(&["cp4"]).contains("member cp5"));
    assert_eq!(with(&["cp4", "cp5"]), "");
    assert!(with(&["cp4", "cp5", "cp6"]).contains("cp6 is no member of this etcd"));
}

/// It runs on what was deleted below it, or began again with nothing.
#[test]
fn a_member_whose_data_were_wiped_is_not_taken() {
    let name = |candidates: &[Candidate]| best(candidates).map(|best| best.host.clone());
    let wiped = Candidate { bytes: None, ..candidate("a", Some(9000), 9, 5) };
    let (fresh, whole) = (candidate("b", Some(1), 4, 9), candidate("c", Some(3917), 9, 5));
    assert_eq!(name(&[wiped.clone(), fresh.clone(), whole.clone()]).as_deref(), Some("c"));
    let refused = |host: &str, candidates: &[Candidate]| refusal_text(&check_chosen(&order(host, &[]), candidates));
    let all = [wiped.clone(), fresh.clone(), whole.clone(), candidate("d", Some(3000), 9, 5)];
    let said = refused("a", &all);
    assert!(said.contains("speaks of revision 9000") && said.contains("--member c") && said.contains("3917"), "{said}");
    assert!(refused("b", &all).contains("nothing was ever written"));
    // There is no choice, and what there is is nothing.
    assert_eq!(name(std::slice::from_ref(&fresh)), None);
    assert!(check_best(&[wiped, fresh.clone()]).unwrap_err().hint.unwrap().contains("--from"));
    assert!(refused("b", &[fresh]).contains("--from"));
    // Less than was agreed to.
    assert!(refused("c", &[Candidate { revision: Some(3), ..whole.clone() }]).contains("end with revision 3, and had 7"));
    assert_eq!(refused("c", &[whole]), "");
}
