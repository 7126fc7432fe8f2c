//! The gate against an independent model that enumerates who may be down, and one test for each of its conditions.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::cell::Cell;

use super::rules::Condition;
use super::*;
use crate::observe::EtcdAlarm;

#[path = "gate/kcp.rs"]
mod kcp;
#[path = "gate/nodes.rs"]
mod nodes;
#[path = "gate/views.rs"]
mod views;

thread_local! {
    static TAKEN_OUT: Cell<Option<Condition>> = const { Cell::new(None) };
}

/// Whether this thread's gate is without a condition.
pub(super) fn is_taken_out(condition: Condition) -> bool {
    TAKEN_OUT.get() == Some(condition)
}

/// How a member of the model is; the first five have a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Well,
    Full,
    Doubtful,
    Dead,
    Unstarted,
    CaughtUp,
    Behind,
    DeadLearner,
}

const KINDS: [Kind; 8] =
    [Kind::Well, Kind::Full, Kind::Doubtful, Kind::Dead, Kind::Unstarted, Kind::CaughtUp, Kind::Behind, Kind::DeadLearner];

impl Kind {
    fn has_vote(self) -> bool {
        self < Self::CaughtUp
    }

    fn answers(self) -> bool {
        matches!(self, Self::Well | Self::Full)
    }

    fn member(self, place: usize, leader: bool) -> Member {
        let state = match self {
            Self::Well | Self::CaughtUp | Self::Behind => MemberState::Healthy,
            Self::Full => MemberState::Alarmed(EtcdAlarm::NoSpace),
            Self::Doubtful => MemberState::Doubtful,
            Self::Dead | Self::DeadLearner => MemberState::Dead,
            Self::Unstarted => MemberState::Unstarted,
        };
        let behind = if self == Self::Behind { 1_001 } else { 0 };
        let (id, host, learner) = (id(place), Some(host(place)), !self.has_vote());
        Member { id, host, learner, leader, state, host_is_away: false, behind, version: None }
    }
}

fn host(place: usize) -> String {
    format!("h{place}")
}

fn id(place: usize) -> u64 {
    place as u64 + 1
}

fn view_of(kinds: &[Kind], leader: Option<usize>) -> View {
    let members = kinds.iter().enumerate().map(|(place, kind)| kind.member(place, leader == Some(place))).collect();
    View { members, lists: Lists::Agree, planes: Vec::new(), nodes: Vec::new(), serial: 1, under_way: Vec::new() }
}

/// Every multiset of up to so many members.
fn multisets(most: usize) -> Vec<Vec<Kind>> {
    let mut all: Vec<Vec<Kind>> = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..most {
        let until = all.len();
        for place in from..until {
            let last = all[place].last().copied().unwrap_or(Kind::Well);
            for kind in KINDS.into_iter().filter(|kind| *kind >= last) {
                all.push(all[place].iter().copied().chain([kind]).collect());
            }
        }
        from = until;
    }
    all
}

/// Places at which the kinds differ: of several members of one kind, any stands for all, but for a leader among them.
fn targets(kinds: &[Kind], leader: Option<usize>) -> Vec<usize> {
    (0..kinds.len()).filter(|place| *place == 0 || kinds[*place] != kinds[place - 1] || leader == Some(place - 1)).collect()
}

fn ops(place: usize) -> Vec<Disruption> {
    let why = [Removal::Leaving, Removal::Dead, Removal::Unstarted, Removal::Learner];
    let removals = why.into_iter().map(|why| Disruption::RemoveMember { member: id(place), why });
    let others = [
        Disruption::AddLearner { host: "new".to_owned() },
        Disruption::Promote { host: host(place) },
        Disruption::MoveLeader { from: id(place) },
        Disruption::RestartMember { host: host(place) },
        Disruption::StopHost { host: host(place) },
        Disruption::Defragment { host: host(place) },
    ];
    removals.chain(others).collect()
}

/// Whether some majority of the voters is among those that answer: by trying every set of voters that is more than half of them.
fn has_majority(voters: u32, answer: u32) -> bool {
    let (mut set, mut found) = (voters, false);
    loop {
        found |= set.count_ones() * 2 > voters.count_ones() && set & !answer == 0;
        if set == 0 {
            return found;
        }
        set = (set - 1) & voters;
    }
}

/// What the gate should say, by who answers before, while and after it is done.
fn model_allows(op: &Disruption, target: usize, need: Need, kinds: &[Kind], leader: Option<usize>) -> bool {
    let of =
        |is: &dyn Fn(Kind) -> bool| kinds.iter().enumerate().filter(|(_, kind)| is(**kind)).fold(0_u32, |set, (place, _)| set | 1 << place);
    let (voters, answer) = (of(&Kind::has_vote), of(&Kind::answers));
    let own = 1_u32 << target;
    let learners = of(&|kind| !kind.has_vote());
    let is_full = kinds.contains(&Kind::Full);
    let kind = kinds.get(target).copied();
    let works = has_majority(voters, answer);
    match op {
        Disruption::AddLearner { .. } => !is_full && learners == 0 && voters & !answer == 0 && voters.count_ones() < 7,
        Disruption::Promote { .. } => {
            let after = voters | own;
            let works_after = has_majority(after, answer & !own) || (voters.count_ones() == 1 && works);
            // One that has its vote keeps it.
            kind.is_some_and(Kind::has_vote) || (!is_full && kind == Some(Kind::CaughtUp) && works_after)
        }
        Disruption::RemoveMember { why, .. } => match why {
            Removal::Leaving => {
                let after = voters & !own;
                learners == 0 && after != 0 && works && has_majority(after, answer & !own) && leader != Some(target)
            }
            Removal::Dead => matches!(kind, Some(Kind::Dead | Kind::DeadLearner)) && works,
            Removal::Unstarted => kind == Some(Kind::Unstarted) && works,
            Removal::Learner => learners & own != 0 && works,
        },
        Disruption::MoveLeader { .. } => !is_full && works && voters & answer & !own != 0,
        _ => {
            let frees = matches!(op, Disruption::Defragment { .. });
            let is_lost_anyway = voters & answer == 0 || matches!(kind, Some(Kind::Dead | Kind::DeadLearner));
            // It may never come back, and in a cluster of two either is needed.
            let goes_on = has_majority(voters, answer & !own) && voters.count_ones() != 2;
            let others_are_well = need == Need::Repair || voters & !own & !answer == 0;
            let alone = voters.count_ones() == 1;
            is_lost_anyway || ((!is_full || frees) && learners == 0 && (alone || (goes_on && others_are_well)))
        }
    }
}

/// Calls `each` with every case of up to so many members: the kinds, the leader, the op, its target and the need.
fn every_case(most: usize, mut each: impl FnMut(&[Kind], Option<usize>, &Disruption, usize, Need, &View)) {
    for kinds in multisets(most) {
        let leads = |place: &usize| kinds[*place].has_vote() && kinds[*place].answers();
        let leaders = targets(&kinds, None).into_iter().filter(leads).map(Some).chain([None]);
        for leader in leaders {
            let view = view_of(&kinds, leader);
            for target in targets(&kinds, leader) {
                for op in ops(target) {
                    each(&kinds, leader, &op, target, Need::Wanted, &view);
                    each(&kinds, leader, &op, target, Need::Repair, &view);
                }
            }
        }
    }
}

fn differences(most: usize) -> usize {
    let mut differences = 0;
    every_case(most, |kinds, leader, op, target, need, view| {
        let allows = gate(op, need, view) == Ruling::Allow;
        differences += usize::from(allows != model_allows(op, target, need, kinds, leader));
    });
    differences
}

#[test]
fn the_gate_is_the_model_for_all_views_of_up_to_seven_members() {
    let mut cases = 0_u64;
    every_case(7, |kinds, leader, op, target, need, view| {
        let (ruling, allows) = (gate(op, need, view), model_allows(op, target, need, kinds, leader));
        assert_eq!(ruling == Ruling::Allow, allows, "{op:?} {need:?} of {kinds:?}, led by {leader:?}: {ruling:?}");
        cases += 1;
    });
    assert!(cases > 1_000_000, "{cases}");
    // Eight members come about only by adding one to seven.
    let seven = view_of(&[Kind::Well; 7], Some(0));
    assert_eq!(gate(&Disruption::AddLearner { host: "new".to_owned() }, Need::Wanted, &seven), Ruling::Refuse(Cause::TooMany(7)));
}

/// A model that finds nothing proves nothing.
#[test]
fn the_model_finds_each_condition_of_members_that_is_taken_out() {
    let of_members = [
        Condition::HasSpace,
        Condition::NoLearner,
        Condition::AllHealthy,
        Condition::LearnerHealthy,
        Condition::CaughtUp,
        Condition::QuorumOfOneMore,
        Condition::NotLeader,
        Condition::QuorumOfOneLess,
        Condition::Quorum,
        Condition::IsAsSaid,
        Condition::AnotherVoter,
        Condition::QuorumWithout,
        Condition::OthersHealthy,
    ];
    for condition in of_members {
        TAKEN_OUT.set(Some(condition));
        let found = differences(5);
        TAKEN_OUT.set(None);
        assert!(found > 0, "nothing fails without {condition:?}");
    }
    assert_eq!(differences(5), 0);
}

/// Those that the model does not know: what each refuses, and what it lets through.
#[test]
fn each_other_condition_refuses_something_of_its_own() {
    let well = || view_of(&[Kind::Well; 3], Some(0));
    let restart = Disruption::RestartMember { host: host(1) };
    let add = Disruption::AddLearner { host: "new".to_owned() };
    let other = Disruption::RestartApiServer { host: host(2) };
    let under_way = View { under_way: vec![other.clone()], ..well() };
    let differ = View { lists: Lists::Differ(vec![host(0), host(2)]), ..well() };
    let mut corrupt = well();
    corrupt.members[2].state = MemberState::Alarmed(EtcdAlarm::Corrupt);
    let unstarted = view_of(&[Kind::Well, Kind::Well, Kind::Well, Kind::Unstarted], Some(0));
    let seven = view_of(&[Kind::Well; 7], Some(0));
    let cases = [
        (Condition::OneAtATime, &restart, under_way, Ruling::Wait(Cause::UnderWay(vec![other]))),
        (Condition::ListsAgree, &restart, differ, Ruling::Wait(Cause::ListsDiffer(vec![host(0), host(2)]))),
        (Condition::NotCorrupt, &restart, corrupt, Ruling::Refuse(Cause::Corrupt(host(2)))),
        (Condition::NoneUnstarted, &add, unstarted, Ruling::Refuse(Cause::NeverStarted(host(3)))),
        (Condition::MostVoters, &add, seven, Ruling::Refuse(Cause::TooMany(7))),
    ];
    let last = Disruption::RemoveMember { member: id(0), why: Removal::Leaving };
    let alone = (Condition::NotLast, &last, view_of(&[Kind::Well], None), Ruling::Refuse(Cause::LastMember(host(0))));
    let two = (Condition::NotTwo, &restart, view_of(&[Kind::Well; 2], Some(0)), Ruling::Refuse(Cause::TwoMembers));
    for (condition, op, view, ruling) in cases.into_iter().chain([alone, two]) {
        assert_eq!(gate(op, Need::Wanted, &view), ruling);
        TAKEN_OUT.set(Some(condition));
        assert_ne!(gate(op, Need::Wanted, &view), ruling, "{condition:?}");
        TAKEN_OUT.set(None);
        let other_leads = view_of(&[Kind::Well; 3], Some(2));
        assert_eq!(gate(op, Need::Wanted, &other_leads), Ruling::Allow, "{condition:?}");
    }
}

#[test]
fn who_is_ill_is_waited_for_as_long_as_that_is_not_certain() {
    let restart = |place: usize| Disruption::RestartMember { host: host(place) };
    let with = |last: Kind| view_of(&[Kind::Well, Kind::Well, last], Some(0));
    let Ruling::Wait(cause) = gate(&restart(1), Need::Wanted, &with(Kind::Doubtful)) else { panic!("it may come back") };
    assert_eq!(cause.to_string(), "1 of etcd's 3 members would vote, and 2 have to: h2 is not known to work");
    assert!(cause.patience().is_some_and(|patience| patience.as_secs() == 60));
    let Ruling::Wait(cause) = gate(&restart(1), Need::Wanted, &with(Kind::Dead)) else { panic!("it may be being started") };
    assert_eq!(cause.to_string(), "1 of etcd's 3 members would vote, and 2 have to: h2 is dead");
    assert_eq!(cause.hint(), "mend etcd on h2 first");
    let add = Disruption::AddLearner { host: "new".to_owned() };
    assert!(matches!(gate(&add, Need::Wanted, &with(Kind::Doubtful)), Ruling::Wait(_)));
    assert!(matches!(gate(&add, Need::Wanted, &with(Kind::Dead)), Ruling::Refuse(_)), "a dead one goes first");
    assert_eq!(gate(&restart(2), Need::Wanted, &with(Kind::Dead)), Ruling::Allow, "nothing is lost by it");
    let Ruling::Refuse(cause) = gate(&restart(0), Need::Wanted, &view_of(&[Kind::Well; 2], Some(0))) else { panic!("of two") };
    assert_eq!(cause.to_string(), "etcd has 2 members, and losing either stops the cluster");
}

/// While no member answers, those of the file are taken for members: one that is to join is none because of that.
#[test]
fn who_is_in_no_list_has_neither_joined_nor_got_a_vote() {
    let mut view = view_of(&[Kind::Doubtful, Kind::Doubtful, Kind::Doubtful], None);
    let ops = [Disruption::AddLearner { host: host(2) }, Disruption::Promote { host: host(2) }];
    let is_allowed = |view: &View| ops.each_ref().map(|op| gate(op, Need::Wanted, view) == Ruling::Allow);
    assert_eq!(is_allowed(&view), [true, true], "it is in the list, so nothing is disturbed any more");
    view.members.iter_mut().for_each(|member| member.id = 0);
    assert_eq!(is_allowed(&view), [false, false]);
}
