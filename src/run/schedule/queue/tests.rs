//! The queue against one that looks at everything each time, and its work in a large fleet.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use proptest::prelude::*;

use super::*;

/// What can begin, found by looking at every step.
struct Slow<'a> {
    nodes: &'a [Node],
    status: Vec<Status>,
}

impl Slow<'_> {
    fn settle(&mut self) {
        for place in 0..self.nodes.len() {
            if self.nodes[place].lane.is_none() && self.can_begin(place, &[]) {
                self.status[place] = Status::Done;
            }
        }
    }

    fn can_begin(&self, place: usize, with: &[usize]) -> bool {
        let met = |need: &usize| self.status[*need] == Status::Done || with.contains(need);
        self.status[place] == Status::Pending && self.nodes[place].needs.iter().all(met)
    }

    fn can_begin_again(&self, place: usize) -> bool {
        self.nodes[place].needs.iter().all(|need| self.status[*need] == Status::Done)
    }

    fn ready(&self, lane: HostLane) -> BTreeSet<usize> {
        (0..self.nodes.len()).filter(|place| self.nodes[*place].lane == Some(lane) && self.can_begin(*place, &[])).collect()
    }

    fn is_free(&self, host: usize, lane: HostLane) -> bool {
        let running = |place: usize| self.nodes[place].host == host && self.nodes[place].lane == Some(lane);
        !(0..self.nodes.len()).any(|place| self.status[place] == Status::Running && running(place))
    }

    fn fused(&self, host: usize) -> Vec<usize> {
        let mut batch = Vec::new();
        for place in 0..self.nodes.len() {
            let node = &self.nodes[place];
            if node.host == host && node.lane == Some(HostLane::Scripts) && !node.alone && self.can_begin(place, &batch) {
                batch.push(place);
            }
        }
        batch
    }

    fn check(&self, queue: &mut Queue) {
        for place in 0..self.nodes.len() {
            assert_eq!(queue.status(place), self.status[place], "step {place}");
            let met = self.nodes[place].needs.iter().all(|need| self.status[*need] == Status::Done);
            assert_eq!(queue.has_its_needs(place), met, "step {place}");
        }
        assert_eq!(queue.waits.iter().map(|(_, place)| *place).collect::<BTreeSet<_>>(), self.ready(HostLane::Waits));
        let free = |lane: HostLane| move |place: &usize| self.is_free(self.nodes[*place].host, lane);
        let scripts: BTreeSet<usize> =
            self.ready(HostLane::Scripts).into_iter().filter(free(HostLane::Scripts)).map(|place| self.nodes[place].host).collect();
        assert_eq!(queue.scripts, scripts);
        let streams: Vec<usize> = self.ready(HostLane::Streams).into_iter().filter(free(HostLane::Streams)).collect();
        let best = streams.iter().min_by_key(|place| (Reverse(queue.slots[**place].behind), **place));
        assert_eq!(queue.next_stream(|_| true), best.copied());
        let script = queue.next_script();
        match script.as_slice() {
            [] => assert!(scripts.is_empty()),
            [one] if self.nodes[*one].alone => assert!(self.can_begin(*one, &[])),
            batch => assert_eq!(batch, self.fused(self.nodes[batch[0]].host)),
        }
    }
}

fn a_node(place: usize) -> impl Strategy<Value = Node> {
    let lane =
        prop::sample::select(vec![Some(HostLane::Scripts), Some(HostLane::Scripts), Some(HostLane::Streams), Some(HostLane::Waits), None]);
    let needs = prop::collection::vec(0..place.max(1), 0..4);
    (0_usize..3, lane, prop::bool::weighted(0.2), needs).prop_map(move |(host, lane, alone, needs)| Node {
        host,
        lane,
        alone,
        needs: if place == 0 { Vec::new() } else { needs },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_can_begin_is_what_looking_at_everything_finds(
        nodes in (1_usize..25).prop_flat_map(|count| (0..count).map(a_node).collect::<Vec<_>>()),
        moves in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..10), 0..80),
    ) {
        let mut queue = Queue::new(nodes.clone());
        let mut slow = Slow { nodes: &nodes, status: vec![Status::Pending; nodes.len()] };
        slow.settle();
        slow.check(&mut queue);
        for (index, outcome) in moves {
            let place = index.index(nodes.len());
            let status = match (slow.status[place], outcome) {
                _ if nodes[place].lane.is_none() => continue,
                (Status::Pending, _) if slow.can_begin(place, &[]) => Status::Running,
                (Status::Running, 0..6) => Status::Done,
                (Status::Running, 6..=8) => Status::Pending,
                (Status::Running | Status::Pending, 9) => Status::Stopped,
                (Status::Done, 0) if slow.can_begin_again(place) => {
                    queue.reopen(place);
                    slow.status[place] = Status::Pending;
                    slow.check(&mut queue);
                    continue;
                }
                _ => continue,
            };
            queue.set(place, status);
            slow.status[place] = status;
            slow.settle();
            slow.check(&mut queue);
        }
    }
}

/// A thousand hosts of fifty steps: a tree of files in one script, images, operations, and a condition on a step of the first host.
fn fleet() -> Vec<Node> {
    let mut nodes = Vec::new();
    for host in 0..1000 {
        let first = nodes.len();
        for step in 0..50 {
            let (lane, alone) = match step {
                0..30 => (if step % 7 == 3 { None } else { Some(HostLane::Scripts) }, false),
                30..40 => (Some(HostLane::Streams), false),
                40..49 => (Some(HostLane::Scripts), true),
                _ => (Some(HostLane::Waits), false),
            };
            let needs = match step {
                0 => vec![],
                1..30 => vec![first + step - 1],
                30..40 => vec![first + 20],
                // The operations of all hosts come after one of the first host, as joins come after the control plane.
                40 if host > 0 => vec![first + 39, 45],
                _ => vec![first + step - 1],
            };
            nodes.push(Node { host, lane, alone, needs });
        }
    }
    nodes
}

#[test]
fn a_large_fleet_costs_work_for_each_step_and_not_for_each_pair_of_them() {
    let nodes = fleet();
    let edges: usize = nodes.iter().map(|node| node.needs.len()).sum();
    let mut queue = Queue::new(nodes.clone());
    let (mut at_work, mut orders) = (std::collections::VecDeque::new(), 0);
    loop {
        loop {
            let mut next: Vec<usize> = queue.next_script();
            if next.is_empty() {
                next = queue.next_wait().or(queue.next_stream(|_| true)).into_iter().collect();
            }
            if next.is_empty() {
                break;
            }
            next.iter().for_each(|place| queue.set(*place, Status::Running));
            at_work.push_back(next);
            orders += 1;
        }
        // One message at a time, as the dispatcher hears them.
        let Some(ended) = at_work.pop_front() else { break };
        ended.iter().for_each(|place| queue.set(*place, Status::Done));
    }
    assert_eq!(queue.pending(), 0);
    assert!(orders > 20_000, "{orders} orders");
    let (work, size) = (queue.work, nodes.len() + edges);
    assert!(work < 6 * size, "{work} steps were touched for {} steps and {edges} needs", nodes.len());
}
