//! Clusters whose certificates somebody else has issued.

use std::collections::BTreeMap;

use kok_crds::model::{AuthorityName, AuthorityPair, Cluster, Host, IssuedFolder, OwnAuthority, Pem, PemSource};
use kok_crds::{Position, Secret};
use kok_pki::{Authorities, Credentials, KubeconfigUser, Leaf, Policy, Profile, issue, kubeconfig};
use kok_tasks::issued::{self, Files};
use kok_tasks::operations::FOUNDED;
use kok_tasks::preconditions::authority_kind;
use kok_tasks::secret_name::SecretName;
use time::{Duration, OffsetDateTime};

use crate::support::NOW;
use crate::support::secrets::System;
use crate::support::world::World;
use crate::support::{cluster, highly_available, own_etcd, step_id};

fn origin() -> Position {
    Position { file: "cluster.yaml".into(), line: 7, column: 3 }
}

fn now() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(NOW).unwrap()
}

/// Somebody with the keys of these authorities.
struct Owner {
    names: Vec<AuthorityName>,
    authorities: Authorities,
}

impl Owner {
    fn with_authorities(names: &[AuthorityName]) -> Self {
        Self { names: names.to_vec(), authorities: Authorities::generate(&Policy::default(), now(), &mut System).unwrap() }
    }

    /// Gives the cluster the certificates, and what has to be issued.
    fn issue(&self, cluster: &mut Cluster) {
        let own = self.names.iter().map(|name| {
            let certificate = self.authorities.get(authority_kind(*name)).certificate_pem().to_owned();
            let pem = Pem { source: PemSource::File(format!("{}.crt", name.as_str())), origin: origin() };
            OwnAuthority { name: *name, certificate: pem, key: None, pair: Some(AuthorityPair { certificate, key: None }) }
        });
        cluster.settings.certificates.authorities = own.collect();
        cluster.settings.certificates.super_admin_kubeconfig = self.names.contains(&AuthorityName::Kubernetes);
        let files: BTreeMap<String, Files> = cluster.hosts.iter().map(|host| (host.name.clone(), self.files(cluster, host))).collect();
        cluster.settings.certificates.issued = Some(IssuedFolder { path: "issued".to_owned(), origin: origin(), files: Some(files) });
    }

    /// What is asked for, by its path.
    fn files(&self, cluster: &Cluster, host: &Host) -> Files {
        let identity = kok_tasks::identity::control_plane(cluster, host);
        let mut files = Files::new();
        for path in issued::paths(cluster, host) {
            if let Some(leaf) = Leaf::ALL.into_iter().find(|leaf| kok_pki::Material::LeafCertificate(*leaf).path() == path) {
                let (certificate, key) = self.signed(&leaf.profile(&identity));
                files.insert(path.to_owned(), Secret::new(certificate));
                files.insert(path.replace(".crt", ".key"), key);
            }
            if let Some(user) = KubeconfigUser::ALL.into_iter().find(|user| kok_pki::Material::Kubeconfig(*user).path() == path) {
                let server = if host.roles.control_plane { user.server(&identity) } else { identity.cluster_server() };
                files.insert(path.to_owned(), self.kubeconfig(&user.profile(&identity), &server));
            }
        }
        files
    }

    fn signed(&self, profile: &Profile) -> (String, Secret) {
        let issued = issue(profile, self.authorities.get(profile.authority), &Policy::default(), now(), &mut System).unwrap();
        (issued.certificate_pem.clone(), Secret::new(issued.key.pem().expose()))
    }

    fn kubeconfig(&self, profile: &Profile, server: &str) -> Secret {
        let authority = self.authorities.get(profile.authority);
        let issued = issue(profile, authority, &Policy::default(), now(), &mut System).unwrap();
        let credentials = Credentials { user: &profile.common_name, certificate_pem: &issued.certificate_pem, key_pem: issued.key.pem() };
        Secret::new(kubeconfig("kubernetes", server, authority.certificate_pem(), &credentials).expose())
    }
}

/// Everything that is wrong with what was issued.
fn problems(cluster: &Cluster) -> Vec<String> {
    let issued = cluster.settings.certificates.issued.as_ref().unwrap();
    let files = issued.files.as_ref().unwrap();
    let of_host = |host: &Host| issued::problems(cluster, host, &files[&host.name], issued, now());
    cluster.hosts.iter().flat_map(of_host).map(|problem| problem.to_string()).collect()
}

fn keys(world: &World) -> Vec<String> {
    let of_host = |(name, host): (&String, &crate::support::host::Host)| {
        host.paths.keys().filter(|path| path.ends_with("ca.key")).map(|path| format!("{name}{path}")).collect::<Vec<_>>()
    };
    world.hosts.iter().flat_map(of_host).collect()
}

fn step_names(world: &World) -> Vec<String> {
    world.plan().steps().map(|step| step.id.to_string()).collect()
}

#[test]
fn a_cluster_comes_to_be_without_any_key_of_an_authority() {
    for mut cluster in [cluster(), highly_available(), own_etcd()] {
        Owner::with_authorities(&AuthorityName::ALL).issue(&mut cluster);
        assert_eq!(problems(&cluster), Vec::<String>::new());
        let world = World::bare_of(cluster).converge();
        assert!(world.plan().is_empty());
        assert_eq!(keys(&world), Vec::<String>::new());
        let steps = step_names(&world);
        for never in ["kubelet-finalized", "kubelet-credential"] {
            assert!(!steps.iter().any(|step| step.ends_with(never)), "{never}");
        }
        assert!(steps.iter().any(|step| step == "worker1/certificates/kubelet.conf"), "{steps:?}");
    }
}

#[test]
fn one_authority_of_somebody_else_leaves_the_others_as_they_are() {
    for name in AuthorityName::ALL {
        let mut cluster = highly_available();
        Owner::with_authorities(&[name]).issue(&mut cluster);
        assert_eq!(problems(&cluster), Vec::<String>::new());
        let world = World::bare_of(cluster).converge();
        assert!(world.plan().is_empty(), "{name:?}");
        let without = kok_pki::Material::AuthorityKey(authority_kind(name)).path();
        let keys = keys(&world);
        assert!(!keys.iter().any(|key| key.ends_with(&format!("/etc/kubernetes/{without}"))), "{name:?}: {keys:?}");
        assert_eq!(keys.len(), 2 * world.cluster.control_planes().count(), "{name:?}: {keys:?}");
    }
}

/// As with a new year.
#[test]
fn what_is_issued_anew_replaces_what_is_there_and_starts_what_has_read_it() {
    let mut cluster = cluster();
    let owner = Owner::with_authorities(&AuthorityName::ALL);
    owner.issue(&mut cluster);
    let mut world = World::bare_of(cluster).converge();
    owner.issue(&mut world.cluster);
    let plan = world.plan();
    let changed: Vec<String> = plan.changes().map(|(step, _)| step.id.to_string()).collect();
    for expected in [
        "cp1/certificates/pki/apiserver.crt",
        "cp1/certificates/pki/apiserver.key",
        "cp1/certificates/scheduler.conf",
        "cp1/control-plane/manifests",
        "cp1/control-plane/kubelet",
        "worker1/certificates/kubelet.conf",
        "worker1/kubelet-join/joined",
    ] {
        assert!(changed.iter().any(|step| step == expected), "{expected}: {changed:?}");
    }
    assert!(!changed.iter().any(|step| step.contains("ca.crt") || step.contains("pki/sa") || step.ends_with("/uploaded")), "{changed:?}");
    let world = world.converge();
    assert!(world.plan().is_empty());
}

/// Where kubelets make no certificates of their own, nothing else on such a host would say that the cluster was set up.
#[test]
fn a_host_that_lost_the_record_of_the_founding_gets_it_again() {
    let mut cluster = cluster();
    Owner::with_authorities(&AuthorityName::ALL).issue(&mut cluster);
    for (mut world, is_missed) in [(World::bare_of(cluster).converge(), true), (World::converged(), false)] {
        world.hosts.values_mut().for_each(|host| drop(host.paths.remove(FOUNDED)));
        let plan = world.plan();
        let upload = plan.change(&step_id("cp1", "control-plane", "uploaded"));
        let says = |words: &str| upload.is_some_and(|change| change.because.contains(words));
        assert_eq!((upload.is_some(), says("/founded does not exist")), (is_missed, is_missed));
        let world = world.converge();
        assert!(world.hosts["cp1"].has(FOUNDED) == is_missed && world.plan().is_empty());
    }
}

/// systemd hands a unit its certificates when it starts: members have to be started again in the run that writes new ones.
#[test]
fn members_that_are_units_are_started_with_what_is_issued_anew() {
    let mut cluster = own_etcd();
    let owner = Owner::with_authorities(&AuthorityName::ALL);
    owner.issue(&mut cluster);
    let mut world = World::bare_of(cluster).converge();
    owner.issue(&mut world.cluster);
    let plan = world.plan();
    for host in world.cluster.etcd_hosts() {
        let service = step_id(&host.name, "etcd", "service");
        assert!(plan.change(&service).is_some(), "{service}");
        let needs: Vec<String> = plan.needs(&service).iter().map(|(need, _)| need.id.to_string()).collect();
        for leaf in ["server.crt", "server.key", "peer.crt", "peer.key"] {
            let step = format!("{}/certificates/pki/etcd/{leaf}", host.name);
            assert!(needs.contains(&step), "{step}: {needs:?}");
        }
    }
    let world = world.converge();
    assert!(world.plan().is_empty());
}

/// A worker gets the certificate of an authority whose key is elsewhere from kokctl, and waits for no control plane.
#[test]
fn a_founding_goes_on_where_workers_alone_have_their_certificates() {
    let mut cluster = highly_available();
    Owner::with_authorities(&[AuthorityName::Kubernetes]).issue(&mut cluster);
    let mut world = World::bare_of(cluster);
    let plan = world.plan();
    let ahead = ["worker1/host/claim", "worker1/kubeadm-configuration/folder", "worker1/certificates/set"];
    let steps = plan.changes().filter(|(step, _)| ahead.contains(&step.id.as_str()));
    steps.for_each(|(step, change)| world.carry_out(step, change));
    assert!(world.hosts["worker1"].has("/etc/kubernetes/pki/ca.crt") && !world.hosts["cp1"].has("/etc/kubernetes/pki"));
    let mut other = world.clone();
    assert!(world.converge().plan().is_empty());
    other.host("worker1").write("/etc/kubernetes/pki/ca.crt", 0o644, "another one");
    let told = format!("{:?}", other.try_plan().map(|plan| plan.steps().count()).unwrap_err());
    assert!(told.contains("is not the one that the file gives, and no control plane has one"), "{told}");
}

#[test]
fn what_is_missing_is_said_with_what_it_has_to_be() {
    let mut cluster = cluster();
    Owner::with_authorities(&AuthorityName::ALL).issue(&mut cluster);
    for host in cluster.hosts.clone() {
        for path in issued::paths(&cluster, &host) {
            let mut cluster = cluster.clone();
            cluster.settings.certificates.issued.as_mut().unwrap().files.as_mut().unwrap().get_mut(&host.name).unwrap().remove(path);
            let problems = problems(&cluster);
            let [problem] = problems.as_slice() else { panic!("{path}: {problems:?}") };
            assert!(problem.contains(&format!("issued/{}/{path}", host.name)), "{problem}");
        }
    }
    let mut without = cluster.clone();
    let files = without.settings.certificates.issued.as_mut().unwrap().files.as_mut().unwrap();
    ["pki/apiserver.crt", "scheduler.conf"].iter().for_each(|path| drop(files.get_mut("cp1").unwrap().remove(*path)));
    files.get_mut("worker1").unwrap().remove("kubelet.conf");
    insta::assert_snapshot!("issued_missing", problems(&without).join("\n"));
}

#[test]
fn what_could_not_do_its_work_is_said() {
    let mut good = cluster();
    let owner = Owner::with_authorities(&AuthorityName::ALL);
    owner.issue(&mut good);
    let put = |path: &str, text: Secret| {
        let mut cluster = good.clone();
        let files = cluster.settings.certificates.issued.as_mut().unwrap().files.as_mut().unwrap();
        files.get_mut("cp1").unwrap().insert(path.to_owned(), text).expect("a file that is asked for");
        problems(&cluster).join("\n")
    };
    let file = |host: &str, path: &str| good.settings.certificates.issued.as_ref().unwrap().file(host, path).unwrap().clone();
    let identity = kok_tasks::identity::control_plane(&good, good.control_planes().next().unwrap());
    let other = Owner::with_authorities(&AuthorityName::ALL);
    let short = Profile { sans: Vec::new(), ..Leaf::ApiServer.profile(&identity) };
    for (said, expected) in [
        (put("pki/apiserver.key", file("cp1", "pki/front-proxy-client.key")), "the key beside it is another one's"),
        (put("pki/apiserver.crt", Secret::new("nothing")), "cannot read the certificate"),
        (put("scheduler.conf", file("cp1", "admin.conf")), "instead of CN=system:kube-scheduler"),
        (put("kubelet.conf", file("worker1", "kubelet.conf")), "instead of CN=system:node:cp1"),
        (put("admin.conf", other.kubeconfig(&KubeconfigUser::Admin.profile(&identity), &identity.cluster_server())), "another authority"),
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let (certificate, key) = owner.signed(&short);
    let mut cluster = good.clone();
    let files = cluster.settings.certificates.issued.as_mut().unwrap().files.as_mut().unwrap().get_mut("cp1").unwrap();
    files.extend([("pki/apiserver.crt".to_owned(), Secret::new(certificate)), ("pki/apiserver.key".to_owned(), key)]);
    let said = problems(&cluster).join("\n");
    assert!(said.contains("it does not name cp1"), "{said}");
    let later = |host: &Host| {
        let issued = good.settings.certificates.issued.as_ref().unwrap();
        issued::problems(&good, host, &issued.files.as_ref().unwrap()[&host.name], issued, now() + Duration::days(400)).len()
    };
    assert_eq!(good.hosts.iter().map(later).sum::<usize>(), 7 + 5 + 2, "all leaves and kubeconfigs have expired");
}

#[test]
fn who_keeps_a_key_is_not_changed_by_an_edited_file() {
    let mut world = World::converged();
    let certificate = world.secret(&SecretName::ControlPlaneFile { host: "cp1".to_owned(), path: "pki/ca.crt".to_owned() });
    let pem = Pem { source: PemSource::File("ca.crt".to_owned()), origin: origin() };
    let pair = Some(AuthorityPair { certificate: certificate.clone(), key: None });
    world.cluster.settings.certificates.authorities =
        vec![OwnAuthority { name: AuthorityName::Kubernetes, certificate: pem, key: None, pair }];
    let told = |world: &World| format!("{:?}", world.try_plan().map(|plan| plan.steps().count()).unwrap_err());
    assert!(told(&world).contains("/etc/kubernetes/pki/ca.key is there"), "{}", told(&world));
    let mut cluster = cluster();
    Owner::with_authorities(&[AuthorityName::FrontProxy]).issue(&mut cluster);
    let mut world = World::bare_of(cluster).converge();
    world.cluster.settings.certificates.authorities.clear();
    let said = told(&world);
    assert!(said.contains("front-proxy-ca.key is missing") && said.contains("somebody else keeps that key"), "{said}");
}

#[test]
fn it_is_known_when_what_was_issued_ends() {
    let mut cluster = cluster();
    Owner::with_authorities(&AuthorityName::ALL).issue(&mut cluster);
    let ends: Vec<_> = cluster.hosts.iter().flat_map(|host| issued::ends(&cluster, host)).collect();
    assert_eq!(ends.len(), 7 + 5 + 2, "no key ends: {ends:?}");
    assert!(ends.iter().all(|(_, end)| *end == NOW + 365 * 24 * 60 * 60), "{ends:?}");
}
