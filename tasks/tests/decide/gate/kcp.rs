//! What Cluster API's control plane provider tests of the same question (`TestTargetEtcdClusterHealthy`), by meaning. Where its answer is another, it
//! stands here with the reason.

use super::*;

/// A cluster of so many members, the first of which is to go, with so many others that fail.
fn remove(voters: usize, others_fail: usize, first: Kind) -> bool {
    let others = voters - 1 - others_fail;
    let kinds: Vec<Kind> =
        [first].into_iter().chain(std::iter::repeat_n(Kind::Well, others)).chain(std::iter::repeat_n(Kind::Dead, others_fail)).collect();
    let why = if first == Kind::Dead { Removal::Dead } else { Removal::Leaving };
    let op = Disruption::RemoveMember { member: id(0), why };
    gate(&op, Need::Wanted, &view_of(&kinds, kinds.len().checked_sub(1))) == Ruling::Allow
}

#[test]
fn one_goes_while_more_than_half_of_the_rest_are_well() {
    // Voters, others that fail, and whether Cluster API removes one.
    let cases =
        [(1, 0, false), (2, 0, true), (2, 1, false), (3, 0, true), (3, 1, false), (5, 1, true), (5, 2, false), (7, 2, true), (7, 3, false)];
    for (voters, fail, theirs) in cases {
        assert_eq!(remove(voters, fail, Kind::Well), theirs, "{fail} of {voters}, the one that goes works");
        // etcd of two without one of them agrees on nothing any more, so there is nobody who could remove it.
        let ours = theirs && voters != 2;
        assert_eq!(remove(voters, fail, Kind::Dead), ours, "{fail} of {voters}, the one that goes is dead");
    }
}

/// Members that are missing from the list are none: the rest counts alone.
#[test]
fn what_stands_in_no_list_does_not_count() {
    for (listed, fail, theirs) in [(2, 0, true), (4, 1, true), (6, 2, true)] {
        assert_eq!(remove(listed, fail, Kind::Well), theirs, "{fail} of {listed}");
    }
    let op = Disruption::RemoveMember { member: 99, why: Removal::Dead };
    let ruling = gate(&op, Need::Wanted, &view_of(&[Kind::Well; 3], Some(0)));
    assert_eq!(ruling, Ruling::Allow, "it has left already");
    let op = Disruption::Promote { host: "h9".to_owned() };
    assert!(matches!(gate(&op, Need::Wanted, &view_of(&[Kind::Well; 3], Some(0))), Ruling::Wait(Cause::NotListed(_))));
}

#[test]
fn one_comes_while_all_are_well() {
    let add = |voters: usize, fail: usize| {
        let kinds: Vec<Kind> = std::iter::repeat_n(Kind::Well, voters - fail).chain(std::iter::repeat_n(Kind::Dead, fail)).collect();
        gate(&Disruption::AddLearner { host: "new".to_owned() }, Need::Wanted, &view_of(&kinds, None)) == Ruling::Allow
    };
    let cases = [(0, 0, true), (1, 0, true), (1, 1, false), (2, 0, true), (2, 1, false), (3, 0, true), (3, 1, false), (4, 0, true)];
    for (voters, fail, theirs) in cases.into_iter().chain([(4, 2, false), (5, 0, true), (5, 2, false)]) {
        assert_eq!(add(voters, fail), theirs, "{fail} of {voters}");
    }
    // Theirs goes from four to five with one that fails; ours removes the dead one first.
    assert!(!add(4, 1));
}

#[test]
fn nobody_comes_or_goes_beside_a_learner_or_a_member_that_starts() {
    let learner = view_of(&[Kind::Well, Kind::Well, Kind::CaughtUp], Some(0));
    let starts = view_of(&[Kind::Well, Kind::Well, Kind::Unstarted], Some(0));
    let add = Disruption::AddLearner { host: "new".to_owned() };
    let leave = Disruption::RemoveMember { member: id(1), why: Removal::Leaving };
    for (op, view) in [(&add, &learner), (&leave, &learner), (&add, &starts), (&leave, &starts)] {
        assert_ne!(gate(op, Need::Wanted, view), Ruling::Allow, "{op:?} {view:?}");
    }
}

#[test]
fn alarms_of_members_that_stay_count() {
    // Theirs takes a member with any alarm for ill. One whose room has run out goes on voting, so ours lets another leave; one whose data are
    // corrupt is ill, and stops everything: theirs would remove it, but which of them is right is for people to say.
    let mut view = view_of(&[Kind::Well; 3], Some(0));
    view.members[2].state = MemberState::Alarmed(EtcdAlarm::Corrupt);
    for place in [1, 2] {
        let op = Disruption::RemoveMember { member: id(place), why: Removal::Leaving };
        assert_eq!(gate(&op, Need::Wanted, &view), Ruling::Refuse(Cause::Corrupt(host(2))));
    }
}
