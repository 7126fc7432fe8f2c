//! A cluster whose authority is replaced, and everybody's knowing of everybody meanwhile.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use kok_pki::{Authority, AuthorityKind, Material};
use kok_tasks::digest::sha256;
use kok_tasks::identity;
use kok_tasks::pem_set::PemSet;
use kok_tasks::plan::{
    AuthorityRotation, AuthorityStage, AuthorityStanding, Making, Plan, Seen, authority_standing, rotate_authority, rotate_authority_looks,
    trusted_authorities,
};
use time::OffsetDateTime;

use crate::support::host::kubeconfig_authorities;
use crate::support::secrets::{self, System};
use crate::support::world::World;
use crate::support::{NOW, cluster_of};

const PKI: &str = "/etc/kubernetes/pki";
const CLIENT: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

thread_local! {
    /// Who is known to whom, by hash: the same is asked after each of a thousand kills, and a signature takes most of the time of all of it.
    static KNOWN: RefCell<HashSet<(String, String)>> = RefCell::default();
}

fn is_known(by: &str, shown: &str) -> bool {
    let pair = (sha256(by.as_bytes()), sha256(shown.as_bytes()));
    if KNOWN.with_borrow(|known| known.contains(&pair)) {
        return true;
    }
    let is_known = kok_pki::signed_by(by, shown).unwrap_or(false);
    if is_known {
        KNOWN.with_borrow_mut(|known| known.insert(pair));
    }
    is_known
}

/// A cluster, and the keys of the authorities that runs have made, by their certificates.
#[derive(Clone)]
pub(super) struct Story {
    pub(super) world: World,
    pub(super) kind: AuthorityKind,
    pub(super) keys: BTreeMap<String, String>,
    /// What pods have read that nobody has started anew.
    pub(super) old: String,
}

pub(super) fn file(kind: AuthorityKind) -> String {
    format!("/etc/kubernetes/{}", Material::AuthorityCertificate(kind).path())
}

impl Story {
    pub(super) fn from_text(text: &str, kind: AuthorityKind) -> Self {
        Self::of_world(World::bare_of(cluster_of(text)).converge(), kind)
    }

    pub(super) fn of_world(mut world: World, kind: AuthorityKind) -> Self {
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
    pub(super) fn started(&mut self, hosts: &[&str]) {
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

    pub(super) fn makes(&mut self) -> String {
        let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
        let made = Authority::generate(self.kind, &identity::policy(&self.world.cluster), now, &mut System).unwrap();
        self.keys.insert(made.certificate_pem().trim().to_owned(), made.key_pem().unwrap().expose().to_owned());
        made.certificate_pem().to_owned()
    }

    pub(super) fn text(&self, host: &str, path: &str) -> Option<&str> {
        self.world.hosts[host].paths.get(path).map(|entry| entry.content.as_str())
    }

    /// What a program has read at its start, and what it would read if it were started anew at this moment.
    fn both<'a>(&'a self, host: &'a str, program: &str, path: &str) -> impl Iterator<Item = &'a str> {
        let read = self.world.hosts[host].read.get(program).and_then(|read| read.get(path)).map(String::as_str);
        read.into_iter().chain(self.text(host, path))
    }

    pub(super) fn all_are_known(&self, after: &str, is_ended: bool) {
        let known = |by: &str, shown: &str, what: &str| {
            assert!(is_known(by, shown), "{what} is not known after {after}");
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

    pub(super) fn seen(&self) -> Seen {
        let mut seen = self.world.seen();
        for host in &self.world.cluster.hosts {
            let looks = rotate_authority_looks(&self.world.cluster, self.kind, host, true);
            seen.add_observations(&host.name, self.world.look(&host.name, looks.iter()));
        }
        seen
    }

    pub(super) fn standing(&self) -> AuthorityStanding {
        authority_standing(&self.world.cluster, self.kind, &self.seen()).unwrap_or_else(|refusals| panic!("{refusals:?}"))
    }

    pub(super) fn plan(&self, certificate: &str, stage: AuthorityStage) -> (Plan, String) {
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
    pub(super) fn driven(&mut self, ends: bool, mut steps: usize) -> usize {
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

pub(super) fn changes(plan: &Plan) -> Vec<String> {
    plan.changes().map(|(step, change)| format!("{} {}", step.id, change.because)).collect()
}
