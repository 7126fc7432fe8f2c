//! Room in etcd: which members are defragmented, in which order, and what ends an alarm.

use kok_tasks::change::Verdict;
use kok_tasks::gate::{Disruption, Need};
use kok_tasks::observe::{EtcdMember, EtcdState, Observations};
use kok_tasks::operations::{DefragmentMember, DisarmAlarms, Operation};
use kok_tasks::plan::{Action, EtcdRoom, Making, Plan, Refusal, Seen, etcd_room, is_fragmented};

use crate::bootstrap::{bare, refusal_text};
use crate::support::world::World;

const MIB: u64 = 1 << 20;

/// The members of a cluster of three whose second one leads.
fn seen(world: &World, change: impl Fn(&str, &mut EtcdMember)) -> Seen {
    let mut seen = world.seen();
    for (host, id) in [("cp1", 1), ("cp2", 2), ("cp3", 3)] {
        let mut member = EtcdMember {
            id,
            leader: 2,
            has_leader: true,
            revision: 100 + id,
            size: 100 * MIB,
            in_use: 20 * MIB,
            quota: Some(100 * MIB),
            ..EtcdMember::default()
        };
        change(host, &mut member);
        seen.add_observations(host, Observations { etcd: Some(EtcdState::Ready(member)), ..Observations::default() });
    }
    seen
}

fn made(world: &World, wanted: &EtcdRoom<'_>, seen: &Seen) -> Result<Plan, Vec<Refusal>> {
    match etcd_room(&world.cluster, wanted, seen)? {
        Making::Made(plan) => Ok(*plan),
        other => panic!("{other:?}"),
    }
}

/// The steps that change something, each with those that it waits for.
fn order(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let needs = |id| plan.needs(id).into_iter().map(|(step, _)| step.id.to_string()).collect();
    let mut steps: Vec<(String, Vec<String>)> = plan.changes().map(|(step, _)| (step.id.to_string(), needs(&step.id))).collect();
    steps.sort();
    steps
}

#[test]
fn members_are_defragmented_one_at_a_time_and_the_leader_last() {
    let world = bare().converge();
    let plan = made(&world, &EtcdRoom::Defragment(&[]), &seen(&world, |_, _| {})).unwrap();
    let step = |host: &str| format!("{host}/etcd/defragmented");
    let expected = [(step("cp1"), vec![]), (step("cp2"), vec![step("cp3")]), (step("cp3"), vec![step("cp1")])];
    assert_eq!(order(&plan), expected);
    for (step, _) in plan.changes() {
        let disturbs = Disruption::Defragment { host: step.host.clone() };
        assert_eq!(step.gate, Some((disturbs, Need::Wanted)), "the gate is asked before each");
    }
}

#[test]
fn what_would_hardly_become_smaller_is_left_alone() {
    let world = bare().converge();
    let some = seen(&world, |host, member| member.in_use = if host == "cp1" { 20 * MIB } else { 95 * MIB });
    let plan = made(&world, &EtcdRoom::Defragment(&[]), &some).unwrap();
    assert_eq!(order(&plan).len(), 1);
    let hosts = ["cp2".to_owned(), "cp3".to_owned()];
    assert!(made(&world, &EtcdRoom::Defragment(&hosts), &some).unwrap().is_empty());
    let of = |size, in_use| is_fragmented(&EtcdMember { size, in_use, ..EtcdMember::default() });
    assert_eq!(
        [of(100 * MIB, 90 * MIB), of(100 * MIB, 91 * MIB), of(8 * MIB, 4 * MIB), of(7 * MIB, 4 * MIB), of(MIB, 2 * MIB)],
        [true, false, true, false, false]
    );
}

#[test]
fn a_full_etcd_is_compacted_defragmented_and_then_disarmed() {
    let world = bare().converge();
    let full =
        seen(&world, |_, member| member.errors = vec!["memberID:1 alarm:NOSPACE ".to_owned(), "memberID:3 alarm:NOSPACE ".to_owned()]);
    let plan = made(&world, &EtcdRoom::Disarm, &full).unwrap();
    let defragmented = ["cp1", "cp2", "cp3"].map(|host| format!("{host}/etcd/defragmented"));
    let steps = order(&plan);
    let disarmed = steps.iter().find(|(step, _)| step == "cp2/etcd/disarmed").unwrap();
    assert_eq!((steps.len(), disarmed.1.len()), (4, 3));
    assert!(defragmented.iter().all(|step| disarmed.1.contains(step)), "{steps:?}");
    for (step, _) in plan.changes() {
        match &step.action {
            Action::Operation(Operation::DefragmentMember(DefragmentMember { compact, smaller_than })) => {
                assert_eq!((*compact, *smaller_than), (Some(103), 100 * MIB), "to the last revision that any has");
                assert!(matches!(step.gate, Some((_, Need::Repair))));
            }
            Action::Operation(Operation::DisarmAlarms(DisarmAlarms { members })) => assert_eq!(*members, [1, 3].into()),
            other => panic!("{other:?}"),
        }
    }
    // Whoever ordered it died after the first member.
    let rest = seen(&world, |host, member| {
        member.errors = vec!["memberID:1 alarm:NOSPACE ".to_owned()];
        member.size = if host == "cp1" { 21 * MIB } else { 100 * MIB };
    });
    assert_eq!(order(&made(&world, &EtcdRoom::Disarm, &rest).unwrap()).len(), 3);
    assert!(made(&world, &EtcdRoom::Disarm, &seen(&world, |_, _| {})).unwrap().is_empty(), "there is no alarm");
}

#[test]
fn who_is_ill_is_named() {
    let world = bare().converge();
    let corrupt = seen(&world, |_, member| member.errors = vec!["memberID:3 alarm:CORRUPT ".to_owned()]);
    for wanted in [EtcdRoom::Defragment(&[]), EtcdRoom::Disarm] {
        let refusals = made(&world, &wanted, &corrupt).unwrap_err();
        assert!(refusal_text(&refusals).contains("CORRUPT") && refusal_text(&refusals).contains("docs/etcd.md"), "{refusals:?}");
    }
    let mut silent = seen(&world, |_, _| {});
    silent.add_observations("cp3", Observations { etcd: Some(EtcdState::NotReady("refused".to_owned())), ..Observations::default() });
    let refusals = made(&world, &EtcdRoom::Defragment(&[]), &silent).unwrap_err();
    assert!(refusals.len() == 1 && refusal_text(&refusals).contains("host cp3; refused"), "{refusals:?}");
    let worker = world.cluster.hosts.iter().find(|host| !host.roles.etcd).unwrap().name.clone();
    let refusals = made(&world, &EtcdRoom::Defragment(std::slice::from_ref(&worker)), &seen(&world, |_, _| {})).unwrap_err();
    assert!(refusal_text(&refusals).contains(&format!("{worker} has no member of etcd")), "{refusals:?}");
}

#[test]
fn the_file_says_whether_it_is_done() {
    let operation = Operation::DefragmentMember(DefragmentMember { compact: None, smaller_than: 100 });
    let of = |size, errors: &[&str]| Observations {
        etcd: Some(EtcdState::Ready(EtcdMember {
            size,
            errors: errors.iter().map(|error| (*error).to_owned()).collect(),
            ..EtcdMember::default()
        })),
        ..Observations::default()
    };
    assert_eq!(operation.diff(&of(99, &[])), Verdict::Same);
    assert!(matches!(operation.diff(&of(100, &[])), Verdict::Differs(_)));
    assert_eq!(operation.diff(&Observations::default()), Verdict::Unseen);
    let disarmed = Operation::DisarmAlarms(DisarmAlarms { members: [1].into() });
    assert_eq!(disarmed.diff(&of(1, &[])), Verdict::Same);
    assert!(matches!(disarmed.diff(&of(1, &["memberID:1 alarm:NOSPACE "])), Verdict::Differs(_)));
}
