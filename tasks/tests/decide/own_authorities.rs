//! Authorities that a user brings along, and those that hosts have.

use kok_crds::model::{AuthorityName, AuthorityPair, EscrowFile, OwnAuthority, Pem, PemSource};
use kok_crds::{Position, Secret};
use kok_pki::{Authorities, FoundAuthorities, escrow, inspect_certificate};
use kok_tasks::identity;
use kok_tasks::plan::{Refusal, Step};
use kok_tasks::secret_name::SecretName;

use crate::support::NOW;
use crate::support::secrets::System;
use crate::support::world::World;

const FILES: [(AuthorityName, &str); 3] = [
    (AuthorityName::Kubernetes, "pki/ca.crt"),
    (AuthorityName::Etcd, "pki/etcd/ca.crt"),
    (AuthorityName::FrontProxy, "pki/front-proxy-ca.crt"),
];

fn own(name: AuthorityName, certificate: &str) -> Vec<OwnAuthority> {
    let origin = Position { file: "cluster.yaml".into(), line: 7, column: 3 };
    let pem = Pem { source: PemSource::File("a.pem".to_owned()), origin };
    let pair = AuthorityPair { certificate: certificate.to_owned(), key: Some(Secret::new("the-key-itself")) };
    vec![OwnAuthority { name, certificate: pem.clone(), key: Some(pem), pair: Some(pair) }]
}

fn of_host(world: &World, path: &str) -> String {
    world.secret(&SecretName::ControlPlaneFile { host: "cp1".to_owned(), path: path.to_owned() })
}

#[test]
fn one_that_is_in_use_is_not_replaced() {
    for ((name, path), (_, other)) in FILES.into_iter().zip(FILES.into_iter().cycle().skip(1)) {
        let mut world = World::converged();
        let (theirs, others) = (of_host(&world, path), of_host(&world, other));
        world.cluster.settings.certificates.authorities = own(name, &theirs);
        assert!(world.plan().is_empty(), "{path}");
        world.cluster.settings.certificates.authorities = own(name, &others);
        let refusals = world.try_plan().map(|plan| plan.steps().count()).unwrap_err();
        let [Refusal { at: Some(at), because: Some(because), .. }] = refusals.as_slice() else { panic!("{refusals:?}") };
        assert!(at.starts_with("host cp1 ") && at.ends_with(path), "{at}");
        for pem in [theirs, others] {
            assert!(because.contains(&inspect_certificate(&pem).unwrap().sha256), "{because}");
        }
    }
}

#[test]
fn a_plan_says_whose_authorities_come_and_holds_no_key() {
    let mut world = World::bare();
    let certificate = of_host(&world, "pki/etcd/ca.crt");
    world.cluster.settings.certificates.authorities = own(AuthorityName::Etcd, &certificate);
    let plan = world.plan();
    let (step, _) = plan.changes().find(|(step, _)| step.id.to_string() == "cp1/certificates/set").unwrap();
    assert!(step.title().ends_with(" with your own authorities (etcd)"), "{}", step.title());
    let everything = format!("{:?} {:?}", world.cluster, plan.steps().collect::<Vec<_>>());
    assert!(!everything.contains("the-key-itself"));
}

/// What an escrow holds that has these authorities of cp1, and others as new ones.
fn kept(world: &World, same: &[AuthorityName]) -> EscrowFile {
    kept_with(world, same, Some(kok_pki::SecretText::new(of_host(world, "pki/sa.key"))))
}

/// The same with another key of service accounts, or a new one.
fn kept_with(world: &World, same: &[AuthorityName], service_account: Option<kok_pki::SecretText>) -> EscrowFile {
    let pair = |name: AuthorityName, path: &str| {
        let key = kok_pki::SecretText::new(of_host(world, &path.replace(".crt", ".key")));
        same.contains(&name).then(|| (of_host(world, path), Some(key)))
    };
    let [kubernetes, etcd, front_proxy] = FILES.map(|(name, path)| pair(name, path));
    let found = FoundAuthorities { kubernetes, etcd, front_proxy, service_account, token_keys: None };
    let now = time::OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    let authorities = Authorities::complete(found, &identity::policy(&world.cluster), now, &mut System).unwrap();
    let text = escrow(&world.cluster.name, &authorities, &[]);
    let origin = Position { file: "cluster.yaml".into(), line: 8, column: 3 };
    EscrowFile { path: "berlin.escrow".to_owned(), origin, kept: Some(Secret::new(text.expose())), is_lent: false }
}

#[test]
fn what_is_kept_is_of_this_cluster_or_of_none() {
    let all = FILES.map(|(name, _)| name);
    for (left_out, path) in FILES.map(|(name, path)| (Some(name), path)).into_iter().chain([(None, "")]) {
        let same: Vec<_> = all.into_iter().filter(|name| Some(*name) != left_out).collect();
        let mut bare = World::bare();
        bare.cluster.settings.certificates.escrow = Some(kept(&bare, &same));
        let plan = bare.try_plan().unwrap_or_else(|refusals| panic!("hosts that have nothing take what is kept: {refusals:?}"));
        let titles: Vec<String> = plan.steps().map(Step::title).collect();
        assert!(titles.iter().any(|title| title.ends_with("keys, and the keys of authorities in berlin.escrow")), "{titles:?}");
        let mut world = World::converged();
        world.cluster.settings.certificates.escrow = Some(kept(&world, &same));
        let refusals = match world.try_plan() {
            Ok(plan) => {
                assert!(plan.is_empty() && left_out.is_none(), "{left_out:?}");
                continue;
            }
            Err(refusals) => refusals,
        };
        let [Refusal { at: Some(at), because: Some(because), .. }] = refusals.as_slice() else { panic!("{refusals:?}") };
        assert!(at.ends_with(path) && because.contains("berlin.escrow") && because.contains("cluster.yaml:8:3"), "{at}: {because}");
    }
}

/// As a restore has them onto hosts that are new: nothing is put into a file, and hosts that have a cluster are named before any is touched.
#[test]
fn what_is_lent_is_kept_nowhere_and_meant_for_hosts_that_have_nothing() {
    let lent = |world: &World, same: &[AuthorityName]| EscrowFile { is_lent: true, ..kept(world, same) };
    let mut bare = World::bare();
    bare.cluster.settings.certificates.escrow = Some(lent(&bare, &[]));
    let plan = bare.try_plan().unwrap_or_else(|refusals| panic!("{refusals:?}"));
    assert!(plan.steps().all(|step| !step.title().contains("berlin.escrow")));
    let mut world = World::converged();
    world.cluster.settings.certificates.escrow = Some(lent(&world, &[]));
    let refusals = world.try_plan().map(|plan| plan.steps().count()).unwrap_err();
    assert!(refusals.iter().all(|refusal| refusal.hint.as_ref().unwrap().contains("the backup is of another cluster")), "{refusals:?}");
}

#[test]
fn the_kept_key_of_service_accounts_is_that_of_the_hosts() {
    let mut world = World::converged();
    world.cluster.settings.certificates.escrow = Some(kept_with(&world, &FILES.map(|(name, _)| name), None));
    let refusals = world.try_plan().map(|plan| plan.steps().count()).unwrap_err();
    let [Refusal { what, at: Some(at), because: Some(because), .. }] = refusals.as_slice() else { panic!("{refusals:?}") };
    assert!(what.contains("service accounts") && at.ends_with("pki/sa.pub") && because.contains("berlin.escrow"), "{at}: {because}");
}

/// Somebody has removed /etc/kubernetes/pki of all control planes, and programs go on with what they have read.
#[test]
fn control_planes_that_lost_their_keys_get_those_that_are_kept() {
    let whole = World::converged();
    let kept = EscrowFile { is_lent: true, ..kept(&whole, &FILES.map(|(name, _)| name)) };
    let mut world = whole.clone();
    for host in ["cp1", "cp2", "cp3"].into_iter().filter(|host| whole.cluster.host(host).is_some()) {
        world.host(host).paths.retain(|path, _| !path.starts_with("/etc/kubernetes/pki/"));
    }
    let refusals = world.try_plan().map(|plan| plan.steps().count()).unwrap_err();
    let hint = |refusal: &Refusal| refusal.hint.as_ref().is_some_and(|hint| hint.contains("restore BACKUP --only-pki"));
    assert!(refusals.iter().any(hint), "{refusals:?}");
    world.cluster.settings.certificates.escrow = Some(kept);
    let plan = world.try_plan().unwrap_or_else(|refusals| panic!("{refusals:?}"));
    let changed: Vec<String> = plan.changes().map(|(step, _)| step.id.to_string()).collect();
    assert!(changed.contains(&"cp1/certificates/set".to_owned()), "{changed:?}");
    world.carry_out_all(&plan);
    let left: Vec<String> = world.plan().changes().map(|(step, change)| format!("{} {change:?}", step.id)).collect();
    assert!(left.is_empty(), "{left:?}");
}
