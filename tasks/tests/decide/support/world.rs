//! The model's world: hosts that start bare, and a cluster that comes to be by carrying out the steps of plans.
//!
//! Each action asserts that what it uses is there, so an order in which a need is missing is found; and each is followed by a second look
//! that must say that nothing is left to do, as in a run.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::Cluster;
use kok_pki::AuthorityKind;
use kok_tasks::bundle::Bundle;
use kok_tasks::change::{Change, Verdict};
use kok_tasks::digest::sha256;
use kok_tasks::documents::encryption_configuration;
use kok_tasks::drain::Workload;
use kok_tasks::encryption::Layout;
use kok_tasks::facts::HostFacts;
use kok_tasks::gate::api_server_url;
use kok_tasks::issued;
use kok_tasks::observe::{ClusterTrust, Firewall, Look, Observations, OlderPods, TimeTracking};
use kok_tasks::operations::{Operation, PublishTrust};
use kok_tasks::pem_set::PemSet;
use kok_tasks::plan::{Action, Inputs, Making, Plan, Refusal, Seen, Selection, Step, StepId, looks, make_part, reset_looks};
use kok_tasks::recovery::MARKER;
use kok_tasks::resources::Act;
use kok_tasks::secret_name::SecretName;
use kok_tasks::upgrade;

use super::api::{self, Api};
use super::host::Host;
use super::secrets::{self, Files, secret};
use super::{good_facts, good_ipv6, inputs, ipv6_of};

/// The state of everything.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) bundle: Bundle,
    pub(crate) hosts: BTreeMap<String, Host>,
    pub(crate) api: Api,
    pub(crate) token_id: String,
    /// Whether the user asks for what others may lose theirs with.
    pub(crate) prune: bool,
    /// Whether programs have the version in which they are written and started; else the bundle's, or what somebody says.
    pub(crate) follows_versions: bool,
    /// What no look shows, for tests of what happens without it.
    pub(crate) hides: Option<fn(&mut Observations)>,
    /// What the cluster tells others of authorities, by kind; nothing before somebody asks.
    pub(crate) published: BTreeMap<AuthorityKind, PemSet>,
    /// What stands for the secrets of control planes, by host and path below `/etc/kubernetes`.
    pub(crate) files: &'static Files,
}

impl World {
    pub(crate) fn bare() -> Self {
        Self::bare_of(super::cluster())
    }

    /// Bare hosts on which everything is set that can be set, and that lack what can be lacked.
    pub(crate) fn with_everything() -> Self {
        let mut world = Self::bare_of(super::cluster_of(include_str!("../../fixtures/everything.yaml")));
        for host in world.hosts.values_mut() {
            host.lacks = ["tar", "update-ca-certificates"].map(str::to_owned).into();
            host.firewall = Firewall::Firewalld(super::firewalld(&["22/tcp"], &[]));
            for folder in ["/etc/cloud/cloud.cfg.d", "/sys/fs/selinux", "/etc/selinux", "/var/lib/dpkg/updates"] {
                host.folder(folder, 0o755);
            }
            host.write("/sys/fs/selinux/enforce", 0o644, "1");
            host.write("/etc/selinux/config", 0o644, "SELINUX=enforcing\n");
            host.write("/var/lib/dpkg/updates/0001", 0o644, "");
            host.write("/etc/ssl/certs/ca-certificates.crt", 0o644, "");
            host.start("systemd-timesyncd.service");
        }
        world
    }

    pub(crate) fn bare_of(cluster: Cluster) -> Self {
        let hosts = cluster.hosts.iter().map(|host| (host.name.clone(), Host::bare(&host.name))).collect();
        let members = cluster.etcd_hosts().map(|host| host.name.clone()).collect();
        let api = Api { members, etcd_units: cluster.has_etcd_units(), ..Api::default() };
        let files = secrets::shared_files(&cluster);
        Self {
            cluster,
            bundle: super::bundle(),
            hosts,
            api,
            token_id: super::TOKEN_ID.to_owned(),
            prune: false,
            follows_versions: false,
            hides: None,
            published: BTreeMap::new(),
            files,
        }
    }

    /// A world in which a run has ended.
    pub(crate) fn converged() -> Self {
        Self::bare().converge()
    }

    /// The same after a run has ended.
    pub(crate) fn converge(self) -> Self {
        let mut world = self;
        let plan = world.plan();
        world.carry_out_all(&plan);
        world
    }

    /// Everything of a plan, in an order that it allows.
    pub(crate) fn carry_out_all(&mut self, plan: &Plan) {
        self.carry_out_some(plan, usize::MAX);
    }

    /// The same of so many steps.
    pub(crate) fn carry_out_some(&mut self, plan: &Plan, most: usize) {
        let mut left: Vec<_> = plan.changes().collect();
        let mut ids: BTreeSet<&StepId> = left.iter().map(|(step, _)| &step.id).collect();
        for _ in 0..most.min(left.len()) {
            let is_free = |index: &usize| plan.needs(&left[*index].0.id).iter().all(|(need, _)| !ids.contains(&need.id));
            let mut free = (0..left.len()).filter(is_free);
            let first = free.next().unwrap();
            let mut in_order = [first].into_iter().chain(free);
            let next = in_order.find(|index| !self.waits(left[*index].0, left[*index].1)).unwrap_or(first);
            let (step, change) = left.remove(next);
            ids.remove(&step.id);
            self.carry_out(step, change);
        }
    }

    /// A host loses everything that is on it.
    pub(crate) fn leave_host(&mut self, host: &str) {
        self.leave(host);
    }

    pub(crate) fn host(&mut self, name: &str) -> &mut Host {
        self.hosts.get_mut(name).unwrap()
    }

    /// What a first probe of all hosts sees.
    pub(crate) fn seen(&self) -> Seen {
        self.seen_of(|_| true)
    }

    /// What a first probe of all hosts but these sees.
    pub(crate) fn seen_but(&self, silent: &BTreeSet<String>) -> Seen {
        self.seen_of(|host| !silent.contains(host))
    }

    /// What an upgrade sees of all hosts before it knows its way.
    pub(crate) fn seen_before_upgrade(&self) -> Seen {
        let mut seen = self.facts_of(|_| true);
        let more = upgrade::looks(&self.cluster);
        for host in &self.cluster.hosts {
            let mut looks = reset_looks(host, true);
            looks.add_others(&more[&host.name]);
            seen.add_observations(&host.name, self.look(&host.name, looks.iter()));
        }
        seen
    }

    /// What a first probe of these hosts sees.
    fn seen_of(&self, asked: impl Fn(&str) -> bool) -> Seen {
        let mut seen = self.facts_of(&asked);
        for (host, looks) in looks(&inputs(&self.cluster, &self.bundle)).unwrap().into_iter().filter(|(host, _)| asked(host)) {
            seen.add_observations(&host, self.look(&host, looks.iter()));
        }
        seen
    }

    fn facts_of(&self, asked: impl Fn(&str) -> bool) -> Seen {
        let mut seen = Seen::default();
        for host in self.cluster.hosts.iter().filter(|host| asked(&host.name)) {
            // The fixtures count their hosts by the last part of their addresses.
            let std::net::IpAddr::V4(address) = host.address else { panic!("{}", host.address) };
            let number = address.octets()[3] - 10;
            let text = |path: &str| self.hosts[&host.name].paths.get(path).map(|file| file.content.trim().to_owned());
            let facts = HostFacts {
                cluster: text("/var/lib/kokctl/cluster").and_then(|text| text.lines().next().map(str::to_owned)),
                cluster_id: text("/var/lib/kokctl/cluster").and_then(|text| text.lines().nth(1).map(str::to_owned)),
                certificate_authority: text("/etc/kubernetes/pki/ca.crt"),
                recovery: text(MARKER),
                ..good_facts(&host.name, number)
            };
            let mut facts = facts;
            if let Some(interface) = facts.interfaces.get_mut("eth0").filter(|_| self.cluster.network.is_dual_stack()) {
                interface.addresses.insert(ipv6_of(host).into());
            }
            let there = &self.hosts[&host.name];
            facts.commands.retain(|command| there.commands.contains(command) || !there.lacks.contains(command));
            facts.installable = ["tar", "ca-certificates", "iptables", "nftables"].map(str::to_owned).into();
            seen.add_facts(&host.name, facts);
            seen.add_clock_offset(&host.name, 0);
        }
        seen
    }

    pub(crate) fn look(&self, host: &str, looks: impl Iterator<Item = Look>) -> Observations {
        let (host, mut seen) = (&self.hosts[host], Observations::default());
        for look in looks {
            host.look(&look, &mut seen);
            match look {
                Look::ApiServer => seen.api_server = Some(api::api_server(&self.api, host, &self.hosts)),
                Look::EtcdData => seen.etcd_data = Some(api::etcd_data(host)),
                Look::Etcd => seen.etcd = Some(api::etcd(&self.api, host, &self.hosts)),
                Look::EtcdEndpoint(url) => {
                    drop(seen.etcd_endpoints.insert(url.clone(), api::etcd_endpoint(&self.api, host, &self.hosts, &url)))
                }
                Look::EtcdPeerHealth(url) => drop(seen.etcd_peers.insert(url.clone(), api::etcd_peer(&self.api, &self.hosts, &url))),
                Look::ApiEndpoint(url) => {
                    let plane = self.cluster.control_planes().find(|host| api_server_url(&self.cluster, host) == url);
                    let state = api::endpoint(&self.api, &self.hosts, plane.map(|host| host.name.as_str()));
                    seen.api_endpoints.insert(url, state);
                }
                Look::NodeAnnotations => seen.node_annotations = Some(Ok(self.api.annotations.clone())),
                Look::DeprecatedApis => seen.deprecated_apis = Some(Vec::new()),
                Look::Webhooks => seen.webhooks = Some(Ok(Vec::new())),
                Look::LoadBalancers => seen.load_balancers = Some(api::load_balancers(&self.api, &self.hosts)),
                Look::Workload(node) => {
                    let pods = [(node.clone(), self.api.pods.get(&node).cloned().unwrap_or_default())].into();
                    let workload = Workload { pods, budgets: self.api.budgets.clone() };
                    seen.merge(Observations { workload: Some(Ok(workload)), ..Observations::default() });
                }
                Look::Kubernetes => seen.kubernetes = Some(api::state(&self.api, host, &self.hosts)),
                Look::AddonObject(name) => {
                    let there = self.api.addons.get(&name).cloned();
                    seen.addon_objects.insert(name, there);
                }
                Look::NetworkCheck(_) => {
                    seen.network_check = Some(api::reports(&self.api, &self.hosts, self.cluster.network.pod_cidrs().len() as u64))
                }
                Look::EncryptedValues => seen.encrypted_values = Some(Ok(super::encryption::counted(&self.api.stored))),
                Look::ClusterTrust => seen.cluster_trust = Some(Ok(self.trust())),
                Look::OlderPods(_) => seen.older_pods = Some(Ok(OlderPods::default())),
                Look::Ipv6 => {
                    seen.ipv6 = Some(good_ipv6());
                    let listens = host.sysctls.iter().filter(|(name, _)| name.ends_with(".accept_ra"));
                    for (name, value) in listens {
                        seen.ipv6.as_mut().unwrap().accept_ra.insert(name.clone(), value.clone());
                    }
                }
                Look::PodNetwork(_) => seen.pod_network = Some(host.pod_network.clone()),
                Look::TimeTracking => seen.time = Some(host.time(self.source_serves())),
                _ => {}
            }
        }
        if let Some(hide) = self.hides {
            hide(&mut seen);
        }
        seen
    }

    /// API servers add what they trust; the controller manager of the first control plane leads.
    pub(crate) fn trust(&self) -> ClusterTrust {
        let of = |kind: AuthorityKind, file: &str| {
            let told = self.published.get(&kind).cloned().unwrap_or_default();
            let planes = self.cluster.control_planes().map(|host| PemSet::parse(self.hosts[&host.name].text(file)));
            planes.fold(told, |all, own| all.joined(&own))
        };
        let first = self.cluster.control_planes().next().unwrap();
        let clients = of(AuthorityKind::Kubernetes, "/etc/kubernetes/pki/ca.crt");
        ClusterTrust {
            joining: self.published.get(&AuthorityKind::Kubernetes).map(PemSet::text),
            clients: Some(clients.text()),
            front_proxy: Some(of(AuthorityKind::FrontProxy, "/etc/kubernetes/pki/front-proxy-ca.crt").text()),
            pods: vec![("default".to_owned(), self.hosts[&first.name].text("/etc/kubernetes/pki/ca.crt").to_owned())],
        }
    }

    pub(crate) fn publish(&mut self, publish: &PublishTrust) {
        let wanted = PemSet::parse(&publish.authorities);
        let told = self.published.entry(publish.kind).or_default();
        *told = if publish.alone { wanted } else { wanted.joined(told) };
    }

    fn source_serves(&self) -> bool {
        let source = &self.hosts["cp1"];
        matches!(source.time(false), TimeTracking::Tracking { stratum: 1.., .. })
    }

    /// The plan from what is seen now.
    pub(crate) fn plan(&self) -> Plan {
        self.try_plan().unwrap_or_else(|refusals| panic!("{refusals:?}"))
    }

    pub(crate) fn try_plan(&self) -> Result<Plan, Vec<Refusal>> {
        self.plan_of(&Selection::whole()).map(|(plan, _)| plan)
    }

    /// The plan of a part, and the hosts that were asked beyond those that it chooses.
    pub(crate) fn plan_of(&self, selection: &Selection) -> Result<(Plan, Vec<String>), Vec<Refusal>> {
        let inputs = Inputs { token_id: &self.token_id, prune: self.prune, ..inputs(&self.cluster, &self.bundle) };
        let (mut seen, mut asked_too) = (self.seen_of(|host| selection.has_host(host)), Vec::new());
        loop {
            match make_part(&inputs, &seen, selection)? {
                Making::Made(plan) => return Ok((*plan, asked_too)),
                Making::Incomplete(refusals) => return Err(refusals),
                Making::AskFirst(hosts) => {
                    assert!(hosts.keys().all(|host| !selection.has_host(host) && !asked_too.contains(host)), "{hosts:?} are asked twice");
                    asked_too.extend(hosts.into_keys());
                    seen = self.seen_of(|host| selection.has_host(host) || asked_too.iter().any(|asked| asked == host));
                }
                Making::LookFirst(asked) => {
                    for (host, looks) in asked {
                        seen.add_observations(&host, self.look(&host, looks.iter()));
                    }
                }
            }
        }
    }

    /// Whether a step waits for what other hosts have still to do: that is no need of it, for any of several of them will do.
    pub(crate) fn waits(&mut self, step: &Step, change: &Change) -> bool {
        self.settle();
        matches!(step.act(change), Act::Wait) && step.diff(&self.look(&step.host, step.looks().into_iter())) != Verdict::Same
    }

    /// Acts, and looks again: nothing may be left to do.
    pub(crate) fn carry_out(&mut self, step: &Step, change: &Change) {
        let claims = matches!(step.action, Action::Operation(Operation::Claim(_)));
        assert!(
            claims || self.hosts[&step.host].has("/var/lib/kokctl/cluster"),
            "{} changes a host that says of nobody that it is theirs",
            step.id
        );
        match &step.action {
            Action::Resource(resource) => self.resource(&step.host, resource, change),
            Action::Operation(operation) => self.operation(&step.host, operation, change),
        }
        self.follow_versions(step);
        api::members_find_each_other(&mut self.api, &self.hosts);
        let seen = self.look(&step.host, step.looks().into_iter());
        match step.diff(&seen) {
            Verdict::Same => {}
            // It is begun again until nothing keeps it.
            Verdict::Differs(_) if matches!(step.act(change), Act::Until { .. }) => {}
            other => panic!("{} left something to do: {other:?}", step.id),
        }
    }

    /// What a run would make of a name.
    pub(crate) fn secret(&self, name: &SecretName) -> String {
        let issued = match name {
            SecretName::ControlPlaneFile { host, path } => issued::file(&self.cluster, host, path),
            SecretName::KubeletFile { host, path } => {
                Some(secrets::kubelet_file(self.files, &self.cluster, self.cluster.host(host).unwrap(), path))
            }
            SecretName::TokenKey { keeper: Some(keeper), .. } => Some(self.hosts[keeper].text("/etc/kubernetes/pki/sa.key").to_owned()),
            SecretName::TokenKey { keeper: None, key } => Some(format!("private of {key}")),
            SecretName::EncryptionConfiguration { keeper, layout, .. } => Some(self.encryption(keeper.as_deref(), layout)),
            _ => None,
        };
        issued.unwrap_or_else(|| secret(self.files, name))
    }

    /// Keys by these names, those of a host, or a first one.
    fn encryption(&self, keeper: Option<&str>, layout: &Layout) -> String {
        let of_keeper = keeper.map(|keeper| self.hosts[keeper].key_names()).unwrap_or_else(|| vec!["kokctl".to_owned()]);
        let as_asked = || Layout::of_file(&self.cluster.settings.security.encryption, &of_keeper);
        let layout = if layout.is_empty() { as_asked() } else { layout.clone() };
        let names = layout.names();
        let secrets: Vec<String> = names.iter().map(|name| sha256(name.as_bytes())).collect();
        let pairs: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(secrets.iter().map(String::as_str)).collect();
        encryption_configuration(&layout, &pairs).unwrap()
    }
}
