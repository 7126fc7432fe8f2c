//! Three minor versions in one request, and a cluster whose etcd is units: what one is not allowed to leave out, and what one may.

use std::path::PathBuf;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION as NEW, Host, Lab, LabSpec};
use kok_tests::release::paths::default_cache;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{assert_complete, control_planes, kubectl};
use crate::cluster_support::kokctl::{Kokctl, image_of};
use crate::cluster_support::{ok, up};
use crate::highly_available_story::{any, units};
use crate::lab_support::wait_for;
use crate::members_story::killed;
use crate::members_story::load::Load;
use crate::upgrades::OLD;
use crate::upgrades_story::kubeadm;
use crate::upgrades_story::skew::Watch;

/// Two minor versions before the newest of the bundle.
const OLDEST: &str = "1.35.8";

/// Control planes go minor by minor; workers wait for the last one, and are drained once.
#[test]
fn two_minor_versions_at_once_drain_workers_once() {
    let lab = up(3);
    let kokctl = Kokctl::new(&lab).with_inventory("cluster.yaml", Vec::new(), with_oldest());
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let mut clock = Clock::start();
    kokctl.write_manifest(&lab.inventory(OLDEST).unwrap());
    kokctl.converge("apply");
    stays(&lab, &kokctl);
    clock.lap("a cluster");
    kokctl.write_manifest(&lab.inventory(NEW).unwrap());
    let said = kokctl.verb("upgrade", &["--check", "--bundle", &bundle]);
    println!("{}", said.stdout);
    assert!(said.code == 0 && said.stdout.contains(OLD) && said.stdout.contains("1.37.1 with etcd 3.7.0"), "{said:?}");
    let watch = Watch::begin(&lab);
    let after = any((1..=40).collect());
    println!("upgrade is killed after {after} steps");
    killed::after(&kokctl, &["upgrade", "--yes", "--bundle", &bundle], after);
    clock.lap("killed");
    let said = kokctl.verb("upgrade", &["--yes", "--bundle", &bundle]);
    println!("{}", said.stdout);
    assert!(said.code == 0 && said.stdout.contains(&format!("has Kubernetes {NEW}")), "{said:?}");
    clock.lap("upgraded");
    watch.end();
    for worker in ["worker1", "worker2"] {
        assert_eq!(drains(&kokctl, worker), 1, "{worker} is drained once");
    }
    kubectl(&lab, "wait --for=condition=Available --timeout=60s deployment/stays");
    kubectl(&lab, "-n kube-system rollout status deployment/coredns --timeout=60s");
    kokctl.has_nothing_to_do();
    assert_complete(&lab, NEW);
    kubeadm::finds_nothing(&lab.host("cp1").unwrap(), NEW);
}

/// `release build --with older-release --with oldest-release` makes it, as `make test-all PART=upgrades-far` does.
fn with_oldest() -> PathBuf {
    let path = default_cache().unwrap().join("bundle-oldest");
    assert!(path.join("bundle.json").is_file(), "there is none in {}: run `make test-all PART=upgrades-far`", path.display());
    path
}

/// Two pods of which one has to be there, of an image that every node has in every version.
fn stays(lab: &Lab, kokctl: &Kokctl<'_>) {
    let image = image_of(kokctl.bundle(), "echo").0;
    kubectl(lab, &format!("create deployment stays --replicas=2 --image={image} -- /echo serve --listen :8080"));
    kubectl(lab, "create poddisruptionbudget stays --selector=app=stays --min-available=1");
    kubectl(lab, "wait --for=condition=Available --timeout=60s deployment/stays");
}

/// How often a node was drained by any run so far.
fn drains(kokctl: &Kokctl<'_>, node: &str) -> usize {
    let journals = kokctl.journals();
    let is_drain = |line: &&str| line.contains("\"event\":\"step-done\"") && line.contains("drained\"") && line.contains(node);
    journals.lines().filter(is_drain).count()
}

/// Members first, by the patch that has to lie between; then API servers, each asked for by the others meanwhile.
#[test]
fn a_cluster_whose_etcd_is_units_gets_the_next_minor_version() {
    let lab = Lab::up(LabSpec::unique(6).control_planes(2).etcd(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let mut clock = Clock::start();
    kokctl.write_manifest(&lab.inventory(OLD).unwrap());
    kokctl.converge("apply");
    clock.lap("a cluster");
    kokctl.write_manifest(&lab.inventory(NEW).unwrap());
    let (load, watch) = (Load::begin_with_a_second_try(&lab, "worker1"), Watch::begin(&lab));
    let after = any((1..=30).collect());
    println!("upgrade is killed after {after} steps");
    killed::after(&kokctl, &["upgrade", "--yes", "--bundle", &bundle], after);
    load.goes_on_but_for("cut off", 0);
    clock.lap("killed");
    let said = kokctl.verb("upgrade", &["--yes", "--bundle", &bundle]);
    assert!(said.code == 0 && said.stdout.contains(&format!("has Kubernetes {NEW}")), "{said:?}");
    load.goes_on_but_for("upgraded", 0);
    clock.lap("upgraded");
    watch.end();
    load.end();
    let members: Vec<Host> = ["etcd1", "etcd2", "etcd3"].iter().map(|name| lab.host(name).unwrap()).collect();
    members.iter().for_each(|member| drop(units::works_with(&lab, member, &members)));
    for plane in control_planes(&lab) {
        kubeadm::finds_nothing(&plane, NEW);
        ok(&plane, "kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw /readyz");
    }
    kokctl.has_nothing_to_do();
    // A kubelet says of a static pod what it is when it looks at it the next time, within 90 s, if it could not by the load balancer that it had just ended.
    let balancer = "-n kube-system get pod haproxy-worker1 -o jsonpath='{.status.phase}'";
    wait_for("the API knows of the load balancer", 100, || kubectl(&lab, balancer) == "Running");
    assert_complete(&lab, NEW);
}
