//! The stages of an upgrade, as plans: what each changes, and in which order.

use std::collections::BTreeSet;

use kok_tasks::gate::{Disruption, Need};
use kok_tasks::observe::{API_SERVER, ETCD, ImageState, KUBELET};
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Plan, StepId};
use kok_tasks::upgrade::{ClusterPart, Pause, Running, Stage, StageName, Wish, path, stages};

use crate::support::step_id;
use crate::support::upgrading::{NEW, OLD, of_version, two_releases};
use crate::support::world::World;

pub(crate) const PLANES: [&str; 3] = ["cp1", "cp2", "cp3"];
const WORKERS: [&str; 2] = ["worker1", "worker2"];

/// A cluster of the old version, which works.
pub(crate) fn old() -> World {
    let mut world = World::bare_of(of_version(OLD));
    world.bundle = two_releases();
    let mut world = world.converge();
    for name in PLANES {
        [API_SERVER, "kube-controller-manager", "kube-scheduler"]
            .iter()
            .for_each(|program| world.host(name).has_version(program, OLD, OLD));
        has_etcd(&mut world, name, "3.6.8");
    }
    PLANES.into_iter().chain(WORKERS).for_each(|name| world.host(name).has_version(KUBELET, OLD, OLD));
    world
}

fn has_etcd(world: &mut World, host: &str, version: &str) {
    let host = world.host(host);
    host.has_version(ETCD, version, version);
    host.images.retain(|image, _| !image.contains("/etcd:"));
    host.images.insert(format!("registry.k8s.io/etcd:{version}-0"), ImageState { digest: String::new(), pinned: true });
}

pub(crate) fn way(world: &World, wish: &Wish) -> Vec<Stage> {
    let running = Running::from_seen(&world.cluster, &world.seen()).unwrap();
    let hops = path(&running, &NEW.parse().unwrap(), &world.bundle).unwrap();
    stages(&of_version(NEW), &running, &hops, wish).unwrap()
}

pub(crate) fn named(stages: &[Stage], name: StageName) -> Stage {
    stages.iter().find(|stage| stage.name == name).cloned().unwrap()
}

pub(crate) fn plan_of(world: &World, stage: &Stage) -> Plan {
    let mut world = world.clone();
    world.cluster = stage.cluster.clone();
    world.plan()
}

pub(crate) fn changed(plan: &Plan) -> BTreeSet<String> {
    plan.changes().map(|(step, _)| step.id.to_string()).collect()
}

/// Whether a step comes after another one, by whatever way.
pub(crate) fn is_after(plan: &Plan, later: &StepId, earlier: &StepId) -> bool {
    let (mut left, mut seen) = (vec![later.clone()], BTreeSet::new());
    while let Some(id) = left.pop() {
        for (need, _) in plan.needs(&id) {
            if need.id == *earlier {
                return true;
            }
            if seen.insert(need.id.to_string()) {
                left.push(need.id.clone());
            }
        }
    }
    false
}

pub(crate) fn ordered(plan: &Plan, steps: &[(&str, &str, &str)]) {
    for pair in steps.windows(2) {
        let [(earlier, later)] = [(pair[0], pair[1])];
        let id = |(host, task, name): (&str, &str, &str)| step_id(host, task, name);
        assert!(is_after(plan, &id(later), &id(earlier)), "{later:?} does not come after {earlier:?}");
    }
}

#[test]
fn the_stages_are_control_planes_configuration_and_kubelets() {
    let world = old();
    let names = |wish: &Wish| way(&world, wish).iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names(&Wish::default()), ["control-planes", "kubelets", "configuration", "kubelets"]);
    assert_eq!(names(&Wish { pause: Some(Pause::ControlPlanes), ..Wish::default() }), ["etcd", "control-planes", "configuration"]);
    assert_eq!(names(&Wish { part: Some(ClusterPart::ControlPlanes), ..Wish::default() }), ["control-planes", "kubelets", "configuration"]);
    let planes = Wish { limit: PLANES.map(str::to_owned).to_vec(), ..Wish::default() };
    assert_eq!(names(&planes), ["control-planes", "kubelets", "configuration"]);
    let first = Wish { pause: Some(Pause::First), ..Wish::default() };
    assert_eq!(names(&first), ["etcd", "first"]);
    let running = Running::from_seen(&world.cluster, &world.seen()).unwrap();
    let hops = path(&running, &NEW.parse().unwrap(), &world.bundle).unwrap();
    for wish in
        [Wish { limit: vec!["worker1".to_owned()], ..Wish::default() }, Wish { part: Some(ClusterPart::Workers), ..Wish::default() }]
    {
        let refused = stages(&of_version(NEW), &running, &hops, &wish).unwrap_err();
        assert!(refused.because.unwrap().contains("no kubelet may be newer than an API server"), "nobody means the API servers");
    }
}

/// With a stop between control planes and their kubelets.
pub(crate) fn paused() -> Wish {
    Wish { pause: Some(Pause::ControlPlanes), ..Wish::default() }
}

pub(crate) fn with_patch() -> World {
    let mut world = old();
    PLANES.into_iter().for_each(|name| has_etcd(&mut world, name, "3.6.14"));
    world
}

/// Typed again at a pause, the same word goes no further.
#[test]
fn a_pause_is_kept_by_who_types_it_again() {
    let world = old();
    let new = || NEW.parse().unwrap();
    let mut running = Running::from_seen(&world.cluster, &world.seen()).unwrap();
    let names = |running: &Running, pause: Pause| {
        let hops = path(running, &new(), &world.bundle).unwrap();
        let wish = Wish { pause: Some(pause), ..Wish::default() };
        let stages = stages(&of_version(NEW), running, &hops, &wish).unwrap();
        stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(names(&running, Pause::First), ["etcd", "first"]);
    assert_eq!(names(&running, Pause::ControlPlanes), ["etcd", "control-planes", "configuration"]);
    // A single control plane on a way of two minor versions has got the first one already.
    let pause = Some(Pause::First);
    let all = [Wish { pause, ..Wish::default() }, Wish::default()].map(|wish| way(&world, &wish)).concat();
    let left = |names: &[StageName]| Pause::First.before(&running, names.iter().map(|name| named(&all, *name)).collect()).len();
    assert_eq!([left(&[StageName::Etcd, StageName::First]), left(&[StageName::Configuration, StageName::First])], [2, 0]);
    running.etcd.values_mut().for_each(|version| *version = "3.6.14".parse().unwrap());
    running.planes.insert("cp1".to_owned(), new());
    running.etcd.insert("cp1".to_owned(), "3.7.0".parse().unwrap());
    assert_eq!(names(&running, Pause::First), [""; 0], "the first has it");
    assert_eq!(names(&running, Pause::ControlPlanes), ["control-planes", "configuration"]);
    running.planes.values_mut().for_each(|version| *version = new());
    running.etcd.values_mut().for_each(|version| *version = "3.7.0".parse().unwrap());
    assert_eq!(names(&running, Pause::First), [""; 0]);
    assert_eq!(names(&running, Pause::ControlPlanes), ["configuration"]);
    running.shared = Some(new());
    assert_eq!(names(&running, Pause::ControlPlanes), [""; 0], "kubelets come after it");
}

/// As control planes and what the cluster says of itself are by then.
fn with_planes() -> (World, Vec<Stage>) {
    let world = with_patch();
    let mut running = Running::from_seen(&world.cluster, &world.seen()).unwrap();
    running.planes.values_mut().for_each(|version| *version = NEW.parse().unwrap());
    running.etcd.values_mut().for_each(|version| *version = "3.7.0".parse().unwrap());
    let hops = path(&running, &NEW.parse().unwrap(), &world.bundle).unwrap();
    let stages = stages(&of_version(NEW), &running, &hops, &Wish::default()).unwrap();
    (world, stages)
}

#[test]
fn each_node_is_drained_before_its_kubelet_is_changed_and_takes_pods_again() {
    let (world, stages) = with_planes();
    assert_eq!(stages.iter().map(|stage| stage.name).collect::<Vec<_>>(), [StageName::Configuration, StageName::Kubelets]);
    let plan = plan_of(&world, &stages[1]);
    let changed = changed(&plan);
    for (host, task, starts) in
        PLANES.map(|host| (host, "control-plane", "kubelet")).into_iter().chain(WORKERS.map(|host| (host, "kubelet-join", "joined")))
    {
        let steps = ["cordoned", starts, "still-ready", "takes-pods"];
        let settled = format!("{host}/{task}/settled");
        assert_eq!(changed.contains(&settled), PLANES.contains(&host), "{host}: a kubelet of another version makes static pods anew");
        assert!(steps.iter().all(|step| changed.contains(&format!("{host}/{task}/{step}"))), "{host}: {changed:?}");
        ordered(
            &plan,
            &[
                (host, task, "cordoned"),
                (host, task, "drained"),
                (host, task, starts),
                (host, task, "still-ready"),
                (host, task, "takes-pods"),
            ],
        );
    }
    ordered(&plan, &[("cp1", "control-plane", "takes-pods"), ("cp2", "control-plane", "cordoned")]);
    for plane in PLANES {
        let kubelet = plan.step(&step_id(plane, "control-plane", "kubelet")).unwrap();
        let Action::Operation(Operation::KubeletStart(start)) = &kubelet.action else { panic!("{kubelet:?}") };
        assert!(start.ends_member, "{plane}: the new one can't have its port before");
        assert!(matches!(&kubelet.gate, Some((Disruption::RestartMember { .. }, Need::Wanted))), "{kubelet:?}");
        let rests = plan.step(&step_id(plane, "control-plane", "rests")).unwrap();
        assert!(matches!(&rests.gate, Some((Disruption::RestartApiServer { .. }, Need::Wanted))), "{rests:?}");
        ordered(&plan, &[(plane, "control-plane", "drained"), (plane, "control-plane", "rests"), (plane, "control-plane", "kubelet")]);
    }
    let kubelet_of_cp1 = [("cp1", "control-plane", "kubelet"), ("cp1", "control-plane", "settled"), ("cp2", "control-plane", "cordoned")];
    ordered(&plan, &kubelet_of_cp1);
    ordered(&plan, &[("cp1", "control-plane", "settled"), ("cp1", "control-plane", "still-ready")]);
    // The load balancer of a worker is made anew with its kubelet, and takes every API server for ready at first.
    for plane in PLANES {
        ordered(&plan, &[(plane, "control-plane", "takes-pods"), ("worker1", "kubelet-join", "cordoned")]);
    }
    ordered(&plan, &[("worker1", "kubelet-join", "takes-pods"), ("worker2", "kubelet-join", "cordoned")]);
}

/// A run that was cut off in a drain has left CoreDNS without a pod, which is not how it is to be left when all nodes have been drained.
#[test]
fn what_was_ill_before_a_drain_is_waited_for_after_it() {
    let (mut world, stages) = with_planes();
    world.hosts.values_mut().for_each(|host| host.images.retain(|image, _| !image.contains("coredns")));
    let again = step_id("cp1", "network", "coredns-running-again");
    let plan = plan_of(&world, &stages[1]);
    assert!(plan.step(&again).is_some(), "{:?}", changed(&plan));
    ordered(&plan, &[("worker2", "kubelet-join", "still-ready"), ("cp1", "network", "coredns-running-again")]);
    let mut stays = stages[1].clone();
    stays.cluster.underway.iter_mut().for_each(|underway| underway.drained.clear());
    assert!(plan_of(&world, &stays).step(&again).is_none(), "no pod leaves a node");
}

/// `upgrade_cluster_setup: true` and `drain_nodes: false`.
#[test]
fn pods_stay_where_somebody_says_so() {
    let wish = Wish { undrained: true, ..Wish::default() };
    let drained = |wish: &Wish| way(&old(), wish).into_iter().flat_map(|stage| stage.cluster.underway.unwrap().drained).collect::<Vec<_>>();
    assert_eq!(drained(&wish), Vec::<String>::new());
    assert_eq!(drained(&Wish::default()), PLANES.into_iter().chain(WORKERS).collect::<Vec<_>>());
}
