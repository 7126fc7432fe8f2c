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
    let found = validity::of(&world.look("cp1", validity::looks()));
    let names: Vec<_> = found.iter().map(|validity| validity.name).collect();
    let leaves = ["apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client", "etcd/server", "etcd/peer"];
    let rest = ["etcd/healthcheck-client", "ca", "etcd/ca", "front-proxy-ca"];
    assert_eq!(names, [&leaves[..], &rest[..]].concat());
    for validity in found {
        let days = if validity.is_authority { 3650 } else { 365 };
        match validity.end {
            Ok(end) => assert!((end - NOW - days * DAY).abs() <= 2 * DAY, "{}: {end}", validity.name),
            Err(why) => assert_eq!((validity.path.as_str(), why.is_empty()), ("/etc/kubernetes/pki/etcd/peer.crt", false)),
        }
    }
    assert_eq!(validity::of(&World::bare().look("cp1", validity::looks())), []);
}

/// Whoever only wants to know a date must not hold a key for it.
#[test]
fn no_key_is_asked_for() {
    for look in validity::looks() {
        assert!(matches!(&look, Look::Content(path) if path.ends_with(".crt")), "{look:?}");
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
