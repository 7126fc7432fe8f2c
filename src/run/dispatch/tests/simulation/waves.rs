//! Workers that are upgraded beside each other, as many as may.

use kok_tasks::upgrade::StageName;
use model::support::cluster_of;
use model::support::upgrading::{NEW, OLD, upgradable};

use super::*;

const WORKERS: u8 = 20;

/// Three control planes and all these workers.
fn file(version: &str, serial: &str) -> Cluster {
    let host = |name: &str, number: u8, role: &str| format!("    - {{name: {name}, address: 10.20.0.{number}, roles: [{role}]}}\n");
    let planes = (1..=3).map(|number| host(&format!("cp{number}"), 10 + number, "control-plane"));
    let workers = (1..=WORKERS).map(|number| host(&format!("worker{number}"), 100 + number, "worker"));
    cluster_of(&format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  kubernetesVersion: {version}\n  hosts:\n{}  \
         network: {{plugin: flannel}}\n  time: {{sources: [cp1]}}\n  vars: {{serial: '{serial}'}}\n",
        planes.chain(workers).collect::<String>()
    ))
}

/// How the stage of workers goes where so many may be away, after the one of control planes.
fn upgraded(serial: &str) -> (Wave, Wave) {
    let mut of_planes = None;
    let mut world = upgradable(file(OLD, serial));
    for stage in upgrading::TypedCommand::default().stages_to(file(NEW, serial), &world).unwrap() {
        let is_of_workers = stage.name == StageName::Kubelets && stage.hosts.iter().any(|host| host.starts_with("worker"));
        world.cluster = stage.cluster;
        let plan = world.plan();
        let wave;
        (wave, world) = lived(world, &plan);
        match of_planes {
            Some(of_planes) if is_of_workers => return (of_planes, wave),
            None if stage.name == StageName::ControlPlanes => of_planes = Some(wave),
            _ => {}
        }
    }
    panic!("no stage has workers");
}

fn lived(world: World, plan: &Plan) -> (Wave, World) {
    let cluster = world.cluster.clone();
    block_on(async {
        let (model, stop) = Model::new(world, &[], None);
        let outcome = Dispatcher::over(plan, &cluster, Arc::clone(&model), model.events(), Pools::default(), stop).run().await;
        assert!(outcome.is_complete(), "{outcome:?}");
        (Wave::from_model(&model), model.world_afterwards())
    })
}

/// Workers that are away, each from the step that keeps pods from it to its last one.
#[derive(Clone, Copy)]
struct Wave {
    /// So many at once.
    most: usize,
    /// So many in the mean, while any is.
    mean: f64,
    /// Artifacts on their way at once, at the most.
    streams: usize,
}

impl Wave {
    fn from_model(model: &Model) -> Self {
        let worker = |step: &str| step.split('/').next().filter(|host| host.starts_with("worker")).map(str::to_owned);
        let mut away: BTreeMap<String, (Duration, Duration)> = BTreeMap::new();
        for (at, kind) in model.timed_events() {
            match kind {
                EventKind::StepStarted { step, .. } if step.contains("cordon") => {
                    away.extend(worker(&step).map(|host| (host, (at, at))));
                }
                EventKind::StepDone { step, .. } => {
                    worker(&step).and_then(|host| away.get_mut(&host)).into_iter().for_each(|(_, until)| *until = at);
                }
                _ => {}
            }
        }
        let is_away = |at: Duration| away.values().filter(|(from, until)| *from <= at && at < *until).count();
        let most = away.values().map(|(from, _)| is_away(*from)).max().unwrap_or_default();
        let all: Duration = away.values().map(|(from, until)| *until - *from).sum();
        let span = away.values().map(|(_, until)| *until).max().zip(away.values().map(|(from, _)| *from).min());
        let mean = span.map_or(0.0, |(end, begin)| all.as_secs_f64() / (end - begin).as_secs_f64());
        Self { most, mean, streams: model.most_streams() }
    }
}

/// A fifth of twenty is four: as many are away beside each other, and never more. Between them somebody looks whether the next may go, which takes as long here
/// as a drain of a node with one pod.
#[test]
fn twenty_workers_are_upgraded_in_waves() {
    let ((_, alone), (_, beside)) = (upgraded("1"), upgraded("20%"));
    assert_eq!((alone.most, beside.most), (1, 4), "{} and {} in the mean", alone.mean, beside.mean);
    assert!(alone.mean <= 1.0 && beside.mean > 2.0, "{} and {} in the mean", alone.mean, beside.mean);
}

/// Members of etcd that all unpack images at once write slowly together: control planes get theirs one after the other, and workers beside each other.
#[test]
fn artifacts_come_to_control_planes_one_after_the_other() {
    let (of_planes, of_workers) = upgraded("20%");
    assert_eq!((of_planes.streams, of_workers.streams), (crate::pools::STREAMS_IN_USE, crate::pools::STREAMS));
}
