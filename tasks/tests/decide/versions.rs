//! Several versions at once: somebody is upgrading the cluster by other means.

use kok_crds::model::Cluster;
use kok_tasks::observe::{API_SERVER, CONTAINERD, ETCD, ImageState, KUBELET};
use kok_tasks::plan::{Choice, Plan, Refusal, Selection};
use kok_tasks::preconditions;

use crate::bootstrap::refusal_text;
use crate::support::host::Host;
use crate::support::world::World;
use crate::support::{highly_available, own_etcd};

const OLD: &str = "1.36.3";
const NEW: &str = "1.37.1";
const CONTROL_PLANES: [&str; 3] = ["cp1", "cp2", "cp3"];
const WORKERS: [&str; 2] = ["worker1", "worker2"];
const OF_CONTROL_PLANE: [&str; 3] = [API_SERVER, "kube-controller-manager", "kube-scheduler"];

fn control_plane(world: &mut World, name: &str, version: &str) {
    OF_CONTROL_PLANE
        .iter()
        .for_each(|program| world.host(name).has_version(program, if *program == API_SERVER { version } else { "" }, version));
}

fn kubelet(world: &mut World, name: &str, running: &str, next: &str) {
    world.host(name).has_version(KUBELET, running, next);
    world.api.nodes.get_mut(name).unwrap().kubelet_version = format!("v{running}");
}

/// A cluster that runs the version of the file, but for what is said.
fn running(control_planes: [&str; 3], kubelets: [&str; 5]) -> World {
    let mut world = World::bare_of(highly_available()).converge();
    CONTROL_PLANES.into_iter().zip(control_planes).for_each(|(name, version)| control_plane(&mut world, name, version));
    CONTROL_PLANES.into_iter().chain(WORKERS).zip(kubelets).for_each(|(name, version)| kubelet(&mut world, name, version, version));
    world
}

fn limited(world: &World, hosts: &[&str]) -> Result<(Plan, Vec<String>), Vec<Refusal>> {
    let limit: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    world.plan_of(&Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &world.cluster).unwrap())
}

fn of_version(version: &str) -> Cluster {
    Cluster { kubernetes_version: version.parse().unwrap(), ..highly_available() }
}

fn written(refusals: &[Refusal]) -> String {
    let said = |refusal: &Refusal| {
        let Refusal { what, at, because, hint, .. } = refusal.clone();
        format!("{what}\nat: {}\nbecause: {}\nhint: {}\n", at.unwrap_or_default(), because.unwrap_or_default(), hint.unwrap_or_default())
    };
    refusals.iter().map(said).collect()
}

/// As `kubeadm upgrade apply` leaves a cluster: one control plane and the uploaded configuration are new.
#[test]
fn a_cluster_that_kubeadm_has_half_upgraded_is_refused_with_either_version() {
    let world = running([NEW, OLD, OLD], [OLD; 5]);
    let refusals = world.try_plan().unwrap_err();
    insta::assert_snapshot!("half_upgraded", written(&refusals));
    assert!(preconditions::has_mixed_versions(&world.cluster, &world.seen()));
    let back = preconditions::check(&of_version(OLD), &world.seen());
    assert_eq!(back.len(), 1, "{back:?}");
    assert!(written(&back).contains("write kubernetesVersion: 1.37.1"), "{}", written(&back));
    for part in [["cp1"], ["cp3"], ["worker1"]] {
        let refusals = limited(&world, &part).unwrap_err();
        assert!(refusal_text(&refusals).contains("and the file asks for 1.37.1"), "{part:?}: {}", refusal_text(&refusals));
    }
}

#[test]
fn each_part_of_an_upgrade_that_is_left_is_refused() {
    let cases = [
        ([NEW, NEW, OLD], [NEW; 5]),
        ([NEW, NEW, NEW], [OLD; 5]),
        ([NEW, NEW, NEW], [NEW, NEW, NEW, NEW, OLD]),
        // In the wrong order.
        ([OLD, OLD, OLD], [OLD, OLD, OLD, OLD, NEW]),
    ];
    for (control_planes, kubelets) in cases {
        let world = running(control_planes, kubelets);
        let said = refusal_text(&world.try_plan().unwrap_err());
        assert!(said.contains("several versions of Kubernetes run (1.36.3, 1.37.1)"), "{said}");
    }
    let said = written(&running([OLD, OLD, OLD], [OLD, OLD, OLD, OLD, NEW]).try_plan().unwrap_err());
    assert!(said.contains("put the kubelet 1.36.3 back on worker2, for none may be newer than an API server"), "{said}");
    let world = running([NEW; 3], [NEW; 5]);
    assert!(world.try_plan().is_ok() && limited(&world, &["worker2"]).is_ok(), "the upgrade has ended");
    assert!(preconditions::warnings(&world.cluster, &world.seen()).is_empty());
}

#[test]
fn one_program_of_a_control_plane_or_a_file_of_another_minor_is_enough() {
    for program in OF_CONTROL_PLANE {
        let mut world = running([NEW; 3], [NEW; 5]);
        world.host("cp2").has_version(program, "", OLD);
        assert!(refusal_text(&world.try_plan().unwrap_err()).contains("several versions"), "{program}");
    }
    let mut world = running([NEW; 3], [NEW; 5]);
    world.host("cp2").has_version(API_SERVER, OLD, NEW);
    assert!(written(&world.try_plan().unwrap_err()).contains("1.36.3 (then 1.37.1)"), "the manifest is new, and the old one still runs");
    let mut world = running([NEW; 3], [NEW; 5]);
    kubelet(&mut world, "worker1", NEW, "1.38.0");
    assert!(written(&world.try_plan().unwrap_err()).contains("1.37.1 (then 1.38.0)"), "the next start would be the newer one");
}

/// It is how a run looks that was killed after it had written the program and before it had started it.
#[test]
fn a_kubelet_of_another_patch_is_started_anew_once_all_api_servers_have_the_version() {
    let mut world = running([NEW; 3], [NEW; 5]);
    kubelet(&mut world, "worker1", "1.37.0", NEW);
    assert!(world.try_plan().is_ok(), "{}", refusal_text(&world.try_plan().unwrap_err()));
    let warnings = preconditions::warnings(&world.cluster, &world.seen());
    assert!(written(&warnings).contains("kubelets of another version than 1.37.1 run on worker1"), "{warnings:?}");
    let (_, mut asked) = limited(&world, &["worker1"]).unwrap();
    asked.sort();
    assert_eq!(asked, CONTROL_PLANES, "a kubelet may be newer than none of their API servers");
    let (_, asked) = limited(&running([NEW; 3], [NEW; 5]), &["worker1"]).unwrap();
    assert!(asked.len() < CONTROL_PLANES.len(), "{asked:?}");
    control_plane(&mut world, "cp3", "1.37.0");
    for refusals in [world.try_plan().unwrap_err(), limited(&world, &["worker1"]).unwrap_err()] {
        assert!(refusal_text(&refusals).contains("several versions of Kubernetes run (1.37.0, 1.37.1)"), "{}", refusal_text(&refusals));
    }
}

/// The cluster's configuration may say nothing of it yet, or already the new one.
#[test]
fn one_other_version_is_told_once() {
    let world = running([OLD; 3], [OLD; 5]);
    let refusals = world.try_plan().unwrap_err();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusal_text(&refusals).contains("Kubernetes 1.36.3 runs, and the file asks for 1.37.1"), "{refusals:?}");
    let mut world = world;
    let map = world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap();
    let text = map["data"]["ClusterConfiguration"].as_str().unwrap().replace(NEW, OLD);
    map["data"]["ClusterConfiguration"] = text.into();
    let refusals = world.try_plan().unwrap_err();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusal_text(&refusals).contains("the running cluster has kubernetesVersion v1.36.3"), "{refusals:?}");
}

#[test]
fn a_host_that_is_away_is_judged_by_its_node_and_left_behind() {
    let world = running([NEW; 3], [NEW, NEW, NEW, NEW, OLD]);
    let without = |is_left_out: bool| {
        let mut seen = kok_tasks::plan::Seen::default();
        for host in world.cluster.hosts.iter().filter(|host| host.name != "worker2") {
            seen.add_facts(&host.name, world.seen().facts(&host.name).unwrap().clone());
            seen.add_observations(&host.name, world.seen().observations(&host.name).clone());
        }
        if is_left_out {
            seen.add_unreachable("worker2");
        }
        refusal_text(&preconditions::check(&world.cluster, &seen))
    };
    assert!(without(false).contains("several versions of Kubernetes run"), "{}", without(false));
    assert_eq!(without(true), "", "nothing is changed there, and an older kubelet may go on");
}

/// Its node tells of its former life.
#[test]
fn a_host_that_was_made_anew_is_of_no_version() {
    let mut world = running([NEW; 3], [NEW, NEW, NEW, NEW, OLD]);
    world.hosts.insert("worker2".into(), Host::bare("worker2"));
    assert!(!preconditions::has_mixed_versions(&world.cluster, &world.seen()));
    world.host("worker2").has_version(KUBELET, "", OLD);
    assert!(!preconditions::has_mixed_versions(&world.cluster, &world.seen()), "a program that no node runs is written anew first");
}

#[test]
fn etcd_of_another_minor_is_no_part_of_apply() {
    let mut world = World::bare_of(highly_available()).converge();
    world.host("cp2").images.insert("registry.k8s.io/etcd:3.6.8-0".into(), ImageState { digest: String::new(), pinned: true });
    insta::assert_snapshot!("older_etcd", written(&world.try_plan().unwrap_err()));
    let mut world = World::bare_of(own_etcd()).converge();
    world.host("etcd2").has_version(ETCD, "", "3.8.0");
    let said = written(&world.try_plan().unwrap_err());
    assert!(said.contains("3.7.0 (then 3.8.0)"), "{said}");
    world.host("etcd2").has_version(ETCD, "", "3.7.4");
    assert!(world.try_plan().is_ok(), "a patch is put on one member after the other");
    let mut world = World::bare_of(own_etcd());
    world.host("etcd2").has_version(ETCD, "", "3.8.0");
    assert!(world.try_plan().is_ok(), "one that was never started is not bound to anything");
}

#[test]
fn a_newer_containerd_is_known_without_the_cluster() {
    let mut world = World::bare_of(highly_available()).converge();
    world.hosts.values_mut().for_each(|host| {
        host.units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    });
    assert!(world.try_plan().is_ok(), "{}", refusal_text(&world.try_plan().unwrap_err()));
    world.host("worker1").has_version(CONTAINERD, "99.0.0", "99.0.0");
    let said = refusal_text(&world.try_plan().unwrap_err());
    assert!(said.contains("worker1 runs containerd 99.0.0, and the newest of the bundle is"), "{said}");
}
