//! API servers and nodes: they are few enough to try all.

use super::*;

fn planes(ready: &[bool]) -> View {
    let planes = ready.iter().enumerate().map(|(place, ready)| Plane { host: host(place), ready: *ready }).collect();
    View { planes, ..view_of(&[], None) }
}

fn each_of<const N: usize>(mut each: impl FnMut([bool; N])) {
    (0..1_u32 << N).for_each(|bits| each(std::array::from_fn(|place| bits & (1 << place) != 0)));
}

fn model_of_api_servers() -> usize {
    let mut differences = 0;
    each_of(|ready: [bool; 3]| {
        for count in 1..=3 {
            let left = |gone: usize| (0..count).any(|place| place != gone && ready[place]);
            let had = ready[0];
            let allows = gate(&Disruption::RestartApiServer { host: host(0) }, Need::Wanted, &planes(&ready[..count])) == Ruling::Allow;
            differences += usize::from(allows != (!had || left(0) || count == 1));
        }
    });
    differences
}

#[test]
fn an_api_server_goes_while_another_one_is_there() {
    assert_eq!(model_of_api_servers(), 0);
    TAKEN_OUT.set(Some(Condition::AnotherApiServer));
    let without = model_of_api_servers();
    TAKEN_OUT.set(None);
    assert!(without > 0);
    let Ruling::Wait(cause) = gate(&Disruption::RestartApiServer { host: host(0) }, Need::Wanted, &planes(&[true, false])) else {
        panic!("it is the only one");
    };
    assert_eq!(cause.to_string(), "h0 has the only API server that is ready; h1 should have one, too");
}

fn nodes(available: &[bool], serial: usize, under_way: &[usize]) -> View {
    let life = |(place, available): (usize, &bool)| NodeLife { host: host(place), control_plane: false, available: *available };
    let nodes = available.iter().enumerate().map(life).collect();
    let under_way = under_way.iter().map(|place| Disruption::RestartKubelet { host: host(*place) }).collect();
    View { nodes, serial, under_way, ..view_of(&[], None) }
}

/// After what is begun, no more are away than may be; what is away already can be mended.
fn model_of_nodes() -> usize {
    let mut differences = 0;
    each_of(|available: [bool; 4]| {
        for (serial, under_way) in [(1, vec![]), (2, vec![]), (3, vec![]), (1, vec![1]), (2, vec![1]), (2, vec![1, 2]), (3, vec![1, 2])] {
            let away = (0..4).filter(|place| !available[*place] || under_way.contains(place) || *place == 0).count();
            let view = nodes(&available, serial, &under_way);
            for op in [Disruption::RestartKubelet { host: host(0) }, Disruption::DrainWorker { host: host(0) }] {
                let allows = gate(&op, Need::Wanted, &view) == Ruling::Allow;
                differences += usize::from(allows != (!available[0] || away <= serial));
            }
        }
    });
    differences
}

#[test]
fn no_more_workers_are_away_than_may_be() {
    assert_eq!(model_of_nodes(), 0);
    TAKEN_OUT.set(Some(Condition::Serial));
    let without = model_of_nodes();
    TAKEN_OUT.set(None);
    assert!(without > 0);
    let Ruling::Wait(cause) = gate(&Disruption::RestartKubelet { host: host(0) }, Need::Wanted, &nodes(&[true, false, false], 2, &[]))
    else {
        panic!("two are away");
    };
    assert_eq!(cause.to_string(), "h1, h2 are not Ready, or drained now, and 2 at a time may be away");
}

/// Those who may fail and have keep nobody from its turn; one that works, or that is disturbed just now, does.
#[test]
fn a_worker_that_may_fail_counts_only_while_it_has_something_to_lose() {
    each_of(|available: [bool; 3]| {
        for under_way in [vec![], vec![1]] {
            let mut view = nodes(&available, 1, &under_way);
            view.excuse(&[host(1), "elsewhere".to_owned()].into());
            let excused = !available[1] && under_way.is_empty();
            assert_eq!(view.nodes.iter().map(|node| node.host.clone()).collect::<Vec<_>>().contains(&host(1)), !excused);
            let is_away = |place: usize| !available[place] || under_way.contains(&place);
            let others = usize::from(is_away(1) && !excused) + usize::from(is_away(2));
            let allows = gate(&Disruption::RestartKubelet { host: host(0) }, Need::Wanted, &view) == Ruling::Allow;
            assert_eq!(allows, !available[0] || others == 0, "{available:?} {under_way:?}");
        }
    });
}

#[test]
fn control_planes_and_workers_count_apart_and_one_control_plane_goes_at_a_time() {
    let mut view = nodes(&[true, false, true, true], 1, &[]);
    view.nodes[2].control_plane = true;
    view.nodes[3].control_plane = true;
    let kubelet = |place| Disruption::RestartKubelet { host: host(place) };
    assert_eq!(gate(&kubelet(2), Need::Wanted, &view), Ruling::Allow, "the worker is not its matter");
    view.nodes[3].available = false;
    view.serial = 3;
    assert_ne!(gate(&kubelet(2), Need::Wanted, &view), Ruling::Allow);
    assert_eq!(gate(&kubelet(0), Need::Wanted, &view), Ruling::Allow);
}

/// What repairs a kubelet may be what the API servers wait for.
#[test]
fn without_an_api_server_kubelets_are_only_mended() {
    let (op, view) = (Disruption::RestartKubelet { host: host(0) }, nodes(&[], 1, &[]));
    assert_eq!(gate(&op, Need::Wanted, &view), Ruling::Wait(Cause::NodesUnknown));
    assert_eq!(gate(&op, Need::Repair, &view), Ruling::Allow);
    TAKEN_OUT.set(Some(Condition::NodesKnown));
    let without = gate(&op, Need::Wanted, &view);
    TAKEN_OUT.set(None);
    assert_eq!(without, Ruling::Allow);
}
