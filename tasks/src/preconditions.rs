//! What must hold before the first host is touched. All that is wrong is said at once.
//!
//! Each check looks at one subject, of one host or of all together, and finds nothing, warnings, or reasons to refuse. `plan` and `apply`
//! stop at the latter; `kokctl check` shows all of it.

mod authorities;
mod beside;
mod bootstrap;
mod bundled;
mod control_planes;
mod encryption;
mod etcd_authority;
mod ipv6;
mod kube_proxy;
mod machine;
mod moved;
mod needed;
mod network;
mod node_dns;
mod other_parts;
mod own_authorities;
mod owner;
mod ownership;
mod programs;
mod recovering;
mod running;
mod storage;
mod together;
mod token_keys;
mod versions;
mod virtual_address;

use kok_crds::model::{Cluster, FirewallPolicy, Host, Settings};

use crate::bundle::Bundle;
use crate::completed::completed;
use crate::facts::HostFacts;
use crate::list::{api_server, host};
use crate::network_plugins::plugin;
use crate::observe::{Look, Observations};
use crate::operations::NODE_DNS_UNIT_FILE;
use crate::plan::{Refusal, Seen};

pub use authorities::replacing_authorities;
pub use beside::check_beside;
pub(crate) use bootstrap::has_data as has_etcd_data;
pub use bootstrap::{CONFIGURATIONS, ETCD_CONFIGURATION, ETCD_STARTED};
pub(crate) use bundled::bundled;
pub(crate) use control_planes::{SERVICE_ACCOUNT_KEY, is_marked};
pub use encryption::{encryption_keeper, replacing_key};
pub(crate) use encryption::{lost as lost_encryption_key, silent_plugins};
pub use etcd_authority::etcd_keeper;
pub(crate) use etcd_authority::looks as etcd_authority_looks;
pub(crate) use needed::UPGRADE_ETCD;
pub use own_authorities::{kept_certificate, kind as authority_kind, word as authority_word};
pub use owner::{check_reset, check_strangers, keeper};
pub(crate) use programs::{OTHER_CLOCKS, missing as missing_programs, unknown_distribution};
pub use recovering::etcd_works;
pub use recovering::{check_best, check_chosen, check_goes_on, check_recovery, check_restore, check_source, has_begun, recovery_of, room};
pub(crate) use running::endpoint as uploaded_endpoint;
pub(crate) use running::version as uploaded_version;
pub use token_keys::replacing_token_key;
pub use versions::is_mixed as has_mixed_versions;
pub(crate) use versions::kubelets_of_another_patch;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It may become a problem.
    Warning,
    /// Nothing is begun while it is so.
    Refusal,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it weighs.
    pub weight: Weight,
    /// What is wrong, where, why, and what to do.
    pub refusal: Refusal,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Name of the check.
    pub name: &'static str,
    /// What it says when nothing is found.
    pub about: &'static str,
    /// The host; `None` for a check of all together.
    pub host: Option<String>,
    /// What was found; nothing if all is well.
    pub findings: Vec<Finding>,
}

/// One host with everything that is known of it.
#[derive(Debug, Clone, Copy)]
struct Scope<'a> {
    cluster: &'a Cluster,
    host: &'a Host,
    facts: &'a HostFacts,
    seen: &'a Observations,
    /// What is installed from, where that is known.
    bundle: Option<&'a Bundle>,
}

impl<'a> Scope<'a> {
    /// The settings of the host: with what it has for itself.
    fn settings(&self) -> &'a Settings {
        self.cluster.settings_of(self.host)
    }

    /// What of packages the bundle has for the host, if it lacks any.
    fn bundled(&self) -> Option<bundled::Bundled<'a>> {
        bundled::bundled(self.bundle?, self.facts, (self.cluster, self.host))
    }

    /// Whether kokctl has not been here yet: later our own programs run, listen and take space.
    fn is_fresh(&self) -> bool {
        self.facts.cluster.is_none()
    }
}

fn refused(refusal: Refusal) -> Finding {
    Finding { weight: Weight::Refusal, refusal }
}

/// Collects findings.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn refuse(&mut self, refusal: Refusal) {
        self.0.push(refused(refusal));
    }

    fn warn(&mut self, refusal: Refusal) {
        self.0.push(Finding { weight: Weight::Warning, refusal });
    }
}

struct HostCheck {
    name: &'static str,
    about: &'static str,
    check: fn(&Scope<'_>, &mut Findings),
}

struct ClusterCheck {
    name: &'static str,
    about: &'static str,
    check: fn(&Cluster, &Seen, &mut Findings),
}

const fn of_host(name: &'static str, about: &'static str, check: fn(&Scope<'_>, &mut Findings)) -> HostCheck {
    HostCheck { name, about, check }
}

const fn of_cluster(name: &'static str, about: &'static str, check: fn(&Cluster, &Seen, &mut Findings)) -> ClusterCheck {
    ClusterCheck { name, about, check }
}

/// The checks of each host, in the order in which they are shown.
const HOST_CHECKS: &[HostCheck] = &[
    of_host("idle", "no script of an earlier run is at work", owner::idle),
    of_host(RECOVERY, "no recovery of etcd is under way", recovering::none),
    of_host("owner", "it belongs to no other cluster", owner::owner),
    of_host("runtime", "no container runtime or Kubernetes of somebody else", owner::runtime),
    of_host("system", "Linux with systemd, of a kernel and an architecture that fit", machine::system),
    of_host("modules", "the kernel has the modules that are needed", machine::modules),
    of_host("cgroups", "control groups of version 2", machine::cgroups),
    of_host("size", "enough memory and processors", machine::size),
    of_host("swap", "no swap, or swap that can be switched off", machine::swap),
    of_host("selinux", "SELinux forbids nothing that is needed", machine::selinux),
    of_host("storage", "room, inodes and mounts that can be written", storage::storage),
    of_host("commands", "every command is there, or can be installed", programs::commands),
    of_host("time", "one program keeps the clock", programs::time),
    of_host("address", "an interface has the address of the file", network::address),
    of_host("ports", "the ports are free", network::ports),
    of_host("firewall", "no firewall closes a port that is needed", network::firewall),
    of_host("routes", "no route leads into the ranges of pods and services", network::routes),
    of_host("subnet", "the pods' network reaches the other hosts as it needs it", network::subnet),
    of_host("ipv6", "it has what dual stack needs of IPv6, where that is asked for", ipv6::check),
    of_host("virtual-address", "the address that is to move is one of its network", virtual_address::network),
    of_host("packets", "its interface sends packets as large as the pods' network needs", network::packets),
    of_host("names", "name servers that pods can ask", network::name_servers),
];

const FOUNDING: &str = "founding";

const MOVED: &str = "moved";
const RECOVERY: &str = "recovery";

/// What keeps clocks from agreeing.
pub(crate) fn clocks(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let mut found = Findings::default();
    together::clocks(cluster, seen, &mut found);
    found.0.into_iter().filter(|finding| finding.weight == Weight::Refusal).map(|finding| finding.refusal).collect()
}

/// The checks of all hosts together.
const CLUSTER_CHECKS: &[ClusterCheck] = &[
    of_cluster("identity", "every host is a machine of its own", together::identity),
    of_cluster("clocks", "the clocks agree", together::clocks),
    of_cluster("free-address", "nobody else has the address that is to move", virtual_address::free),
    of_cluster("ownership", "hosts that are part of the cluster are part of the same one", ownership::ownership),
    of_cluster("authority", "no host is part of another Kubernetes cluster", owner::authorities),
    of_cluster("own-authorities", "the authorities are those of the file, if it has any", own_authorities::check),
    of_cluster("escrow", "the keys that are kept are those of the cluster", own_authorities::check_kept),
    of_cluster(MOVED, "nodes are at the addresses of the file", moved::check),
    of_cluster(FOUNDING, "the cluster is founded once, with the hosts of the file", bootstrap::check),
    of_cluster("encryption", "what etcd holds stays readable", encryption::check),
    of_cluster("authorities", "no certificate authority is being replaced", authorities::check),
    of_cluster("token-keys", "control planes take each other's tokens of service accounts", token_keys::check),
    of_cluster("proxy", "kube-proxy goes by what Kubernetes keeps", kube_proxy::mode),
    of_cluster("versions", "one version of Kubernetes runs", versions::check),
    of_cluster("running", "what runs already is the cluster of the file", running::check),
    of_cluster("names-of-pods", "pods that run find names as before", node_dns::running),
];

/// What the checks look at on a host besides its facts.
#[must_use]
pub fn looks(cluster: &Cluster, host: &Host) -> Vec<Look> {
    let units =
        owner::FOREIGN.iter().map(|foreign| foreign.unit).chain(owner::units(cluster, host)).chain(programs::CLOCKS.iter().copied());
    let mut looks: Vec<Look> = units.map(|unit| Look::Unit(unit.to_owned())).collect();
    if cluster.settings_of(host).host.firewall != FirewallPolicy::Ignore {
        looks.push(Look::Firewall);
    }
    looks.extend(host::modules(cluster, host).into_iter().map(|name| Look::KernelModule(name.to_owned())));
    looks.push(Look::Versions);
    looks.extend(programs::looks(cluster, host));
    looks.extend(bootstrap::looks(cluster, host));
    looks.extend(control_planes::looks(host));
    looks.extend(own_authorities::looks(cluster, host));
    looks.extend(token_keys::looks(host));
    looks.extend(authorities::looks(host));
    if !cluster.settings.node_dns.enabled && host.roles.is_node() {
        looks.push(Look::Path(NODE_DNS_UNIT_FILE.to_owned()));
    }
    if host.roles.is_node() {
        looks.extend((plugin(&cluster.network).looks)());
    }
    looks.extend((cluster.network.is_dual_stack() && host.roles.is_node()).then_some(Look::Ipv6));
    looks.extend(virtual_address::looks(cluster, host));
    if host.roles.control_plane {
        looks.extend(api_server::looks(cluster));
    }
    looks
}

/// Carries out every check, without knowing from what is installed. Hosts that were not probed are left out.
#[must_use]
pub fn examine(cluster: &Cluster, seen: &Seen) -> Vec<Examined> {
    examine_for(cluster, seen, None)
}

fn examine_for(cluster: &Cluster, seen: &Seen, bundle: Option<&Bundle>) -> Vec<Examined> {
    let cluster = &*completed(cluster, seen);
    let mut all = Vec::new();
    for host in &cluster.hosts {
        let Some(facts) = seen.facts(&host.name) else { continue };
        let scope = Scope { cluster, host, facts, seen: seen.observations(&host.name), bundle };
        for HostCheck { name, about, check } in HOST_CHECKS {
            let mut found = Findings::default();
            check(&scope, &mut found);
            let place = || format!("host {} ({})", host.name, host.address);
            let findings = found.0.into_iter().map(|finding| Finding { refusal: finding.refusal.at(place()), ..finding }).collect();
            all.push(Examined { name, about, host: Some(host.name.clone()), findings });
        }
    }
    for ClusterCheck { name, about, check } in CLUSTER_CHECKS {
        let mut found = Findings::default();
        check(cluster, seen, &mut found);
        all.push(Examined { name, about, host: None, findings: found.0 });
    }
    let findings = all.iter_mut().flat_map(|examined| &mut examined.findings);
    findings.for_each(|finding| finding.refusal.conceal(&cluster.concealed));
    all
}

/// Why nothing may be begun; empty if something may.
#[must_use]
pub fn check(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    found(cluster, seen, (None, Weight::Refusal))
}

/// The same if this bundle is installed from, which may have packages that hosts lack.
#[must_use]
pub fn check_with(cluster: &Cluster, seen: &Seen, bundle: &Bundle) -> Vec<Refusal> {
    found(cluster, seen, (Some(bundle), Weight::Refusal))
}

/// What stops nothing, and may become a problem.
#[must_use]
pub fn warnings(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    found(cluster, seen, (None, Weight::Warning))
}

/// The same if this bundle is installed from.
#[must_use]
pub fn warnings_with(cluster: &Cluster, seen: &Seen, bundle: &Bundle) -> Vec<Refusal> {
    found(cluster, seen, (Some(bundle), Weight::Warning))
}

/// What is said again by a run that has nothing to do: that the running cluster is more than the file says, and that a key is being replaced.
#[must_use]
pub fn reminders(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let of_running = examine(cluster, seen)
        .into_iter()
        .filter(|examined| ["running", "encryption", "token-keys", "authorities"].contains(&examined.name))
        .flat_map(|examined| examined.findings);
    of_running.filter(|finding| finding.weight == Weight::Warning).map(|finding| finding.refusal).collect()
}

/// Hosts that are somebody else's, or of another cluster, or of one whose etcd is being recovered.
#[must_use]
pub fn strangers(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let whose = |examined: &Examined| [RECOVERY, "owner", "ownership", "authority"].contains(&examined.name);
    examine(cluster, seen).into_iter().filter(whose).flat_map(|examined| examined.findings).map(|finding| finding.refusal).collect()
}

fn found(cluster: &Cluster, seen: &Seen, (bundle, weight): (Option<&Bundle>, Weight)) -> Vec<Refusal> {
    let mut examined = examine_for(cluster, seen, bundle);
    // What else is wrong meanwhile is how a recovery leaves things until it has ended.
    if examined.iter().any(|examined| examined.name == RECOVERY && !examined.findings.is_empty()) {
        examined.retain(|examined| examined.name == RECOVERY);
    }
    let findings = examined.into_iter().flat_map(|examined| examined.findings);
    findings.filter(|finding| finding.weight == weight).map(|finding| finding.refusal).collect()
}
