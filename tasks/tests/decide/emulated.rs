//! An upgrade that can be taken back: every place from which somebody may ask for one of the ways, and what each changes.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_tasks::bundle::{Bundle, FORMAT, KubernetesRelease};
use kok_tasks::observe::API_SERVER;
use kok_tasks::plan::Plan;
use kok_tasks::upgrade::{Hop, Running, Stage, StageName, Turn, Wish, hops, stages};
use semver::Version;

use crate::support::upgrading::{alone_of_version, of_version, upgradable};
use crate::support::world::World;
use crate::support::{cluster_of, step_id};
use crate::upgrades::{is_after, old};

fn v(text: &str) -> Version {
    text.parse().unwrap()
}

fn bundle(releases: &[&str]) -> Bundle {
    let etcd = |version: &str| if version.starts_with("1.37") { "3.7.0" } else { "3.6.14" };
    let release = |version: &&str| KubernetesRelease {
        version: (*version).to_owned(),
        images: [("etcd".to_owned(), format!("registry.k8s.io/etcd:{}-0", etcd(version)))].into(),
    };
    Bundle {
        format: FORMAT,
        kubernetes: releases.iter().map(release).collect(),
        files: Vec::new(),
        images: Vec::new(),
        packages: Vec::new(),
    }
}

fn cluster(options: &str) -> Cluster {
    cluster_of(&format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: c}}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n  \
         - {{name: cp0, address: 10.0.0.11, roles: [control-plane]}}\n  vars: {{kube_kubeadm_apiserver_extra_args: {{{options}}}}}\n"
    ))
}

/// Control planes, `1.37.1` or `1.37.1~1.36` for one that works as another version, in a cluster that says 1.36.3 of itself.
fn running(planes: &[&str]) -> Running {
    let mut running = Running { shared: Some(v("1.36.3")), ..Running::default() };
    for (number, plane) in planes.iter().enumerate() {
        let (version, works_as) = plane.split_once('~').unwrap_or((plane, ""));
        let host = format!("cp{number}");
        running.planes.insert(host.clone(), v(version));
        running.kubelets.insert(host.clone(), v("1.36.3"));
        running.etcd.insert(host.clone(), v("3.6.14"));
        let minor = works_as.split_once('.').map(|(major, minor)| (major.parse().unwrap(), minor.parse().unwrap()));
        running.emulated.extend(minor.map(|minor| (host, minor)));
    }
    running
}

const ALL: [&str; 2] = ["1.36.3", "1.37.1"];

fn hop_texts(turn: Turn, planes: &[&str], to: &str) -> String {
    let hop = |hop: &Hop| match hop {
        Hop::Kubernetes { to, etcd, kubelets, emulates } => format!("{to} {etcd:?} {kubelets} {emulates:?}").replace("Version", ""),
        Hop::Etcd(version) => format!("etcd {version}"),
    };
    match hops(turn, &cluster(""), &running(planes), &v(to), &bundle(&ALL)) {
        Ok(hops) => hops.iter().map(hop).collect::<Vec<_>>().join("; "),
        Err(refused) => format!("{:?}", refused.refusal("c.yaml")),
    }
}

#[test]
fn control_planes_alone_go_on_and_come_back_and_the_rest_follows_a_word() {
    let there = "1.37.1~1.36";
    for planes in [&["1.36.3", "1.36.3"][..], &[there, "1.36.3"]] {
        assert_eq!(hop_texts(Turn::Emulate, planes, "1.37.1"), "1.37.1 None false Some((1, 36))", "{planes:?}");
    }
    assert_eq!(hop_texts(Turn::Emulate, &[there, there], "1.37.1"), "", "it is done");
    // Its manifest is there already, and what ran before runs still.
    for (turn, goes) in [(Turn::Emulate, "1.37.1 None"), (Turn::TakeBack, "1.36.3 None"), (Turn::Finish, "1.37.1 Some(")] {
        let is = hop_texts(turn, &["1.36.3~1.36"], "1.37.1");
        assert!(is.starts_with(goes), "{turn:?}: {is}");
    }
    // Components alone wait for that word, too.
    assert_eq!(hop_texts(Turn::Components, &["1.36.3", "1.37.1"], "1.37.1"), "");
    assert!(hop_texts(Turn::Components, &[there, "1.36.3"], "1.37.1").contains("--take-back"));
    for planes in [&[there, "1.36.3"][..], &[there, there]] {
        assert_eq!(hop_texts(Turn::TakeBack, planes, "1.37.1"), "1.36.3 None false None", "{planes:?}");
        assert!(hop_texts(Turn::Whole, planes, "1.37.1").contains("--take-back"), "{planes:?}");
    }
    assert_eq!(hop_texts(Turn::TakeBack, &["1.36.3"], "1.37.1"), "", "it is back");
    for planes in [&[there, there][..], &["1.37.1", there], &["1.37.1", "1.37.1"], &["1.36.3", "1.36.3"]] {
        let is = hop_texts(Turn::Finish, planes, "1.37.1");
        assert!(is.starts_with("1.37.1 Some(") && is.ends_with("true None"), "{planes:?}: {is}");
    }
}

#[test]
fn what_is_no_way_is_said() {
    let there = "1.37.1~1.36";
    let cases = [
        (Turn::TakeBack, &["1.37.1", there][..], "1.37.1", "can't be taken back any more"),
        (Turn::TakeBack, &["1.37.1~1.35"], "1.37.1", "nobody knows"),
        (Turn::Emulate, &["1.37.1", "1.36.3"], "1.37.1", "goes on without --emulate"),
        (Turn::Emulate, &["1.36.3"], "1.36.4", "can't work as 1.36"),
        (Turn::Emulate, &["1.36.3"], "1.38.0", "can't work as 1.36"),
        (Turn::Emulate, &[there], "1.37.2", "can't be one that can be taken back"),
        (Turn::Finish, &[there], "1.37.2", "is another one"),
    ];
    for (turn, planes, to, says) in cases {
        let is = hop_texts(turn, planes, to);
        assert!(is.contains(says), "{turn:?} {planes:?} {to}: {is}");
    }
    let of = |options: &str, releases: &[&str]| {
        let refused = hops(Turn::Emulate, &cluster(options), &running(&["1.36.3"]), &v("1.37.1"), &bundle(releases)).unwrap_err();
        format!("{:?}", refused.refusal("c.yaml"))
    };
    assert!(of("emulated-version: \"1.36\"", &ALL).contains("sets the option"), "the owner's own");
    assert!(of("runtime-config: api/alpha=true", &ALL).contains("alpha"));
    assert!(of("", &["1.37.1"]).contains("Kubernetes 1.36.3"), "what runs may have to come back");
}

/// With one control plane nobody else could say it, and that the new one does not come up is a reason to go back.
#[test]
fn what_an_api_server_that_is_away_can_not_say_other_hosts_do() {
    let mut world = old();
    set_versions(&mut world, "1.37.1", Some((1, 36)));
    for plane in ["cp1", "cp2", "cp3"] {
        world.host(plane).down.extend(["kube-apiserver".to_owned()]);
    }
    let running = |world: &World| Running::from_seen(&world.cluster, &world.seen()).unwrap();
    assert_eq!(running(&world).shared, Some(v("1.36.3")), "by kubelets, which stay");
    let way = way(&world, Turn::TakeBack);
    assert_eq!(way.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>(), ["control-planes"]);
}

/// Killed while the one API server starts in the version that it has got back: no manifest says any more what it works as, and it does not answer yet.
#[test]
fn what_is_taken_back_already_waits_for_its_api_server() {
    let mut world = upgradable(alone_of_version("1.36.3"));
    world.host("cp1").down.extend(["kube-apiserver".to_owned()]);
    let running = Running::from_seen(&world.cluster, &world.seen_before_upgrade()).unwrap();
    assert_eq!((running.shared.clone(), running.rest.planes.as_slice()), (Some(v("1.36.3")), &["cp1".to_owned()][..]));
    let of = |turn: Turn| {
        let cluster = alone_of_version("1.37.1");
        let hops = hops(turn, &cluster, &running, &v("1.37.1"), &world.bundle).unwrap();
        stages(&cluster, &running, &hops, &Wish::default()).unwrap()
    };
    let [rest] = &of(Turn::TakeBack)[..] else { panic!() };
    assert_eq!((rest.name, rest.hosts.as_slice()), (StageName::Rest, &["cp1".to_owned()][..]));
    let changed = plan_of(&world, rest).changes().map(|(step, _)| step.id.to_string()).collect::<Vec<_>>();
    assert!(changed.contains(&"cp1/control-plane/api-server".to_owned()), "{changed:?}");
    assert_eq!(of(Turn::Emulate).iter().map(|stage| stage.name).collect::<Vec<_>>(), [StageName::ControlPlanes]);
}

/// An option that the owner's patch of kubeadm's has put there is no upgrade that waits.
#[test]
fn what_works_as_an_older_version_by_its_owners_wish_is_upgraded_as_any() {
    let mut world = old();
    set_versions(&mut world, "1.36.3", Some((1, 35)));
    assert!(Running::from_seen(&world.cluster, &world.seen()).unwrap().emulated.is_empty());
}

fn way(world: &World, turn: Turn) -> Vec<Stage> {
    let running = Running::from_seen(&world.cluster, &world.seen()).unwrap();
    let cluster = of_version("1.37.1");
    let hops = hops(turn, &cluster, &running, &v("1.37.1"), &world.bundle).unwrap();
    stages(&cluster, &running, &hops, &Wish::default()).unwrap()
}

fn plan_of(world: &World, stage: &Stage) -> Plan {
    let mut world = world.clone();
    world.cluster = stage.cluster.clone();
    world.plan()
}

/// As manifests say it then.
fn set_versions(world: &mut World, version: &str, as_minor: Option<(u64, u64)>) {
    for plane in ["cp1", "cp2", "cp3"] {
        for program in [API_SERVER, "kube-controller-manager", "kube-scheduler"] {
            world.host(plane).has_version(program, version, version);
            world.host(plane).works_as(program, as_minor);
        }
    }
}

/// Neither etcd nor another kubelet nor what the cluster says of itself is touched, and one control plane follows the other.
#[test]
fn nothing_but_the_manifests_of_control_planes_changes() {
    let world = old();
    let way = way(&world, Turn::Emulate);
    assert_eq!(way.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>(), ["control-planes"]);
    let plan = plan_of(&world, &way[0]);
    let changed: BTreeSet<String> = plan.changes().map(|(step, _)| step.id.to_string()).collect();
    let may = [
        "control-plane/manifests",
        "control-plane/api-server",
        "control-plane/controllers",
        "control-plane/kubeconfigs-read",
        "control-plane/preflight",
        // Its kubelet rests meanwhile, and is the same then.
        "control-plane/rests",
        "control-plane/kubelet",
        "control-plane/goes-on",
        "control-plane/still-ready",
        "-again",
        // A rule that the new version brings, and that the one before has too.
        "control-plane/bootstrap-token",
        "control-plane/token-removal",
        "kubeadm-configuration/",
        "images/",
    ];
    let is_other = |step: &&String| step.starts_with("worker") || !may.iter().any(|part| step.contains(part));
    assert_eq!(changed.iter().filter(is_other).collect::<Vec<_>>(), Vec::<&String>::new());
    for (plane, before) in [("cp1", None), ("cp2", Some("cp1")), ("cp3", Some("cp2"))] {
        let manifests = step_id(plane, "control-plane", "manifests");
        assert!(changed.contains(manifests.as_str()), "{changed:?}");
        let ready = before.map(|before| step_id(before, "control-plane", "api-server"));
        assert!(ready.is_none_or(|ready| is_after(&plan, &manifests, &ready)), "{plane}");
        let written = |name: &str| format!("{:?}", plan.step(&step_id(plane, "kubeadm-configuration", name)).unwrap().action);
        assert_eq!(written("bootstrap").matches("emulated-version").count(), 3, "{}", written("bootstrap"));
        assert_eq!(written("cluster").matches("emulated-version").count(), 0, "what the cluster says of itself knows nothing of it");
    }
}

#[test]
fn the_way_back_is_one_of_control_planes_alone() {
    let mut world = old();
    set_versions(&mut world, "1.37.1", Some((1, 36)));
    let way = way(&world, Turn::TakeBack);
    let [stage] = way.as_slice() else { panic!("{way:?}") };
    let underway = stage.cluster.underway.as_ref().unwrap();
    assert!(underway.planes.values().all(|version| *version == v("1.36.3")) && underway.emulated.is_empty());
    assert!(
        underway.etcd.values().all(|version| *version == v("3.6.8")) && underway.kubelets.values().all(|version| *version == v("1.36.3"))
    );
    assert_eq!((stage.name.as_str(), underway.shared.clone()), ("control-planes", Some(v("1.36.3"))));
}

#[test]
fn the_word_that_ends_it_goes_the_whole_way() {
    let mut world = old();
    set_versions(&mut world, "1.37.1", Some((1, 36)));
    let names: Vec<&str> = way(&world, Turn::Finish).iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["control-planes", "kubelets", "configuration", "kubelets"]);
    let first = &way(&world, Turn::Finish)[0];
    let underway = first.cluster.underway.as_ref().unwrap();
    assert!(underway.emulated.is_empty());
    let members: BTreeSet<String> = underway.etcd.values().map(ToString::to_string).collect();
    assert_eq!(members, ["3.6.14".to_owned()].into(), "the next minor version comes with kubelets");
}
