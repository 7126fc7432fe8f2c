//! Which certificates are made anew before they end, and what is started anew for them.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_crds::model::{AuthorityName, AuthorityPair, OwnAuthority, Pem, PemSource};
use kok_tasks::change::ChangeKind;
use kok_tasks::gate::Disruption;
use kok_tasks::plan::{Inputs, Making, Plan, Seen, Selection, make_part, renew, renew_looks};
use kok_tasks::renewal::{CertificatePart, Renewal, to_be_issued};

use crate::support::world::World;
use crate::support::{NOW, highly_available, inputs, own_etcd, step_id};

const DAY: i64 = 24 * 60 * 60;
/// Of a year and an hour a third is left after 243 days and some hours.
const SOON: i64 = 244 * DAY;
static ALL_PARTS: BTreeSet<CertificatePart> = BTreeSet::new();

fn of_all() -> Renewal<'static> {
    Renewal { hosts: &[], parts: &ALL_PARTS, all: false, successor: None }
}

fn seen(world: &World) -> Seen {
    let mut seen = world.seen();
    for host in &world.cluster.hosts {
        seen.add_observations(&host.name, world.look(&host.name, renew_looks(&world.cluster, host).iter()));
    }
    seen
}

fn renewed(world: &World, renewal: &Renewal<'_>, later: i64) -> Plan {
    match renew(&world.cluster, renewal, NOW + later, &seen(world)) {
        Ok(Making::Made(plan)) => *plan,
        other => panic!("{other:?}"),
    }
}

fn changes(plan: &Plan) -> Vec<String> {
    plan.changes().map(|(step, _)| step.id.to_string()).collect()
}

fn applied(world: &World, later: i64) -> Plan {
    let inputs = Inputs { now_seconds: NOW + later, ..inputs(&world.cluster, &world.bundle) };
    match make_part(&inputs, &world.seen(), &Selection::whole()) {
        Ok(Making::Made(plan)) => *plan,
        other => panic!("{other:?}"),
    }
}

const LEAVES: [&str; 7] = [
    "apiserver",
    "apiserver-kubelet-client",
    "apiserver-etcd-client",
    "front-proxy-client",
    "etcd/server",
    "etcd/peer",
    "etcd/healthcheck-client",
];

/// All that a control plane with its own member gets anew, and what follows.
fn everything(host: &str) -> BTreeSet<String> {
    let leaves = LEAVES.iter().flat_map(|leaf| [format!("certificates/pki/{leaf}.key"), format!("certificates/pki/{leaf}.crt")]);
    let users = ["admin", "controller-manager", "scheduler"].map(|user| format!("certificates/{user}.conf"));
    let after = ["api-server", "kubeconfigs-read", "controllers"].map(|step| format!("control-plane/{step}"));
    let plane = leaves.chain(users).chain(after).map(|step| format!("{host}/{step}"));
    plane.chain(of_kubelet(host)).collect()
}

/// What a host's kubelet shows, with its key.
fn of_kubelet(host: &str) -> [String; 2] {
    ["key", "certificate"].map(|file| format!("{host}/kubelet-certificate/{file}"))
}

/// All that all hosts get anew.
fn of_all_hosts(world: &World) -> BTreeSet<String> {
    let (planes, workers): (Vec<_>, Vec<_>) = world.cluster.nodes().partition(|host| host.roles.control_plane);
    let of_workers = workers.iter().flat_map(|host| of_kubelet(&host.name));
    planes.iter().flat_map(|host| everything(&host.name)).chain(of_workers).collect()
}

#[test]
fn what_has_a_third_of_its_time_left_stays_and_the_rest_is_made_anew() {
    let world = World::converged();
    assert_eq!(changes(&renewed(&world, &of_all(), SOON - DAY)), [""; 0]);
    assert!(applied(&world, SOON - DAY).is_empty());
    let plan = renewed(&world, &of_all(), SOON);
    assert_eq!(changes(&plan).into_iter().collect::<BTreeSet<_>>(), of_all_hosts(&world));
    let change = plan.change(&step_id("cp1", "certificates", "pki/etcd/peer.crt")).unwrap();
    assert!(change.because.starts_with("it ends at "), "{change:?}");
    // `apply` does the same, and starts neither etcd nor the API server nor a kubelet anew.
    assert_eq!(changes(&applied(&world, SOON)).into_iter().collect::<BTreeSet<_>>(), of_all_hosts(&world));
}

#[test]
fn the_file_says_how_long_before_their_end() {
    let mut world = World::converged();
    world.cluster.settings.certificates.renew_before = Some(Duration::from_secs(30 * 86_400));
    assert_eq!(changes(&renewed(&world, &of_all(), SOON)), [""; 0]);
    assert_eq!(changes(&renewed(&world, &of_all(), 334 * DAY)), [""; 0]);
    assert_eq!(changes(&renewed(&world, &of_all(), 336 * DAY)).into_iter().collect::<BTreeSet<_>>(), of_all_hosts(&world));
}

/// As where the authority ends with it: it would be made again and again.
#[test]
fn what_could_not_last_longer_stays() {
    let mut world = World::converged();
    let ten_years = Duration::from_secs(3650 * 86_400);
    world.cluster.settings.certificates.validity = ten_years;
    world.cluster.settings.certificates.renew_before = Some(ten_years - Duration::from_secs(1));
    assert_eq!(changes(&renewed(&world, &of_all(), SOON)).len(), of_all_hosts(&world).len(), "another one would last longer");
    world.cluster.settings.certificates.validity = Duration::from_secs(86_400);
    world.cluster.settings.certificates.renew_before = Some(Duration::from_secs(400 * 86_400));
    assert_eq!(changes(&renewed(&world, &of_all(), 0)), [""; 0], "another one would end earlier");
}

#[test]
fn parts_hosts_and_all_are_chosen_by_word() {
    let world = World::bare_of(highly_available()).converge();
    let (front, hosts) = (BTreeSet::from([CertificatePart::FrontProxy]), ["cp2".to_owned()]);
    let some = |all, parts, hosts, later| changes(&renewed(&world, &Renewal { hosts, parts, all, successor: None }, later));
    let expected =
        ["cp2/certificates/pki/front-proxy-client.key", "cp2/certificates/pki/front-proxy-client.crt", "cp2/control-plane/api-server"];
    assert_eq!(some(false, &front, &hosts, SOON), expected);
    assert_eq!(some(false, &front, &hosts, DAY), [""; 0]);
    assert_eq!(some(true, &front, &hosts, DAY), expected);
    // A run that was interrupted goes on when it is asked for again.
    assert_eq!(some(true, &front, &hosts, 30 * 60), [""; 0]);
    let all: BTreeSet<String> = some(true, &ALL_PARTS, &[], DAY).into_iter().collect();
    assert_eq!(all, of_all_hosts(&world));
    let kubelets = BTreeSet::from([CertificatePart::Kubelets]);
    assert_eq!(some(true, &kubelets, &["worker1".to_owned()], DAY), of_kubelet("worker1"));
}

#[test]
fn controller_managers_are_started_anew_one_after_the_other() {
    let world = World::bare_of(highly_available()).converge();
    for plan in [renewed(&world, &of_all(), SOON), applied(&world, SOON)] {
        let read = |host| step_id(host, "control-plane", "kubeconfigs-read");
        let run = |host| step_id(host, "control-plane", "controllers");
        let waits = |later, earlier| plan.changed_needs(&read(later)).iter().any(|id| *id == run(earlier));
        assert!(waits("cp2", "cp1") && waits("cp3", "cp2") && !waits("cp1", "cp3"));
        // Files harm nobody: all of them are written at once.
        let file = step_id("cp3", "certificates", "scheduler.conf");
        assert!(plan.changed_needs(&file).iter().all(|id| id.host() == "cp3"));
    }
}

/// What was killed between files and starts: the times of the files say what is left.
#[test]
fn a_run_that_was_cut_off_goes_on() {
    let mut world = World::converged();
    let text = world.hosts["cp1"].paths["/etc/kubernetes/scheduler.conf"].content.clone();
    world.host("cp1").now += 5;
    world.host("cp1").write("/etc/kubernetes/scheduler.conf", 0o600, &text);
    assert_eq!(changes(&renewed(&world, &of_all(), DAY)), ["cp1/control-plane/kubeconfigs-read", "cp1/control-plane/controllers"]);
    // A key that has lost its certificate gets another one, with another key.
    let mut world = World::converged();
    world.host("cp1").paths.remove("/etc/kubernetes/pki/etcd/peer.crt");
    let expected = ["cp1/certificates/pki/etcd/peer.key", "cp1/certificates/pki/etcd/peer.crt", "cp1/control-plane/api-server"];
    assert_eq!(changes(&renewed(&world, &of_all(), DAY)), expected);
}

#[test]
fn members_that_are_units_are_started_anew_through_the_gate() {
    let world = World::bare_of(own_etcd()).converge();
    let plan = renewed(&world, &of_all(), SOON);
    for (before, host) in [("etcd1", "etcd2"), ("etcd2", "etcd3")] {
        let service = plan.step(&step_id(host, "etcd", "service")).unwrap();
        let gate = Disruption::RestartMember { host: host.to_owned() };
        assert_eq!(service.gate.as_ref().map(|(disruption, _)| disruption), Some(&gate));
        let change = plan.change(&service.id).unwrap();
        assert_eq!(change.kind, ChangeKind::DoAgain, "{change:?}");
        assert!(plan.changed_needs(&service.id).iter().any(|id| *id == step_id(before, "etcd", "member")));
    }
    let of_worker: Vec<String> = plan.changes().filter(|(step, _)| step.host == "worker1").map(|(step, _)| step.id.to_string()).collect();
    assert_eq!(of_worker, of_kubelet("worker1"));
}

/// Nobody here has the key: what is due is named, and the rest is made anew.
#[test]
fn what_somebody_else_signs_is_named() {
    let mut world = World::converged();
    let certificate = world.hosts["cp1"].paths["/etc/kubernetes/pki/front-proxy-ca.crt"].content.clone();
    let origin = kok_crds::Position { file: "c.yaml".into(), line: 1, column: 1 };
    world.cluster.settings.certificates.authorities = vec![OwnAuthority {
        name: AuthorityName::FrontProxy,
        certificate: Pem { source: PemSource::File("front-proxy-ca.crt".to_owned()), origin },
        key: None,
        pair: Some(AuthorityPair { certificate, key: None }),
    }];
    let due = |later| to_be_issued(&world.cluster, &of_all(), &seen(&world), NOW + later);
    assert_eq!(due(DAY), []);
    let named: Vec<String> = due(SOON).into_iter().map(|due| format!("{}/{}", due.host, due.path)).collect();
    assert_eq!(named, ["cp1/pki/front-proxy-client.crt"]);
    let made = changes(&renewed(&world, &of_all(), SOON));
    assert!(!made.iter().any(|step| step.contains("front-proxy")) && made.len() == of_all_hosts(&world).len() - 2, "{made:?}");
}

/// Nobody takes it any more, so the kubelet can't ask for another one by it.
#[test]
fn a_kubelet_whose_certificate_has_ended_gets_in_anew() {
    const CURRENT: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    let mut world = World::converged();
    let worker = world.cluster.hosts.iter().find(|host| !host.roles.control_plane).unwrap().name.clone();
    let leaf = world.hosts["cp1"].paths["/etc/kubernetes/pki/front-proxy-client.crt"].content.clone();
    let hosts = ["cp1".to_owned(), worker.clone()];
    for host in &hosts {
        world.host(host).write(CURRENT, 0o600, &leaf);
        world.host(host).now += 5;
        world.host(host).start("kubelet.service");
    }
    assert_eq!(changes(&applied(&world, 0)), [""; 0], "it is valid");
    for host in &hosts {
        world.host(host).now += (366 * DAY).unsigned_abs();
    }
    let plan = applied(&world, 0);
    let join = plan.change(&step_id(&worker, "kubelet-join", "joined")).unwrap_or_else(|| panic!("{:?}", changes(&plan)));
    assert!(join.kind == ChangeKind::Join && join.because.starts_with(&format!("{CURRENT} ended at ")), "{join:?}");
    let made = changes(&plan);
    for step in ["certificates/kubelet.conf", "control-plane/kubelet", "control-plane/kubelet-finalized", "control-plane/bootstrap-token"] {
        assert!(made.contains(&format!("cp1/{step}")), "{step}: {made:?}");
    }
}
