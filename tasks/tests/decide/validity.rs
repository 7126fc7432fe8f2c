//! When certificates end, as a control plane has them.

use kok_tasks::observe::Look;
use kok_tasks::plan::{Inputs, Making, Selection, make_part};
use kok_tasks::validity;

use crate::support::world::World;
use crate::support::{NOW, inputs};

const DAY: i64 = 24 * 60 * 60;

#[test]
fn every_certificate_of_a_control_plane_is_known() {
    let mut world = World::converged();
    world.host("cp1").write("/etc/kubernetes/pki/etcd/peer.crt", 0o644, "-----BEGIN CERTIFICATE-----\n");
    let found = validity::certificate_validities(&world.look("cp1", validity::looks()));
    let names: Vec<_> = found.iter().map(|validity| validity.name).collect();
    let leaves = ["apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client", "etcd/server", "etcd/peer"];
    let rest = ["etcd/healthcheck-client", "admin.conf", "controller-manager.conf", "scheduler.conf", "ca", "etcd/ca", "front-proxy-ca"];
    assert_eq!(names, [&leaves[..], &rest[..]].concat());
    for validity in found {
        let days = if validity.is_authority { 3650 } else { 365 };
        match validity.end {
            Ok(end) => assert!((end - NOW - days * DAY).abs() <= 2 * DAY, "{}: {end}", validity.name),
            Err(why) => assert_eq!((validity.path.as_str(), why.is_empty()), ("/etc/kubernetes/pki/etcd/peer.crt", false)),
        }
    }
    assert_eq!(validity::certificate_validities(&World::bare().look("cp1", validity::looks())), []);
}

/// Whoever only wants to know a date must not hold a key for it.
#[test]
fn no_key_is_asked_for() {
    for look in validity::looks() {
        let public = match &look {
            Look::Content(path) => path.ends_with(".crt"),
            Look::KubeconfigCertificate(path) => path.ends_with(".conf"),
            _ => false,
        };
        assert!(public, "{look:?}");
    }
}

/// A machine whose clock is behind, within what is allowed: on the host, by whose clock it is judged there, the certificate works.
#[test]
fn what_is_valid_by_the_clock_of_its_host_is_not_replaced() {
    let mut world = World::converged();
    let certificate = world.host("cp1").paths["/etc/kubernetes/pki/apiserver.crt"].content.clone();
    let begins = kok_pki::inspect_certificate(&certificate).unwrap().not_before.unix_timestamp();
    let replaced = |offset: i64| {
        let mut seen = world.seen();
        world.hosts.keys().for_each(|host| seen.add_clock_offset(host, offset));
        let inputs = Inputs { now_seconds: begins - 60, ..inputs(&world.cluster, &world.bundle) };
        match make_part(&inputs, &seen, &Selection::whole()).unwrap() {
            Making::Made(plan) => plan.changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect::<Vec<_>>(),
            _ => panic!("no plan"),
        }
    };
    assert_eq!(replaced(60), Vec::<String>::new());
    let early = replaced(59);
    assert!(early.iter().any(|step| step.contains("/pki/apiserver.crt: it is not valid before")), "{early:?}");
}

/// A year and a day later: kubeconfigs have ended like leaves, and whoever read them at its start has to read them again.
#[test]
fn kubeconfigs_that_have_ended_are_renewed_and_read() {
    let world = World::converged();
    let later = NOW + 366 * DAY;
    let seen = world.seen();
    let inputs = Inputs { now_seconds: later, ..inputs(&world.cluster, &world.bundle) };
    let Making::Made(plan) = make_part(&inputs, &seen, &Selection::whole()).unwrap() else { panic!("no plan") };
    let changes: Vec<String> = plan.changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect();
    for user in ["admin", "controller-manager", "scheduler"] {
        let renewed = format!("cp1/certificates/{user}.conf: of the certificate inside: it expired at");
        assert!(changes.iter().any(|change| change.starts_with(&renewed)), "{user}: {changes:#?}");
    }
    assert!(!changes.iter().any(|change| change.contains("kubelet.conf")), "the kubelet renews its own: {changes:#?}");
    let read = "cp1/control-plane/kubeconfigs-read: cp1/certificates/controller-manager.conf changes";
    assert!(changes.iter().any(|change| change == read), "{changes:#?}");
    let asked = changes.iter().any(|change| change.starts_with("cp1/control-plane/api-server: cp1/certificates/"));
    assert!(asked, "the API is asked anew: {changes:#?}");
}

/// A run that was ended between the two: the kubeconfig is new, and the program has not read it.
#[test]
fn a_program_that_is_older_than_its_kubeconfig_is_restarted() {
    let mut world = World::converged();
    let host = world.host("cp1");
    let text = host.paths["/etc/kubernetes/scheduler.conf"].content.clone();
    host.now += 5;
    host.write("/etc/kubernetes/scheduler.conf", 0o600, &text);
    let (inputs, seen) = (inputs(&world.cluster, &world.bundle), world.seen());
    let Making::Made(plan) = make_part(&inputs, &seen, &Selection::whole()).unwrap() else { panic!("no plan") };
    let changes: Vec<String> = plan.changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect();
    let expected = [
        "cp1/control-plane/kubeconfigs-read: /etc/kubernetes/scheduler.conf changed after kube-scheduler was started",
        "cp1/control-plane/controllers: cp1/control-plane/kubeconfigs-read changes",
    ];
    assert_eq!(changes, expected);
}
