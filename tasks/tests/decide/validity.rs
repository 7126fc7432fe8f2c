//! When certificates end, as a control plane has them.

use kok_tasks::observe::Look;
use kok_tasks::validity;

use crate::support::NOW;
use crate::support::world::World;

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
