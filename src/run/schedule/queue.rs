//! What can begin, kept up as steps change. A change costs what hangs on it, however many hosts and steps there are besides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{HostLane, Status};

/// A step as the order of work sees it. Steps are named by their places; what a step needs stands before it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Its host, by number.
    pub(super) host: usize,
    /// Where it runs; nothing for a step that changes nothing, which is done as soon as all that it needs is: an order that goes through it
    /// still holds.
    pub(super) lane: Option<HostLane>,
    /// Whether it shares a script with no other step.
    pub(super) alone: bool,
    /// The places of the steps that it needs.
    pub(super) needs: Vec<usize>,
}

/// What most others wait for comes first, then what stands first in the plan.
type Rank = (Reverse<usize>, usize);

/// Every step with its state, and those that can begin.
#[derive(Debug, Default)]
pub(super) struct Queue {
    slots: Vec<Slot>,
    hosts: Vec<Host>,
    /// Hosts with a script that could be sent now.
    scripts: BTreeSet<usize>,
    /// Of each host whose lane for streams is free, the first one.
    streams: BTreeSet<Rank>,
    /// Conditions to be taken up.
    waits: BTreeSet<Rank>,
    /// How many steps were touched.
    #[cfg(test)]
    pub(super) work: usize,
}

#[derive(Debug)]
struct Slot {
    node: Node,
    needed_by: Vec<usize>,
    status: Status,
    /// How many of its needs are not done.
    open: usize,
    /// How many changes follow one another behind it at the most.
    behind: usize,
}

impl Slot {
    /// Whether it may become part of a script of several changes of a host.
    fn shares(&self, host: usize) -> bool {
        self.node.host == host && self.node.lane == Some(HostLane::Scripts) && !self.node.alone && self.status == Status::Pending
    }
}

#[derive(Debug, Default)]
struct Host {
    steps: Vec<usize>,
    scripts: Ready,
    streams: Ready,
}

/// One lane of a host.
#[derive(Debug, Default)]
struct Ready {
    steps: BTreeSet<Rank>,
    running: usize,
}

impl Ready {
    /// What comes next, if the lane is free.
    fn next(&self) -> Option<Rank> {
        self.steps.first().copied().filter(|_| self.running == 0)
    }
}

impl Queue {
    pub(super) fn new(nodes: Vec<Node>) -> Self {
        let hosts = nodes.iter().map(|node| node.host + 1).max().unwrap_or_default();
        let mut queue = Self { hosts: (0..hosts).map(|_| Host::default()).collect(), ..Self::default() };
        for (place, node) in nodes.into_iter().enumerate() {
            for need in &node.needs {
                if let Some(need) = queue.slots.get_mut(*need) {
                    need.needed_by.push(place);
                }
            }
            if let Some(host) = queue.hosts.get_mut(node.host) {
                host.steps.push(place);
            }
            queue.slots.push(Slot { open: node.needs.len(), node, needed_by: Vec::new(), status: Status::Pending, behind: 0 });
        }
        queue.count_behind();
        (0..queue.slots.len()).for_each(|place| queue.opened(place));
        queue
    }

    /// The longest chain of changes behind each step, by going through the plan from its end.
    fn count_behind(&mut self) {
        for place in (0..self.slots.len()).rev() {
            let Some(slot) = self.slots.get(place) else { continue };
            let through = slot.behind + usize::from(slot.node.lane.is_some());
            for need in slot.node.needs.clone() {
                if let Some(need) = self.slots.get_mut(need) {
                    need.behind = need.behind.max(through);
                }
            }
        }
    }

    pub(super) fn status(&self, place: usize) -> Status {
        self.slots.get(place).map_or(Status::Pending, |slot| slot.status)
    }

    /// Whether everything that a step needs is done.
    pub(super) fn has_its_needs(&self, place: usize) -> bool {
        self.slots.get(place).is_some_and(|slot| slot.open == 0)
    }

    /// Changes that have not begun.
    pub(super) fn pending(&self) -> usize {
        let is_open = |slot: &&Slot| matches!(slot.status, Status::Pending | Status::Held) && slot.node.lane.is_some();
        self.slots.iter().filter(is_open).count()
    }

    /// Steps of a host, in the order of the plan.
    pub(super) fn of_host(&self, host: usize) -> &[usize] {
        self.hosts.get(host).map(|host| host.steps.as_slice()).unwrap_or_default()
    }

    pub(super) fn needed_by(&self, place: usize) -> &[usize] {
        self.slots.get(place).map(|slot| slot.needed_by.as_slice()).unwrap_or_default()
    }

    pub(super) fn set(&mut self, place: usize, status: Status) {
        let Some(before) = self.slots.get(place).map(|slot| slot.status) else { return };
        // What is done stays done: others have begun because of it.
        if before == status || before == Status::Done {
            return;
        }
        match before {
            Status::Pending => self.ready(place, false),
            Status::Running => self.count_running(place, |running| running.saturating_sub(1)),
            Status::Held | Status::Done | Status::Stopped => {}
        }
        if let Some(slot) = self.slots.get_mut(place) {
            slot.status = status;
        }
        match status {
            Status::Pending => self.opened(place),
            Status::Running => self.count_running(place, |running| running + 1),
            Status::Done => self.done(place),
            Status::Held | Status::Stopped => {}
        }
    }

    /// Lets a step begin without one that was stopped.
    pub(super) fn forget_need(&mut self, place: usize, stopped: usize) {
        if let Some(slot) = self.slots.get_mut(stopped) {
            slot.needed_by.retain(|later| *later != place);
        }
        if let Some(slot) = self.slots.get_mut(place) {
            slot.node.needs.retain(|need| *need != stopped);
            slot.open = slot.open.saturating_sub(1);
        }
        self.opened(place);
    }

    /// Puts a step back that is done, to be done again: what has not begun waits for it once more, and what has goes on.
    pub(super) fn reopen(&mut self, place: usize) {
        let Some(slot) = self.slots.get_mut(place).filter(|slot| slot.status == Status::Done && slot.node.lane.is_some()) else { return };
        slot.status = Status::Pending;
        for later in self.needed_by(place).to_vec() {
            if self.status(later) == Status::Pending {
                self.ready(later, false);
            }
            if let Some(slot) = self.slots.get_mut(later) {
                slot.open += 1;
            }
        }
        self.opened(place);
    }

    /// Goes on behind a step that is done, through those that change nothing.
    fn done(&mut self, place: usize) {
        let mut done = vec![place];
        while let Some(place) = done.pop() {
            for later in self.needed_by(place).to_vec() {
                self.touched();
                let Some(slot) = self.slots.get_mut(later) else { continue };
                slot.open = slot.open.saturating_sub(1);
                if slot.open == 0 && slot.status == Status::Pending && slot.node.lane.is_none() {
                    slot.status = Status::Done;
                    done.push(later);
                } else {
                    self.opened(later);
                }
            }
        }
    }

    /// Puts a step where it is found, if it can begin.
    fn opened(&mut self, place: usize) {
        let Some(slot) = self.slots.get_mut(place).filter(|slot| slot.open == 0 && slot.status == Status::Pending) else { return };
        if slot.node.lane.is_none() {
            slot.status = Status::Done;
            return self.done(place);
        }
        self.ready(place, true);
    }

    /// Notes whether a change is among those that can begin.
    fn ready(&mut self, place: usize, yes: bool) {
        let Some(slot) = self.slots.get(place) else { return };
        let rank = (Reverse(slot.behind), place);
        let note = |found: &mut BTreeSet<Rank>| if yes { found.insert(rank) } else { found.remove(&rank) };
        match slot.node.lane {
            Some(HostLane::Waits) => {
                note(&mut self.waits);
            }
            Some(lane) => self.change_lane(slot.node.host, lane, |ready| {
                note(&mut ready.steps);
            }),
            None => {}
        }
    }

    fn count_running(&mut self, place: usize, change: impl FnOnce(usize) -> usize) {
        let Some((host, Some(lane))) = self.slots.get(place).map(|slot| (slot.node.host, slot.node.lane)) else { return };
        self.change_lane(host, lane, |ready| ready.running = change(ready.running));
    }

    fn touched(&mut self) {
        #[cfg(test)]
        {
            self.work += 1;
        }
    }

    /// Changes a lane of a host, and what is known of all hosts with it.
    fn change_lane(&mut self, number: usize, lane: HostLane, change: impl FnOnce(&mut Ready)) {
        self.touched();
        let Some(host) = self.hosts.get_mut(number) else { return };
        match lane {
            HostLane::Scripts => {
                change(&mut host.scripts);
                if host.scripts.next().is_some() {
                    self.scripts.insert(number)
                } else {
                    self.scripts.remove(&number)
                };
            }
            HostLane::Streams => {
                let before = host.streams.next();
                change(&mut host.streams);
                before.map(|rank| self.streams.remove(&rank));
                host.streams.next().map(|rank| self.streams.insert(rank));
            }
            HostLane::Waits => {}
        }
    }

    /// The next script of any host that has none at work: what most others wait for. Changes of resources become one script; an operation
    /// stays alone, so that its end is known when it comes.
    pub(super) fn next_script(&mut self) -> Vec<usize> {
        let next = self.scripts.first().and_then(|host| self.hosts.get(*host)).and_then(|host| host.scripts.next());
        match next {
            None => Vec::new(),
            Some((_, first)) if self.slots.get(first).is_some_and(|slot| slot.node.alone) => vec![first],
            Some((_, first)) => self.fused(first),
        }
    }

    /// Every change of a resource of a step's host that can begin, or that only waits for others of them; earlier ones first.
    fn fused(&mut self, first: usize) -> Vec<usize> {
        let Some(number) = self.slots.get(first).map(|slot| slot.node.host) else { return Vec::new() };
        let ready = self.hosts.get(number).map(|host| host.scripts.steps.iter().map(|(_, place)| *place).collect());
        let mut next: BTreeSet<usize> = ready.unwrap_or_default();
        let (mut met, mut batch) = (BTreeMap::<usize, usize>::new(), Vec::new());
        while let Some(place) = next.pop_first() {
            self.touched();
            let Some(slot) = self.slots.get(place).filter(|slot| slot.shares(number)) else { continue };
            batch.push(place);
            for later in &slot.needed_by {
                let count = met.entry(*later).or_default();
                *count += 1;
                if self.slots.get(*later).is_some_and(|later| later.open == *count) {
                    next.insert(*later);
                }
            }
        }
        batch
    }

    /// The next stream of any host that has none at work, and what most others wait for among those that may begin.
    pub(super) fn next_stream(&self, may_begin: impl Fn(usize) -> bool) -> Option<usize> {
        self.streams.iter().map(|(_, place)| *place).find(|place| may_begin(*place))
    }

    /// The next condition to be taken up.
    pub(super) fn next_wait(&self) -> Option<usize> {
        self.waits.first().map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests;
