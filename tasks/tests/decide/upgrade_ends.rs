//! What an upgrade comes to.

use kok_crds::model::Cluster;
use kok_tasks::drain::{Cordon, Cordoner};
use kok_tasks::gate::{Disruption, Need};
use kok_tasks::observe::{API_SERVER, ETCD, KUBELET};
use kok_tasks::operations::Operation;
use kok_tasks::plan::Action;
use kok_tasks::upgrade::{Pause, Running, Stage, StageName, Wish, path, stages};

use crate::support::step_id;
use crate::support::upgrading::{NEW, OLD, alone_of_version, of_version, upgradable};
use crate::support::world::World;
use crate::upgrades::{PLANES, ordered, plan_of, way};

fn upgraded() -> World {
    let mut world = upgradable(of_version(OLD));
    while let Some(stage) = way(&world, &Wish::default()).into_iter().next() {
        let plan = plan_of(&world, &stage);
        assert!(!plan.is_empty(), "{}", stage.name);
        world.cluster = stage.cluster;
        world.carry_out_all(&plan);
    }
    world
}

/// Stage after stage, each planned from what hosts say by then, and nothing is left for another upgrade or an apply.
#[test]
fn all_stages_lead_to_the_new_version() {
    let mut world = upgraded();
    let numbers = |version: &str| version.split('.').map(|part| part.parse().unwrap()).collect::<Vec<u64>>();
    for (program, version) in [(API_SERVER, NEW), (KUBELET, NEW), (ETCD, "3.7.0")] {
        let runs: Vec<_> = world.versions_of(program).into_iter().map(|(major, minor, patch)| vec![major, minor, patch]).collect();
        assert_eq!(runs, [numbers(version)], "{program}");
    }
    world.cluster = of_version(NEW);
    assert_eq!(world.plan().changes().count(), 0);
}

/// A kubelet of another minor version makes all static pods anew; a member that gets its version meanwhile is started once, and not once more.
#[test]
fn a_member_comes_with_the_kubelet_beside_it_while_nothing_starts_either() {
    for (cluster, planes) in [(of_version(OLD), &PLANES[..]), (alone_of_version(OLD), &PLANES[..1])] {
        let mut world = upgradable(cluster);
        let file = Cluster { kubernetes_version: NEW.parse().unwrap(), ..world.cluster.clone() };
        let all = way_of(&file, &world);
        let [first, second, ..] = &all[..] else { panic!("{all:?}") };
        let plan = plan_of(&world, first);
        world.cluster = first.cluster.clone();
        world.carry_out_all(&plan);
        assert_eq!(world.versions_of(ETCD), [(3, 6, 14)].into(), "each may meet the next minor version");
        assert_eq!(world.versions_of(API_SERVER), [(1, 37, 1)].into(), "no kubelet is newer than an API server");
        let plan = plan_of(&world, second);
        for host in planes.iter().copied() {
            let etcd = |name| (host, "etcd", name);
            let plane = |name| (host, "control-plane", name);
            ordered(&plan, &[plane("drained"), plane("rests"), etcd("manifest"), plane("kubelet"), etcd("member")]);
            ordered(&plan, &[plane("kubelet"), plane("api-server"), plane("settled"), plane("still-ready"), plane("takes-pods")]);
            let step = |id| plan.step(&id).unwrap();
            let rests = step(step_id(host, "control-plane", "rests"));
            assert!(matches!(rests.action, Action::Operation(Operation::PlaneRests(_))), "{rests:?}");
            assert!(matches!(rests.gate, Some((Disruption::RestartApiServer { .. }, Need::Wanted))), "{rests:?}");
            let kubelet = step(step_id(host, "control-plane", "kubelet"));
            assert!(matches!(kubelet.gate, Some((Disruption::RestartMember { .. }, Need::Wanted))), "{kubelet:?}");
            assert!(
                plan.changes().all(|(step, _)| step.id != step_id(host, "control-plane", "manifests")),
                "the API server is there already"
            );
        }
        if let [before, .., after] = planes {
            for works in [(*before, "control-plane", "takes-pods"), (*before, "etcd", "member")] {
                ordered(&plan, &[works, (after, "control-plane", "cordoned")]);
            }
        }
        world.cluster = second.cluster.clone();
        world.carry_out_all(&plan);
        assert_eq!(world.versions_of(ETCD), [(3, 7, 0)].into());
        assert!(planes.iter().all(|host| world.hosts[*host].versions[KUBELET].running == Some(NEW.parse().unwrap())));
    }
}

/// Cut off between the last kubelet and the end: all have the version, and the same word lets the node take pods again.
#[test]
fn a_node_that_a_run_has_left_cordoned_takes_pods_again() {
    let mut world = upgraded();
    let cordon = |world: &mut World, by| world.api.nodes.get_mut("worker2").unwrap().cordon = Cordon::Ours(by);
    cordon(&mut world, Cordoner::Word);
    assert_eq!(way(&world, &Wish::default()), [], "what somebody asked for by a word stays");
    cordon(&mut world, Cordoner::Run);
    let others = Wish { limit: vec!["worker1".to_owned()], ..Wish::default() };
    assert_eq!(way(&world, &others), []);
    let stages = way(&world, &Wish::default());
    assert_eq!(
        stages.iter().map(|stage| (stage.name, stage.hosts.as_slice())).collect::<Vec<_>>(),
        [(StageName::Rest, &["worker2".to_owned()][..])]
    );
    let plan = plan_of(&world, &stages[0]);
    assert_eq!(plan.changes().map(|(step, _)| step.id.to_string()).collect::<Vec<_>>(), ["cp1/control-plane/uncordoned"]);
    world.carry_out_all(&plan);
    assert_eq!(way(&world, &Wish::default()), []);
}

/// All but kubelets have the version, and an API server is away: nobody could drain their nodes, and whoever asks is told whom it waits for.
#[test]
fn kubelets_wait_for_every_api_server() {
    for (cluster, plane) in [(of_version(OLD), "cp2"), (alone_of_version(OLD), "cp1")] {
        let mut world = upgradable(cluster);
        let file = Cluster { kubernetes_version: NEW.parse().unwrap(), ..world.cluster.clone() };
        let kubelets = loop {
            let stage = way_of(&file, &world).into_iter().next().unwrap();
            if stage.name == StageName::Kubelets {
                break stage;
            }
            let plan = plan_of(&world, &stage);
            world.cluster = stage.cluster;
            world.carry_out_all(&plan);
        };
        world.host(plane).down.insert("kube-apiserver".to_owned());
        let stages = way_of(&file, &world);
        let [rest, after, ..] = &stages[..] else { panic!("{stages:?}") };
        assert_eq!((rest.name, rest.hosts.as_slice(), &after.hosts), (StageName::Rest, &[plane.to_owned()][..], &kubelets.hosts));
        assert!(plan_of(&world, rest).changes().any(|(step, _)| step.id.as_str() == format!("{plane}/control-plane/api-server")));
        let refused = World { cluster: after.cluster.clone(), ..world.clone() }.try_plan().unwrap_err();
        assert!(format!("{refused:?}").contains(&format!("the API server of {plane} is not ready")), "{refused:?}");
    }
}

fn way_of(file: &Cluster, world: &World) -> Vec<Stage> {
    let running = Running::from_seen(file, &world.seen_before_upgrade()).unwrap();
    let hops = path(&running, &file.kubernetes_version, &world.bundle).unwrap();
    stages(file, &running, &hops, &Wish::default()).unwrap()
}

/// A run was cut off while the only control plane rested: nobody but its file says which kubelet it has, and that one stays.
#[test]
fn a_kubelet_that_rests_keeps_its_version() {
    let mut world = upgradable(alone_of_version(OLD));
    let file = Cluster { kubernetes_version: NEW.parse().unwrap(), ..world.cluster.clone() };
    world.host("cp1").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    let first = way_of(&file, &world).into_iter().next().unwrap();
    let kubelet = first.cluster.kubelet_version(first.cluster.host("cp1").unwrap());
    assert_eq!((first.name, kubelet.to_string().as_str()), (StageName::ControlPlanes, OLD));
}

/// At a pause nothing follows, whatever is waited for there.
#[test]
fn at_a_pause_an_api_server_is_waited_for_and_no_more() {
    let mut world = upgradable(of_version(OLD));
    let wish = Wish { pause: Some(Pause::First), ..Wish::default() };
    while let Some(stage) = way(&world, &wish).into_iter().next() {
        let plan = plan_of(&world, &stage);
        world.cluster = stage.cluster;
        world.carry_out_all(&plan);
    }
    world.host("cp1").down.insert("kube-apiserver".to_owned());
    let stages = way(&world, &wish);
    let [rest] = &stages[..] else { panic!("{stages:?}") };
    assert_eq!((rest.name, rest.hosts.as_slice()), (StageName::Rest, &["cp1".to_owned()][..]));
    let versions = |name: &str| {
        let host = rest.cluster.host(name).unwrap();
        [rest.cluster.plane_version(host), rest.cluster.kubelet_version(host)].map(ToString::to_string)
    };
    assert_eq!([versions("cp1"), versions("cp2")], [[NEW, OLD], [OLD, OLD]]);
}
