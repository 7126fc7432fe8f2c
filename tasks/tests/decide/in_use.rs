//! Every certificate of a host, and whether what runs has it.

use kok_pki::{AuthorityKind, inspect_certificate};
use kok_tasks::in_use::{self, CertificateInUse, Held, Signer, Urgency};

use crate::support::NOW;
use crate::support::world::World;

const DAY: i64 = 24 * 60 * 60;

fn held(world: &World, host: &str) -> Vec<Held> {
    let of = world.cluster.host(host).unwrap();
    in_use::held_certificates(&world.cluster, of, &world.look(host, in_use::looks(&world.cluster, of).iter()))
}

fn one(world: &World, host: &str, name: &str) -> Held {
    held(world, host).into_iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{host} has no {name}"))
}

fn running(world: &World, name: &str) -> CertificateInUse {
    let of = world.cluster.host("cp1").unwrap();
    one(world, "cp1", name).running(&world.cluster, &world.look("cp1", in_use::looks(&world.cluster, of).iter()), None)
}

#[test]
fn of_every_certificate_it_is_known_who_has_signed_it() {
    let world = World::converged();
    let signed: Vec<(&str, Signer)> = held(&world, "cp1").into_iter().map(|it| (it.name, it.signer)).collect();
    let of = |kind| Signer::Authority(kind);
    for (name, signer) in [
        ("apiserver", of(AuthorityKind::Kubernetes)),
        ("apiserver-etcd-client", of(AuthorityKind::Etcd)),
        ("front-proxy-client", of(AuthorityKind::FrontProxy)),
        ("etcd/peer", of(AuthorityKind::Etcd)),
        ("scheduler.conf", of(AuthorityKind::Kubernetes)),
        ("ca", Signer::Itself),
        ("etcd/ca", Signer::Itself),
    ] {
        assert!(signed.contains(&(name, signer.clone())), "{name}: {signed:?}");
    }
    let authorities: Vec<&str> = held(&world, "cp1").into_iter().filter(|it| it.is_authority).map(|it| it.name).collect();
    assert_eq!(authorities, ["ca", "etcd/ca", "front-proxy-ca"]);
}

/// Only public things are looked at.
#[test]
fn no_key_is_asked_for() {
    let world = World::converged();
    for host in &world.cluster.hosts {
        let script = kok_tasks::observe::probe_script(&kok_tasks::observe::Nonce::new([7; 16]), &in_use::looks(&world.cluster, host), None);
        assert!(!script.contains(".key") && !script.contains("sa.pub") && !script.contains("cat /etc/kubernetes"), "{script}");
    }
}

/// The trap of those who renew by hand: the file is new, and the program was not started since.
#[test]
fn a_program_that_has_not_read_the_file_is_found() {
    let mut world = World::converged();
    assert_eq!(running(&world, "scheduler.conf"), CertificateInUse::Has("started after it".to_owned()));
    let text = world.hosts["cp1"].paths["/etc/kubernetes/scheduler.conf"].content.clone();
    world.host("cp1").now += 5;
    world.host("cp1").write("/etc/kubernetes/scheduler.conf", 0o600, &text);
    assert!(matches!(running(&world, "scheduler.conf"), CertificateInUse::Lacks(why) if why.starts_with("kube-scheduler was started on ")));
    assert_eq!(running(&world, "admin.conf"), CertificateInUse::Nobody);
    world.host("cp1").programs.clear();
    assert_eq!(running(&world, "scheduler.conf"), CertificateInUse::Unknown("kube-scheduler does not run".to_owned()));
}

#[test]
fn what_is_shown_at_a_port_is_compared_with_the_file() {
    let mut world = World::converged();
    let now = world.host("cp1").now;
    world.host("cp1").programs.insert("etcd".to_owned(), now);
    let of = world.cluster.host("cp1").unwrap();
    let seen = world.look("cp1", in_use::looks(&world.cluster, of).iter());
    let (own, other) = (one(&world, "cp1", "etcd/server"), one(&world, "cp1", "etcd/peer"));
    let said = |shown| own.running(&world.cluster, &seen, Some(&shown));
    assert_eq!(said(own.facts.clone()), CertificateInUse::Has("shown".to_owned()));
    assert!(matches!(said(other.facts.clone()), CertificateInUse::Lacks(why) if why.starts_with("etcd shows one that ends on ")));
    // Where nobody can look, the start of the program still says something.
    assert_eq!(said(Err("sshd forwards nothing".to_owned())), CertificateInUse::Has("started after it".to_owned()));
}

#[test]
fn it_is_urgent_by_days_and_by_the_life_that_is_left() {
    let world = World::converged();
    let leaf = one(&world, "cp1", "apiserver");
    let end =
        inspect_certificate(&world.hosts["cp1"].paths["/etc/kubernetes/pki/apiserver.crt"].content).unwrap().not_after.unix_timestamp();
    assert_eq!(leaf.urgency(NOW), Urgency::None);
    for (left, urgency) in [
        (61 * DAY, Urgency::None),
        (60 * DAY, Urgency::Warning),
        (15 * DAY, Urgency::Warning),
        (14 * DAY, Urgency::Alarm),
        (0, Urgency::Alarm),
        (-1, Urgency::Ended),
    ] {
        assert_eq!(leaf.urgency(end - left), urgency, "{left}");
    }
    // One of three days is not late when it is made.
    let mut short = leaf.clone();
    short.facts.as_mut().unwrap().not_before = short.facts.as_ref().unwrap().not_after - time::Duration::days(3);
    assert_eq!([2 * DAY, DAY, 6 * 3600].map(|left| short.urgency(end - left)), [Urgency::None, Urgency::Warning, Urgency::Alarm]);
    let broken = Held { facts: Err("it is cut off".to_owned()), ..leaf };
    assert_eq!(broken.urgency(NOW), Urgency::Alarm);
}
