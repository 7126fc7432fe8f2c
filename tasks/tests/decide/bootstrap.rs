//! The founding of several control planes: `docs/bootstrap.md`, as a test.

use std::collections::BTreeSet;

use kok_tasks::change::Change;
use kok_tasks::plan::{Choice, Plan, Refusal, Selection, StepId};

use crate::support::world::World;
use crate::support::{highly_available, step_id};

pub(crate) const DATA: &str = "/var/lib/etcd/member/wal";

pub(crate) fn bare() -> World {
    World::bare_of(highly_available())
}

/// What is wrong, why, and what to do.
pub(crate) fn refusal_text(refusals: &[Refusal]) -> String {
    let parts = |it: &Refusal| {
        let parts = [Some(&it.what), it.at.as_ref(), it.because.as_ref(), it.hint.as_ref()];
        parts.into_iter().flatten().cloned().collect::<Vec<_>>().join("; ")
    };
    refusals.iter().map(parts).collect::<Vec<_>>().join("\n")
}

pub(crate) fn refused(world: &World) -> String {
    refusal_text(&world.try_plan().expect_err("nothing is refused"))
}

fn limited(world: &World, hosts: &[&str]) -> (Plan, Vec<String>) {
    let limit: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    // As far as the host needs nobody else.
    let only = ["host", "names", "kubeadm-configuration", "certificates"].map(str::to_owned);
    let selection = Selection::new(Choice { only: &only, skip: &[], limit: &limit }, &world.cluster).unwrap();
    world.plan_of(&selection).unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals)))
}

/// Carries out what the plan has for these hosts, as far as it needs no other.
pub(crate) fn advance(world: &mut World, wanted: impl Fn(&str) -> bool) {
    let plan = world.plan();
    let mut left: Vec<_> = plan.changes().collect();
    let (mut moved, mut done) = (true, BTreeSet::new());
    while moved {
        moved = false;
        for (step, change) in std::mem::take(&mut left) {
            let is_left = |id: &StepId| plan.change(id).is_some() && !done.contains(id);
            let free = plan.needs(&step.id).iter().all(|(need, _)| !is_left(&need.id));
            if wanted(step.id.as_str()) && free && !world.waits(step, change) {
                world.carry_out(step, change);
                done.insert(step.id.clone());
                moved = true;
            } else {
                left.push((step, change));
            }
        }
    }
}

/// Why a host gets a whole set of certificates, if it does.
fn set_of<'a>(plan: &'a Plan, host: &str) -> Option<&'a Change> {
    plan.change(&step_id(host, "certificates", "set"))
}

/// Everything of these hosts that comes before their API servers.
pub(crate) fn start(world: &mut World, hosts: &[&str]) {
    let of_others = ["/control-plane/", "/network", "/kubelet-join/", "/load-balancer/", "/time-sync/"];
    let early = ["/control-plane/preflight", "/control-plane/manifests", "/control-plane/kubelet"];
    advance(world, |id| {
        let own = hosts.iter().any(|host| id.starts_with(&format!("{host}/")));
        own && (early.iter().any(|end| id.ends_with(end)) || !of_others.iter().any(|task| id.contains(task)))
    });
}

#[test]
fn control_planes_that_work_are_changed_one_after_the_other() {
    let across = |plan: &Plan, host: &str, task: &str, step: &str| -> Vec<String> {
        let needs = plan.needs(&step_id(host, task, step));
        needs.iter().map(|(need, _)| need.id.to_string()).filter(|id| !id.starts_with(host)).collect()
    };
    let founded = bare().plan();
    assert_eq!(across(&founded, "cp2", "etcd", "manifest"), Vec::<String>::new(), "nobody waits when there is nothing to lose");
    let mut world = bare().converge();
    world.cluster.settings.kube_proxy_mode = kok_crds::model::KubeProxyMode::Iptables;
    for host in ["cp1", "cp2", "cp3"] {
        world.host(host).write("/etc/kubernetes/manifests/etcd.yaml", 0o600, "edited");
    }
    let plan = world.plan();
    for (host, before) in [("cp2", "cp1"), ("cp3", "cp2")] {
        let expected =
            ["control-plane/api-server", "control-plane/goes-on", "control-plane/kubelet", "control-plane/still-ready", "etcd/member"];
        let expected = expected.map(|step| format!("{before}/{step}"));
        let expected = BTreeSet::from(expected);
        for (task, step) in [("etcd", "manifest"), ("control-plane", "manifests")] {
            let needs: BTreeSet<String> = across(&plan, host, task, step).into_iter().collect();
            assert_eq!(needs, expected, "{host}/{task}/{step}");
            assert!(plan.change(&step_id(host, task, step)).is_some(), "{host}/{task}/{step} changes something");
        }
        assert!(plan.change(&step_id(before, "etcd", "member")).is_some(), "that the member before works again is waited for");
    }
    assert_eq!(across(&plan, "cp1", "etcd", "manifest"), Vec::<String>::new());
    assert!(world.converge().plan().is_empty());
}

#[test]
fn what_works_waits_for_what_is_broken() {
    let across = |plan: &Plan, host: &str, step: (&str, &str)| -> BTreeSet<String> {
        let needs = plan.needs(&step_id(host, step.0, step.1));
        needs.iter().map(|(need, _)| need.id.to_string()).filter(|id| !id.starts_with(host)).collect()
    };
    let (etcd, server) = (("etcd", "manifest"), ("control-plane", "manifests"));
    let set = |ids: &[&str]| -> BTreeSet<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
    let mut world = bare().converge();
    world.cluster.settings.kube_proxy_mode = kok_crds::model::KubeProxyMode::Iptables;
    // The API server of the last one does not come up, for example by an option that was wrong.
    world.host("cp3").paths.remove("/etc/kubernetes/manifests/kube-apiserver.yaml");
    let plan = world.plan();
    assert_eq!(across(&plan, "cp3", etcd), set(&[]), "it may be mended at once");
    let last = ["cp3/control-plane/api-server", "cp3/etcd/member"];
    assert_eq!(across(&plan, "cp1", server), set(&last), "the change has to work there first");
    assert_eq!(
        across(&plan, "cp2", etcd),
        set(&[
            "cp1/control-plane/api-server",
            "cp1/control-plane/kubelet",
            "cp1/etcd/member",
            "cp1/control-plane/goes-on",
            "cp1/control-plane/still-ready",
            last[0],
            last[1]
        ])
    );
    // Two without an API server, and members that work: not both may be lost.
    world.host("cp2").paths.remove("/etc/kubernetes/manifests/kube-apiserver.yaml");
    let plan = world.plan();
    assert_eq!(across(&plan, "cp3", etcd), set(&["cp2/etcd/member"]));
    assert_eq!(across(&plan, "cp2", etcd), set(&[]));
    assert!(world.converge().plan().is_empty());
}

#[test]
fn members_are_founded_together_and_nothing_that_leaves_the_host_says_so() {
    let world = bare().converge();
    for host in ["cp1", "cp2", "cp3"] {
        let bootstrap = world.hosts[host].text("/etc/kubernetes/kokctl/bootstrap.yaml");
        let list = "cp1=https://10.20.0.11:2380,cp2=https://10.20.0.12:2380,cp3=https://10.20.0.13:2380";
        assert!(bootstrap.contains(list) && bootstrap.contains("value: \"new\""), "{bootstrap}");
        let uploaded = world.hosts[host].text("/etc/kubernetes/kokctl/cluster.yaml");
        assert!(!uploaded.contains("initial-cluster\"") && !uploaded.contains(":2380") && uploaded.contains("value: \"existing\""));
        assert!(uploaded.contains("controlPlaneEndpoint: \"lb-apiserver.kubernetes.local:6443\""), "{uploaded}");
    }
}

#[test]
fn every_host_knows_its_own_way_to_the_api() {
    let world = bare().converge();
    let ways = |host: &str| -> Vec<String> {
        let lines = world.hosts[host].text("/etc/hosts").lines();
        lines.filter_map(|line| line.strip_suffix(" lb-apiserver.kubernetes.local")).map(str::to_owned).collect()
    };
    assert_eq!(ways("cp2"), ["10.20.0.12"]);
    assert_eq!(ways("worker1"), ["127.0.0.1", "10.20.0.11", "10.20.0.12", "10.20.0.13"]);
    assert_eq!(ways("worker2"), ["127.0.0.1", "10.20.0.12", "10.20.0.13", "10.20.0.11"]);
    assert!(
        world.hosts["worker1"].has("/etc/kubernetes/manifests/kokctl-haproxy.yaml") && !world.hosts["cp1"].has("/etc/kubernetes/haproxy")
    );
}

#[test]
fn the_cluster_is_asked_where_it_answers() {
    let mut world = bare().converge();
    world.host("cp1").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    let plan = world.plan();
    let speaking: Vec<&str> = plan.steps().filter(|step| step.id.as_str().ends_with("/uploaded")).map(|step| step.host.as_str()).collect();
    assert_eq!(speaking, ["cp2"]);
    let changes: Vec<&str> = plan.changes().map(|(step, _)| step.id.as_str()).collect();
    assert!(changes.contains(&"cp1/control-plane/kubelet") && !changes.iter().any(|id| id.starts_with("cp2/control-plane")), "{changes:?}");
}

#[test]
fn authorities_are_made_only_when_it_is_known_that_there_are_none() {
    let (plan, asked) = limited(&bare(), &["cp2"]);
    assert!(asked.contains(&"cp1".to_owned()) && asked.contains(&"cp3".to_owned()), "{asked:?}");
    assert!(set_of(&plan, "cp2").is_some());
}

#[test]
fn a_host_that_lost_its_certificates_gets_them_of_the_authority_that_is_there() {
    let mut world = bare().converge();
    world.host("cp2").paths.retain(|path, _| !path.starts_with("/etc/kubernetes/pki"));
    let plan = world.plan();
    assert!(set_of(&plan, "cp2").is_some());
    assert!(set_of(&plan, "cp1").is_none());
}

#[test]
fn nothing_is_founded_over_data_of_others() {
    let mut world = bare();
    world.host("cp3").folder(DATA, 0o700);
    let told = refused(&world);
    assert!(told.contains("data of an etcd that kokctl did not start; host cp3 (10.20.0.13)"), "{told}");
}

#[test]
fn no_second_authority_is_made_for_data_that_are_there() {
    let mut world = bare().converge();
    for host in ["cp1", "cp2", "cp3"] {
        world.host(host).paths.retain(|path, _| !path.starts_with("/etc/kubernetes/pki"));
    }
    let told = refused(&world);
    assert!(told.contains("lost its certificate authorities; host cp1"), "{told}");
}

#[test]
fn a_member_without_its_data_is_not_started_anew() {
    let mut world = bare().converge();
    world.host("cp2").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    world.host("cp2").paths.retain(|path, _| !path.starts_with(DATA));
    let told = refused(&world);
    assert!(told.contains("its member of etcd has lost its data; host cp2") && told.contains("kokctl replace -f FILE cp2"), "{told}");
}

/// The probe of a host looks at paths before it asks etcd, and a member of a founding that goes on by itself may begin in between.
#[test]
fn a_member_that_began_while_its_host_was_looked_at_has_lost_nothing() {
    let mut world = bare();
    start(&mut world, &["cp1", "cp2", "cp3"]);
    assert!(world.hosts["cp1"].has(DATA));
    world.host("cp1").paths.retain(|path, _| !path.starts_with(DATA));
    assert!(world.try_plan().is_ok(), "it answers itself: {:?}", world.try_plan().err().map(|refusals| refusal_text(&refusals)));
    world.host("cp1").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    assert!(refused(&world).contains("its member of etcd has lost its data; host cp1"), "only others tell of it");
}

#[test]
fn two_members_of_three_are_enough_to_begin() {
    let mut world = bare();
    start(&mut world, &["cp2", "cp3"]);
    let plan = world.plan();
    let speaking: Vec<&str> =
        plan.steps().filter(|step| step.id.as_str().ends_with("/administrators")).map(|step| step.host.as_str()).collect();
    assert_eq!(speaking, ["cp2"], "cp1 is not there yet, and the others elect a leader");
}

#[test]
fn a_member_that_was_never_started_is_started_later() {
    let mut world = bare();
    start(&mut world, &["cp1", "cp2"]);
    // Everything of cp3 but its kubelet, whose images did not come.
    advance(&mut world, |id| id.starts_with("cp3/") && !id.contains("/images/") && !id.contains("/control-plane/kubelet"));
    advance(&mut world, |id| id.starts_with("cp1/") && !id.contains("nodes-ready"));
    assert!(world.hosts["cp3"].has("/etc/kubernetes/manifests/etcd.yaml") && !world.hosts["cp3"].has(DATA));
    assert!(world.hosts["cp1"].has("/var/lib/kokctl/made/founded"), "the cluster was set up without cp3");
    assert!(world.try_plan().is_ok(), "{}", refusal_text(&world.try_plan().unwrap_err()));
}

#[test]
fn while_nobody_answers_an_empty_member_is_not_started() {
    let mut world = bare().converge();
    for host in ["cp1", "cp2", "cp3"] {
        world.host(host).units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    }
    world.host("cp2").paths.retain(|path, _| !path.starts_with(DATA));
    let told = refused(&world);
    assert!(told.contains("not known whether its member of etcd was started before; host cp2"), "{told}");
}

#[test]
fn the_token_is_made_through_the_api_server_that_answers() {
    let mut world = bare().converge();
    world.host("cp1").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    let plan = world.plan();
    let token = plan.step(&step_id("cp2", "control-plane", "bootstrap-token")).unwrap();
    assert!(format!("{:?}", token.action).contains("host: \"cp2\""), "{:?}", token.action);
}

#[test]
fn another_control_plane_is_asked_where_one_is_silent() {
    let mut world = bare().converge();
    world.host("cp1").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    world.host("worker1").paths.remove("/etc/kubernetes/haproxy/haproxy.cfg");
    let selection = Selection::new(
        Choice { only: &["load-balancer".to_owned()], skip: &[], limit: &["worker1".to_owned(), "cp1".to_owned()] },
        &world.cluster,
    );
    let (_, asked) = world.plan_of(&selection.unwrap()).unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals)));
    assert!(asked.contains(&"cp2".to_owned()), "{asked:?}");
}

#[test]
fn workers_are_ours_while_not_all_control_planes_were_asked() {
    let mut world = bare().converge();
    world.host("cp2").paths.retain(|path, _| !path.starts_with("/etc/kubernetes/pki"));
    let (plan, _) = limited(&world, &["cp2", "worker1"]);
    assert!(set_of(&plan, "cp2").is_some());
}

#[test]
fn what_is_half_of_a_set_is_not_made_whole() {
    let mut world = bare().converge();
    world.host("cp2").paths.remove("/etc/kubernetes/pki/ca.crt");
    assert!(refused(&world).contains("/etc/kubernetes/pki/ca.crt is missing; host cp2"));
}
