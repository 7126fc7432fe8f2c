//! The conditions, one function for each kind of disruption.

use super::cause::Ill;
use super::{Cause, Disruption, Lists, Member, MemberState, Need, Removal, Ruling, View};
use crate::observe::EtcdAlarm;

/// The most voters that etcd's own makers advise.
pub(super) const MOST_VOTERS: usize = 7;

/// How far a member may be behind the leader that is to get a vote.
pub(super) const MOST_BEHIND: u64 = 1_000;

/// Every condition by name, so that the tests can take each of them out and see that one of them fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    OneAtATime,
    ListsAgree,
    NotCorrupt,
    HasSpace,
    NoLearner,
    NoneUnstarted,
    AllHealthy,
    MostVoters,
    LearnerHealthy,
    CaughtUp,
    QuorumOfOneMore,
    NotLast,
    NotLeader,
    QuorumOfOneLess,
    Quorum,
    IsAsSaid,
    AnotherVoter,
    QuorumWithout,
    NotTwo,
    OthersHealthy,
    AnotherApiServer,
    Serial,
    NodesKnown,
}

/// Whether a condition holds. Tests may take it out.
#[cfg_attr(not(test), allow(unused_variables, reason = "only tests take conditions out"))]
fn holds(condition: Condition, yes: bool) -> bool {
    #[cfg(test)]
    if super::tests::is_taken_out(condition) {
        return true;
    }
    yes
}

type Judged = Result<(), Ruling>;

fn refuse_unless(condition: Condition, yes: bool, cause: impl FnOnce() -> Cause) -> Judged {
    if holds(condition, yes) { Ok(()) } else { Err(Ruling::Refuse(cause())) }
}

fn wait_unless(condition: Condition, yes: bool, cause: impl FnOnce() -> Cause) -> Judged {
    if holds(condition, yes) { Ok(()) } else { Err(Ruling::Wait(cause())) }
}

/// More than half.
const fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

pub(super) fn judge(op: &Disruption, need: Need, view: &View) -> Judged {
    match op {
        Disruption::DrainWorker { host } | Disruption::RestartKubelet { host } => return node(host, need, view),
        _ if is_so(op, view) => return Ok(()),
        _ => one_at_a_time(view)?,
    }
    match op {
        Disruption::AddLearner { .. } => sound(view, false).and_then(|()| add_learner(view)),
        Disruption::Promote { host } => sound(view, false).and_then(|()| promote(host, view)),
        Disruption::RemoveMember { member, why } => sound(view, true).and_then(|()| remove(*member, *why, view)),
        Disruption::MoveLeader { from } => sound(view, false).and_then(|()| move_leader(*from, view)),
        Disruption::RestartMember { host } | Disruption::StopHost { host } => stop(host, need, view, false),
        Disruption::Defragment { host } => stop(host, need, view, true),
        Disruption::RestartApiServer { host } => api_server(host, view),
        Disruption::DrainWorker { .. } | Disruption::RestartKubelet { .. } => Ok(()),
    }
}

/// Whether nothing is disturbed any more, for what is asked for has come about: a change of members may take effect after its reply was lost.
fn is_so(op: &Disruption, view: &View) -> bool {
    // While no list is known, those of the file are taken for members, which says nothing of them.
    let of = |host: &str| view.members.iter().find(|member| member.id != 0 && member.host.as_deref() == Some(host));
    match op {
        Disruption::AddLearner { host } => of(host).is_some(),
        Disruption::Promote { host } => of(host).is_some_and(|member| !member.learner),
        Disruption::RemoveMember { member, .. } => !view.members.is_empty() && view.members.iter().all(|other| other.id != *member),
        _ => false,
    }
}

/// One disruption of etcd or of control planes is under way at the most.
fn one_at_a_time(view: &View) -> Judged {
    let other = view.under_way.iter().find(|other| !other.is_of_nodes());
    wait_unless(Condition::OneAtATime, other.is_none(), || Cause::UnderWay(other.cloned().into_iter().collect()))
}

/// What has to be so before etcd is touched at all.
fn sound(view: &View, frees_space: bool) -> Judged {
    let differ = match &view.lists {
        Lists::Agree => None,
        Lists::Differ(hosts) => Some(hosts),
    };
    wait_unless(Condition::ListsAgree, differ.is_none(), || Cause::ListsDiffer(differ.cloned().unwrap_or_default()))?;
    let with = |alarm| view.members.iter().find(|member| member.state == MemberState::Alarmed(alarm)).map(Member::name);
    let corrupt = with(EtcdAlarm::Corrupt);
    refuse_unless(Condition::NotCorrupt, corrupt.is_none(), || Cause::Corrupt(corrupt.unwrap_or_default()))?;
    let full = with(EtcdAlarm::NoSpace).filter(|_| !frees_space);
    refuse_unless(Condition::HasSpace, full.is_none(), || Cause::NoSpace(full.unwrap_or_default()))
}

/// The members with a vote.
struct Voters<'a>(Vec<&'a Member>);

impl<'a> Voters<'a> {
    fn new(view: &'a View) -> Self {
        Self(view.members.iter().filter(|member| !member.learner).collect())
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    /// How many of them vote.
    fn healthy(&self) -> usize {
        self.0.iter().filter(|member| member.state.votes()).count()
    }

    /// How many of them would vote without this one.
    fn healthy_without(&self, gone: &Member) -> usize {
        self.0.iter().filter(|member| member.state.votes() && !std::ptr::eq(**member, gone)).count()
    }

    /// That too few of them vote: who does not, but for one that is to go anyway.
    fn ill(&self, healthy: usize, need: usize, but: Option<&Member>) -> Cause {
        let ill = self.0.iter().filter(|member| !member.state.votes() && !but.is_some_and(|but| std::ptr::eq(**member, but)));
        let members = ill.map(|member| Ill { name: member.name(), state: member.state }).collect();
        Cause::Ill { members, voters: self.count(), healthy, need }
    }

    /// Those that are doubtful may come back; the dead don't by themselves.
    fn at_least(&self, condition: Condition, healthy: usize, need: usize, but: Option<&Member>) -> Judged {
        if holds(condition, healthy >= need) {
            return Ok(());
        }
        let cause = self.ill(healthy, need, but);
        let may_come_back = matches!(&cause, Cause::Ill { members, .. } if members.iter().any(|ill| ill.state == MemberState::Doubtful));
        Err(if may_come_back { Ruling::Wait(cause) } else { Ruling::Refuse(cause) })
    }
}

fn no_learner(view: &View) -> Judged {
    let learner = view.members.iter().find(|member| member.learner);
    wait_unless(Condition::NoLearner, learner.is_none(), || Cause::Learner(learner.map(Member::name).unwrap_or_default()))
}

fn add_learner(view: &View) -> Judged {
    no_learner(view)?;
    let unstarted = view.members.iter().find(|member| member.state == MemberState::Unstarted);
    refuse_unless(Condition::NoneUnstarted, unstarted.is_none(), || Cause::NeverStarted(unstarted.map(Member::name).unwrap_or_default()))?;
    let voters = Voters::new(view);
    voters.at_least(Condition::AllHealthy, voters.healthy(), voters.count(), None)?;
    refuse_unless(Condition::MostVoters, voters.count() < MOST_VOTERS, || Cause::TooMany(voters.count()))
}

fn listed(id: u64, view: &View) -> Result<&Member, Ruling> {
    view.members.iter().find(|member| member.id == id).ok_or_else(|| Ruling::Refuse(Cause::NotListed(format!("{id:x}"))))
}

fn promote(host: &str, view: &View) -> Judged {
    let learner = view.members.iter().find(|member| member.host.as_deref() == Some(host));
    // Which members there are may be known a moment later.
    let learner = learner.ok_or_else(|| Ruling::Wait(Cause::NotListed(host.to_owned())))?;
    let is_ready = learner.learner && learner.state == MemberState::Healthy;
    let cause = if learner.host_is_away { Cause::HostAway } else { Cause::NotWell };
    wait_unless(Condition::LearnerHealthy, is_ready, || cause(learner.name()))?;
    wait_unless(Condition::CaughtUp, learner.behind <= MOST_BEHIND, || Cause::Behind { member: learner.name(), entries: learner.behind })?;
    let voters = Voters::new(view);
    let need = quorum(voters.count() + 1);
    // Beside a single voter, the second one is needed at once, whichever way it is done.
    let is_first = voters.count() == 1 && voters.healthy() == 1;
    wait_unless(Condition::QuorumOfOneMore, is_first || voters.healthy() >= need, || voters.ill(voters.healthy(), need, None))
}

fn remove(id: u64, why: Removal, view: &View) -> Judged {
    let member = listed(id, view)?;
    let voters = Voters::new(view);
    if why == Removal::Leaving {
        refuse_unless(Condition::NotLast, member.learner || voters.count() > 1, || Cause::LastMember(member.name()))?;
        no_learner(view)?;
        wait_unless(Condition::NotLeader, !member.leader, || Cause::Leads(member.name()))?;
        voters.at_least(Condition::Quorum, voters.healthy(), quorum(voters.count()), None)?;
        let less = quorum(voters.count().saturating_sub(1));
        return voters.at_least(Condition::QuorumOfOneLess, voters.healthy_without(member), less, Some(member));
    }
    let is_so = match why {
        Removal::Leaving => true,
        Removal::Dead => member.state == MemberState::Dead,
        Removal::Unstarted => member.state == MemberState::Unstarted,
        Removal::Learner => member.learner,
    };
    let judged = refuse_unless(Condition::IsAsSaid, is_so, || Cause::NotSo { member: member.name(), state: member.state });
    match judged {
        Err(Ruling::Refuse(cause)) if member.state == MemberState::Doubtful => Err(Ruling::Wait(cause)),
        other => other,
    }?;
    let need = quorum(voters.count());
    voters.at_least(Condition::Quorum, voters.healthy(), need, None)
}

fn move_leader(from: u64, view: &View) -> Judged {
    let leader = listed(from, view)?;
    let voters = Voters::new(view);
    refuse_unless(Condition::AnotherVoter, voters.healthy_without(leader) > 0, || Cause::LastMember(leader.name()))?;
    voters.at_least(Condition::Quorum, voters.healthy(), quorum(voters.count()), None)
}

/// A member goes away for a while, whatever the reason.
fn stop(host: &str, need: Need, view: &View, frees_space: bool) -> Judged {
    let member = view.members.iter().find(|member| member.host.as_deref() == Some(host));
    let voters = Voters::new(view);
    let is_dead = member.is_some_and(|member| member.state == MemberState::Dead);
    // Nothing is lost by it.
    if is_dead || voters.healthy() == 0 {
        return Ok(());
    }
    sound(view, frees_space)?;
    let Some(member) = member else { return Ok(()) };
    no_learner(view)?;
    if voters.count() == 1 {
        return Ok(());
    }
    refuse_unless(Condition::NotTwo, voters.count() != 2, || Cause::TwoMembers)?;
    // One that is being started anew looks as if it were dead, so all are waited for.
    let left = voters.healthy_without(member);
    let at_least = |condition, need| wait_unless(condition, left >= need, || voters.ill(left, need, Some(member)));
    at_least(Condition::QuorumWithout, quorum(voters.count()))?;
    match need {
        Need::Repair => Ok(()),
        Need::Wanted => at_least(Condition::OthersHealthy, voters.count().saturating_sub(1)),
    }
}

fn api_server(host: &str, view: &View) -> Judged {
    let is_ready = view.planes.iter().any(|plane| plane.host == host && plane.ready);
    let others: Vec<_> = view.planes.iter().filter(|plane| plane.host != host).collect();
    let may = !is_ready || others.is_empty() || others.iter().any(|plane| plane.ready);
    wait_unless(Condition::AnotherApiServer, may, || Cause::OnlyApiServer {
        host: host.to_owned(),
        others: others.iter().map(|plane| plane.host.clone()).collect(),
    })
}

fn node(host: &str, need: Need, view: &View) -> Judged {
    let own = view.nodes.iter().find(|node| node.host == host);
    if view.nodes.is_empty() {
        return wait_unless(Condition::NodesKnown, need == Need::Repair, || Cause::NodesUnknown);
    }
    // What is not there can't be lost.
    let Some(own) = own.filter(|own| own.available) else { return Ok(()) };
    let serial = if own.control_plane { 1 } else { view.serial };
    let others = view.nodes.iter().filter(|node| node.host != host && node.control_plane == own.control_plane);
    let away: Vec<String> = others.filter(|node| !node.available || view.disturbs_node(&node.host)).map(|node| node.host.clone()).collect();
    wait_unless(Condition::Serial, away.len() < serial, || Cause::NodesAway { nodes: away, serial })
}
