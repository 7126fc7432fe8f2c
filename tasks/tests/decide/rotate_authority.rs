//! Another certificate authority: in which order hosts get it, and that everybody is known to everybody at every moment, whoever is killed.

use std::collections::BTreeMap;

use kok_pki::{Authority, AuthorityKind, Material};
use kok_tasks::identity;
use kok_tasks::observe::{ApiServerState, EtcdState, Observations, OlderPods};
use kok_tasks::operations::Operation;
use kok_tasks::pem_set::PemSet;
use kok_tasks::plan::{
    Action, AuthorityRotation, AuthorityStage, AuthorityStanding, Making, Plan, Refusal, Seen, authority_standing, may_begin_authority,
    may_end_authority, rotate_authority, rotate_authority_looks, trusted_authorities,
};
use kok_tasks::preconditions::reminders;
use time::OffsetDateTime;

use crate::bootstrap::refusal_text;
use crate::support::host::kubeconfig_authorities;
use crate::support::secrets::{self, JOINING, System};
use crate::support::world::World;
use crate::support::{NOW, cluster_of, own_etcd_of_three, step_id};

const ONE: &str = include_str!("../fixtures/cluster.yaml");
const THREE: &str = include_str!("../fixtures/highly-available.yaml");

const PKI: &str = "/etc/kubernetes/pki";
const CLIENT: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// A cluster, and the keys of the authorities that runs have made, by their certificates.
#[derive(Clone)]
struct Story {
    world: World,
    kind: AuthorityKind,
    keys: BTreeMap<String, String>,
    /// What pods have read that nobody has started anew.
    old: String,
}

fn file(kind: AuthorityKind) -> String {
    format!("/etc/kubernetes/{}", Material::AuthorityCertificate(kind).path())
}

impl Story {
    fn from_text(text: &str, kind: AuthorityKind) -> Self {
        Self::of_world(World::bare_of(cluster_of(text)).converge(), kind)
    }

    fn of_world(mut world: World, kind: AuthorityKind) -> Self {
        let first = world.cluster.control_planes().next().unwrap().name.clone();
        let old = world.hosts[&first].text(&file(kind)).to_owned();
        world.published.insert(AuthorityKind::Kubernetes, PemSet::parse(world.hosts[&first].text(&file(AuthorityKind::Kubernetes))));
        for host in world.cluster.hosts.clone() {
            let here = world.host(&host.name);
            // What was issued to it when it joined.
            here.reads("kube-apiserver", &[format!("{PKI}/ca.crt"), format!("{PKI}/etcd/ca.crt"), format!("{PKI}/front-proxy-client.crt")]);
            here.reads("etcd", &[format!("{PKI}/etcd/ca.crt")]);
            here.reads("etcd.service", &["ca.crt", "server.crt", "peer.crt"].map(|name| format!("{PKI}/etcd/{name}")));
            here.reads("kubelet.service", &["/etc/kubernetes/kubelet.conf".to_owned()]);
            if host.roles.etcd && !world.cluster.has_etcd_units() {
                let here = world.host(&host.name);
                here.programs.insert("etcd".to_owned(), here.now);
            }
            if host.roles.is_node() {
                let name = kok_tasks::secret_name::SecretName::KubeletFile {
                    host: host.name.clone(),
                    path: kok_tasks::in_use::KUBELET_CLIENT.to_owned(),
                };
                let text = world.secret(&name);
                world.host(&host.name).write(CLIENT, 0o600, &text);
            }
        }
        let story = Self { world, kind, keys: BTreeMap::new(), old };
        story.all_are_known("nothing", false);
        story
    }

    /// Programs of hosts that have joined have read what is there, and their kubelets have certificates.
    fn started(&mut self, hosts: &[&str]) {
        for host in hosts {
            let path = kok_tasks::in_use::KUBELET_CLIENT.to_owned();
            let text = self.world.secret(&kok_tasks::secret_name::SecretName::KubeletFile { host: (*host).to_owned(), path });
            self.world.host(host).write(CLIENT, 0o600, &text);
            let here = self.world.host(host);
            here.reads("kube-apiserver", &[format!("{PKI}/ca.crt"), format!("{PKI}/etcd/ca.crt"), format!("{PKI}/front-proxy-client.crt")]);
            here.reads("etcd", &[format!("{PKI}/etcd/ca.crt")]);
            here.programs.insert("etcd".to_owned(), here.now);
            here.reads("kubelet.service", &["/etc/kubernetes/kubelet.conf".to_owned()]);
        }
    }

    fn makes(&mut self) -> String {
        let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
        let made = Authority::generate(self.kind, &identity::policy(&self.world.cluster), now, &mut System).unwrap();
        self.keys.insert(made.certificate_pem().trim().to_owned(), made.key_pem().unwrap().expose().to_owned());
        made.certificate_pem().to_owned()
    }

    fn text(&self, host: &str, path: &str) -> Option<&str> {
        self.world.hosts[host].paths.get(path).map(|entry| entry.content.as_str())
    }

    /// What a program has read at its start, and what it would read if it were started anew at this moment.
    fn both<'a>(&'a self, host: &'a str, program: &str, path: &str) -> impl Iterator<Item = &'a str> {
        let read = self.world.hosts[host].read.get(program).and_then(|read| read.get(path)).map(String::as_str);
        read.into_iter().chain(self.text(host, path))
    }

    fn all_are_known(&self, after: &str, is_ended: bool) {
        let known = |by: &str, shown: &str, what: &str| {
            assert!(kok_pki::signed_by(by, shown).unwrap_or(false), "{what} is not known after {after}");
        };
        let hosts = || self.world.cluster.hosts.iter();
        let planes: Vec<&str> = self.world.cluster.control_planes().map(|host| host.name.as_str()).collect();
        let etcd_units = self.world.cluster.has_etcd_units();
        let member = if etcd_units { "etcd.service" } else { "etcd" };
        let etcd_authority = format!("{PKI}/etcd/ca.crt");
        for server in hosts().filter(|host| host.roles.etcd).map(|host| host.name.as_str()) {
            for by in self.both(server, member, &etcd_authority) {
                for client in hosts().map(|host| host.name.as_str()) {
                    for leaf in ["etcd/peer.crt", "etcd/healthcheck-client.crt", "apiserver-etcd-client.crt"] {
                        for shown in self.both(client, member, &format!("{PKI}/{leaf}")) {
                            known(by, shown, &format!("{leaf} of {client} on {server}"));
                        }
                    }
                }
            }
            for plane in &planes {
                for by in self.both(plane, "kube-apiserver", &etcd_authority) {
                    for shown in self.both(server, member, &format!("{PKI}/etcd/server.crt")) {
                        known(by, shown, &format!("etcd on {server} to the API server on {plane}"));
                    }
                }
            }
        }
        let clusters = self.world.trust();
        let apiserver = format!("{PKI}/apiserver.crt");
        for plane in &planes {
            for shown in self.both(plane, "kube-apiserver", &format!("{PKI}/front-proxy-client.crt")) {
                known(clusters.front_proxy.as_deref().unwrap(), shown, &format!("the front proxy on {plane}"));
            }
            let clients = self.text(plane, &format!("{PKI}/ca.crt")).unwrap();
            for node in hosts().map(|host| host.name.as_str()) {
                if let Some(shown) = self.text(node, CLIENT) {
                    known(clients, shown, &format!("the kubelet of {node} on {plane}"));
                }
                for by in self.both(plane, "kube-apiserver", &format!("{PKI}/ca.crt")) {
                    if let Some(shown) = self.text(node, kok_tasks::in_use::KUBELET_SERVING) {
                        known(by, shown, &format!("the kubelet of {node} to the API server on {plane}"));
                    }
                }
                let (by, shown) =
                    (self.text(node, &format!("{PKI}/ca.crt")), self.text(plane, &format!("{PKI}/apiserver-kubelet-client.crt")));
                by.zip(shown).into_iter().for_each(|(by, shown)| known(by, shown, &format!("{plane} to the kubelet of {node}")));
                let confs = ["admin.conf", "controller-manager.conf", "scheduler.conf", "kubelet.conf"]
                    .map(|name| format!("/etc/kubernetes/{name}"));
                for conf in &confs {
                    for text in self.both(node, "kubelet.service", conf) {
                        let by = kubeconfig_authorities(text).unwrap();
                        if let Some(shown) = self.text(plane, &apiserver) {
                            known(&by, shown, &format!("{plane} by {conf} of {node}"));
                        }
                    }
                }
            }
            if self.kind == AuthorityKind::Kubernetes && !is_ended {
                known(&self.old, self.text(plane, &apiserver).unwrap(), &format!("{plane} to pods of before"));
                assert!(PemSet::parse(clients).has(&self.old), "{plane} refuses who was known before, after {after}");
            }
            let manifest = self.text(plane, "/etc/kubernetes/manifests/kube-controller-manager.yaml").unwrap();
            if let Some(apart) = self.text(plane, "/etc/kubernetes/pki/ca-signing.crt").filter(|_| manifest.contains("ca-signing.crt")) {
                assert_eq!(PemSet::parse(apart).all().count(), 1, "{plane} after {after}");
            }
        }
    }

    fn seen(&self) -> Seen {
        let mut seen = self.world.seen();
        for host in &self.world.cluster.hosts {
            let looks = rotate_authority_looks(&self.world.cluster, self.kind, host, true);
            seen.add_observations(&host.name, self.world.look(&host.name, looks.iter()));
        }
        seen
    }

    fn standing(&self) -> AuthorityStanding {
        authority_standing(&self.world.cluster, self.kind, &self.seen()).unwrap_or_else(|refusals| panic!("{refusals:?}"))
    }

    fn plan(&self, certificate: &str, stage: AuthorityStage) -> (Plan, String) {
        let mut seen = self.seen();
        let rotation = AuthorityRotation { kind: self.kind, certificate, stage };
        loop {
            match rotate_authority(&self.world.cluster, &rotation, NOW, &seen).unwrap() {
                Making::Made(plan) => return (*plan, trusted_authorities(&self.world.cluster, &rotation, &seen)),
                Making::LookFirst(asked) => {
                    for (host, looks) in asked {
                        seen.add_observations(&host, self.world.look(&host, looks.iter()));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// So many steps of a wish; how many are left of them at the end.
    fn driven(&mut self, ends: bool, mut steps: usize) -> usize {
        use AuthorityStage::{Alone, Known, Shown, Signs};
        let of_kubernetes = self.kind == AuthorityKind::Kubernetes;
        let finish = || if of_kubernetes { vec![Signs, Shown, Alone] } else { vec![Signs, Alone] };
        let (certificate, stages) = match self.standing() {
            // A key that is to sign next may lie on a host.
            AuthorityStanding::One { begun: true, .. } if ends => return steps,
            AuthorityStanding::One { certificate, .. } if ends => (certificate, vec![Alone]),
            AuthorityStanding::One { .. } => (self.makes(), vec![Known, Signs]),
            AuthorityStanding::Begun { certificate, .. } => (certificate, vec![Known, Signs]),
            AuthorityStanding::Replaced { certificate, ends: true, .. } => (certificate, vec![Alone]),
            AuthorityStanding::Replaced { certificate, .. } if ends => (certificate, finish()),
            AuthorityStanding::Replaced { certificate, .. } => (certificate, vec![Signs]),
        };
        for stage in stages {
            for round in 0.. {
                let (plan, trusted) = self.plan(&certificate, stage);
                if plan.is_empty() {
                    break;
                }
                assert!(round < 3, "{stage:?} has no end: {:?}", changes(&plan));
                // What is signed by one that no run of this story has made is not asked for.
                if let Some(key) = self.keys.get(certificate.trim()) {
                    self.world.files = secrets::with(self.world.files, &self.world.cluster, self.kind, (&trusted, key));
                }
                let begun = self.world.clone();
                for done in 1..=plan.changes().count() {
                    if steps == 0 {
                        return 0;
                    }
                    steps -= 1;
                    let mut world = begun.clone();
                    world.carry_out_some(&plan, done);
                    self.world = world;
                    self.all_are_known(&format!("{stage:?} {done}"), ends);
                }
            }
        }
        steps
    }
}

fn is_killed_anywhere(text: &str, kind: AuthorityKind, every: usize) {
    let story = Story::from_text(text, kind);
    let mut whole = story.clone();
    let steps = usize::MAX - whole.driven(false, usize::MAX);
    for killed in (0..=steps).step_by(every) {
        let mut story = story.clone();
        story.driven(false, killed);
        // A leaf whose key was written a moment ago is made by whoever comes first, and programs read their new kubeconfigs; nothing else is touched.
        let apply = story.world.plan();
        let is_left =
            |change: &String| [".crt is missing", "does not exist", "changed after", " changes"].iter().any(|words| change.contains(words));
        assert!(changes(&apply).iter().all(is_left), "`apply` leaves it as it is, after {killed}: {:?}", changes(&apply));
        story.world.carry_out_all(&apply);
        story.all_are_known(&format!("`apply` after {killed}"), false);
        assert!(story.world.plan().is_empty(), "after {killed}");
        story.driven(false, usize::MAX);
        let AuthorityStanding::Replaced { certificate, ends: false, .. } = story.standing() else { panic!("after {killed}") };
        assert_ne!(certificate, story.old, "after {killed}");
        assert!(story.world.plan().is_empty(), "after {killed}: {:?}", changes(&story.world.plan()));
        let said = reminders(&story.world.cluster, &story.world.seen());
        assert!(said.iter().any(|it| it.what.contains("is being replaced")), "after {killed}: {said:?}");
        story.driven(true, killed);
        story.driven(true, usize::MAX);
        assert!(matches!(story.standing(), AuthorityStanding::One { certificate: is, .. } if is == certificate), "after {killed}");
        for host in story.world.cluster.hosts.clone() {
            for path in story.world.hosts[&host.name].paths.keys().filter(|path| path.ends_with(".crt") || path.ends_with(".conf")) {
                let text = story.text(&host.name, path).unwrap();
                let text = kubeconfig_authorities(text).unwrap_or_else(|| text.to_owned());
                assert!(!PemSet::parse(&text).has(&story.old), "{path} of {} has the old one after {killed}", host.name);
            }
        }
        assert!(story.world.plan().is_empty() && reminders(&story.world.cluster, &story.world.seen()).is_empty(), "after {killed}");
        assert_eq!(story.driven(true, usize::MAX), usize::MAX, "nothing is left after {killed}");
    }
}

fn changes(plan: &Plan) -> Vec<String> {
    plan.changes().map(|(step, change)| format!("{} {}", step.id, change.because)).collect()
}

#[test]
fn that_of_kubernetes_is_replaced_wherever_a_run_is_killed() {
    is_killed_anywhere(ONE, AuthorityKind::Kubernetes, 3);
    is_killed_anywhere(THREE, AuthorityKind::Kubernetes, 23);
}

#[test]
fn that_of_etcd_is_replaced_wherever_a_run_is_killed() {
    is_killed_anywhere(ONE, AuthorityKind::Etcd, 2);
    is_killed_anywhere(THREE, AuthorityKind::Etcd, 11);
    is_killed_anywhere(&own_etcd_of_three(), AuthorityKind::Etcd, 13);
}

#[test]
fn that_of_the_front_proxy_is_replaced_wherever_a_run_is_killed() {
    is_killed_anywhere(ONE, AuthorityKind::FrontProxy, 1);
    is_killed_anywhere(THREE, AuthorityKind::FrontProxy, 5);
}

/// Control planes that join while one takes the place of the other.
#[test]
fn who_joins_meanwhile_gets_both_and_goes_along() {
    const THIRD: &str = "    - {name: cp3, address: 10.20.0.13, roles: [control-plane]}\n";
    let five = cluster_of(&THREE.replace(THIRD, &format!("{THIRD}{JOINING}")));
    for kind in AuthorityKind::ALL {
        let mut bare = World::bare_of(five.clone());
        bare.cluster = cluster_of(THREE);
        bare.api.members.truncate(3);
        let mut story = Story::of_world(bare.converge(), kind);
        story.driven(false, usize::MAX);
        let AuthorityStanding::Replaced { certificate, .. } = story.standing() else { panic!("{kind:?}") };
        story.world.cluster = five.clone();
        // What its API server shows would be signed by the new one.
        if kind == AuthorityKind::Kubernetes {
            let said = refusal_text(&story.world.try_plan().unwrap_err());
            assert!(said.contains("cp4 can't become a control plane") && said.contains("--finish"), "{said}");
            continue;
        }
        let trusted = story.world.hosts["cp1"].text(&file(kind)).to_owned();
        let key = &story.keys[certificate.trim()];
        story.world.files = secrets::with(story.world.files, &five, kind, (&trusted, key));
        while !story.world.plan().is_empty() {
            let plan = story.world.plan();
            story.world.carry_out_all(&plan);
        }
        story.started(&["cp4", "cp5"]);
        story.all_are_known("they have joined", false);
        for host in ["cp4", "cp5"] {
            assert_eq!(story.world.hosts[host].text(&file(kind)), trusted, "{host}");
        }
        story.driven(true, usize::MAX);
        assert!(matches!(story.standing(), AuthorityStanding::One { certificate: is, .. } if is == certificate));
        assert!(story.world.plan().is_empty() && story.world.hosts["cp5"].text(&file(kind)).matches("BEGIN").count() == 1);
    }
}

#[test]
fn what_keeps_an_authority_from_being_replaced_is_said_with_its_host() {
    let story = Story::from_text(THREE, AuthorityKind::Etcd);
    let refused = |story: &Story, host: &str, change: &dyn Fn(&mut Observations)| {
        let mut seen = story.seen();
        let mut observed = seen.observations(host).clone();
        change(&mut observed);
        seen.add_observations(host, observed);
        let refusals: Vec<Refusal> = authority_standing(&story.world.cluster, story.kind, &seen)
            .and_then(|_| may_begin_authority(&story.world.cluster, story.kind, &seen))
            .expect_err("nothing is refused");
        refusal_text(&refusals)
    };
    let said = refused(&story, "cp2", &|seen| seen.api_server = Some(ApiServerState::NotReady("etcd failed".to_owned())));
    assert!(said.contains("cp2") && said.contains("etcd failed") && !said.contains("cp1"), "{said}");
    let said = refused(&story, "cp2", &|seen| seen.etcd = Some(EtcdState::Absent));
    assert!(said.contains("its member of etcd does not work") && said.contains("cp2"), "{said}");
    let said = refused(&story, "cp2", &|seen| drop(seen.contents.insert(file(AuthorityKind::Etcd), Vec::new())));
    assert!(said.contains("has no certificate in it") && said.contains("cp2"), "{said}");
    let stranger = Story::from_text(THREE, AuthorityKind::Etcd).makes();
    let said = refused(&story, "cp2", &|seen| drop(seen.contents.insert(file(AuthorityKind::Etcd), stranger.clone().into_bytes())));
    assert!(said.contains("hosts have authorities that others don't know"), "{said}");
}

/// Whoever has a worker has no more than that: what stands in its file is trusted by nobody else, and is put right.
#[test]
fn what_a_worker_trusts_is_not_spread() {
    let mut story = Story::from_text(THREE, AuthorityKind::Kubernetes);
    let stranger = Story::from_text(THREE, AuthorityKind::Kubernetes).makes();
    let authority = file(story.kind);
    let own = story.world.hosts["worker1"].text(&authority).to_owned();
    story.world.host("worker1").write(&authority, 0o644, &PemSet::parse(&own).with_next(&stranger).text());
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: false, .. }), "it says nothing of the others");
    story.driven(false, usize::MAX);
    for host in ["cp1", "cp2", "cp3", "worker1", "worker2"] {
        assert!(!PemSet::parse(story.world.hosts[host].text(&authority)).has(&stranger), "{host} trusts it");
    }
    let trust = story.world.trust();
    assert!(!PemSet::parse(&trust.clients.unwrap()).has(&stranger) && !PemSet::parse(&trust.joining.unwrap()).has(&stranger));
}

/// A run was killed that had ended a member: what it is to be is known by the others, and of the only one by nobody.
#[test]
fn a_member_that_is_away_is_to_be_what_the_others_are() {
    let mut story = Story::from_text(THREE, AuthorityKind::Etcd);
    let certificate = story.makes();
    let rotation = AuthorityRotation { kind: story.kind, certificate: &certificate, stage: AuthorityStage::Known };
    let planned = |away: &[&str]| {
        let mut seen = story.seen();
        for host in away {
            let gone = Some(EtcdState::NotReady("refused".to_owned()));
            seen.add_observations(host, Observations { etcd: gone, ..seen.observations(host).clone() });
        }
        rotate_authority(&story.world.cluster, &rotation, NOW, &seen).map_err(|refusals| refusal_text(&refusals))
    };
    let Ok(Making::Made(plan)) = planned(&["cp2"]) else { panic!("there is no plan") };
    let ready = |host: &str| match &plan.step(&step_id(host, "authorities", "member")).unwrap().action {
        Action::Operation(Operation::EtcdMemberReady(ready)) => ready.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ready("cp2"), ready("cp1"));
    assert!(!ready("cp2").version.is_empty() && ready("cp2").members.len() == 3);
    assert!(planned(&["cp1", "cp2", "cp3"]).unwrap_err().contains("nor does any other"));
}

/// The key of the next one may lie on a host from the second stage on, before any file says that it signs.
#[test]
fn what_has_begun_is_neither_ended_nor_begun_by_another() {
    let mut story = Story::from_text(THREE, AuthorityKind::Etcd);
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: false, .. }));
    story.driven(false, 1);
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: true, .. }), "{:?}", story.standing());
    assert_eq!(story.driven(true, usize::MAX), usize::MAX, "nothing is ended");
    story.driven(false, usize::MAX);
    story.driven(true, usize::MAX);
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: false, .. }));
}

#[test]
fn pods_that_know_no_other_keep_it_from_ending() {
    let story = Story::from_text(THREE, AuthorityKind::Kubernetes);
    let ended_by = |pods: Result<OlderPods, String>, ahead: i64| {
        let mut seen = story.seen();
        seen.add_clock_offset("worker1", ahead);
        for host in story.world.cluster.control_planes() {
            let observed = Observations { older_pods: Some(pods.clone()), ..seen.observations(&host.name).clone() };
            seen.add_observations(&host.name, observed);
        }
        may_end_authority(&story.world.cluster, story.kind, &seen).map_err(|refusals| refusal_text(&refusals))
    };
    let ended = |pods| ended_by(pods, 0);
    let of = |start: i64| Ok(OlderPods { changed: 100, pods: (1..=10).map(|number| (format!("web/pod-{number}"), start)).collect() });
    assert_eq!((ended(Ok(OlderPods::default())), ended(of(100))), (Ok(()), Ok(())));
    // A kubelet whose clock is ahead dates what it has started too late.
    assert!(ended_by(of(100), 5).unwrap_err().contains("web/pod-1"));
    assert_eq!(ended_by(of(105), 5), Ok(()));
    let said = ended(of(99)).unwrap_err();
    assert!(said.contains("web/pod-8 and 2 more") && said.contains("rollout restart"), "{said}");
    assert!(ended(Err("no".to_owned())).unwrap_err().contains("it is not known which pods"));
}
