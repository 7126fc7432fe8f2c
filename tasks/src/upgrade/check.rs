//! What is in the way of an upgrade: each finding with its evidence, and what to do about it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use kok_crds::listed;
use kok_crds::model::Cluster;
use semver::Version;

use super::room::room;
use super::webhooks::webhooks;
use crate::drain::{Blocker, Cordon, DrainSettings, judge};
use crate::observe::{ApiServerState, EtcdState, KubernetesState, Look, Looks, NodeState};
use crate::plan::{Refusal, Seen};
use crate::preconditions;
use crate::speaker::speaker;
use crate::validity;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckName {
    /// API versions that somebody uses and the target has no more.
    RemovedApis,
    /// Members of etcd: whether they work, complain of nothing, and have room.
    Etcd,
    /// Whether nodes are Ready.
    Nodes,
    /// Whether certificates end soon.
    Certificates,
    /// Whether pods can leave at all.
    Budgets,
    /// Webhooks of admission that refuse everything, for nobody answers for them.
    Webhooks,
    /// Nodes that somebody else keeps pods away from.
    Cordons,
    /// Whether clocks agree.
    Clocks,
    /// Whether disks have room for another version.
    Disks,
}

/// Something that is in the way, or may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which check it is of.
    pub name: CheckName,
    /// Whether nothing is begun while it is so, unless somebody says that it does not matter.
    pub blocks: bool,
    /// What, where, why, and what to do.
    pub refusal: Refusal,
}

/// Certificates that end within so many days are renewed first.
const DAYS: i64 = 7;

/// The least share of its quota, in percent, that a member has to have left: what is changed is stored beside what was.
const LEAST_FREE: u64 = 20;

impl CheckName {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::RemovedApis,
        Self::Etcd,
        Self::Nodes,
        Self::Certificates,
        Self::Budgets,
        Self::Webhooks,
        Self::Cordons,
        Self::Clocks,
        Self::Disks,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RemovedApis => "removed-apis",
            Self::Etcd => "etcd",
            Self::Nodes => "nodes",
            Self::Certificates => "certificates",
            Self::Budgets => "budgets",
            Self::Webhooks => "webhooks",
            Self::Cordons => "cordons",
            Self::Clocks => "clocks",
            Self::Disks => "disks",
        }
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CheckName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || listed(Self::ALL.iter().map(|name| name.as_str()));
        Self::ALL.into_iter().find(|name| name.as_str() == text).ok_or_else(|| format!("the checks are {}", names()))
    }
}

/// What has to be seen of each host, besides what every look sees of versions.
#[must_use]
pub fn looks(cluster: &Cluster) -> BTreeMap<String, Looks> {
    let mut asked: BTreeMap<String, Looks> = BTreeMap::new();
    let nodes: Vec<Look> = cluster.nodes().map(|host| Look::Workload(host.name.clone())).collect();
    for host in &cluster.hosts {
        let looks = asked.entry(host.name.clone()).or_default();
        looks.add(Look::Versions);
        if host.roles.etcd {
            looks.add(Look::Etcd);
        }
        if host.roles.control_plane {
            looks
                .extend([Look::ApiServer, Look::Kubernetes, Look::DeprecatedApis, Look::Webhooks].into_iter().chain(nodes.iter().cloned()));
        }
        looks.extend(validity::looks());
    }
    asked
}

/// What is in the way of `to`, the worst first.
#[must_use]
pub fn check(cluster: &Cluster, seen: &Seen, to: &Version, now_seconds: i64) -> Vec<Found> {
    let mut found = Vec::new();
    removed_apis(cluster, seen, to, &mut found);
    etcd(cluster, seen, &mut found);
    if let Some(KubernetesState::Ready { nodes, .. }) =
        speaker(cluster, seen).and_then(|host| seen.observations(&host.name).kubernetes.as_ref())
    {
        of_nodes((cluster, seen), nodes, &mut found);
    }
    certificates(cluster, seen, now_seconds, &mut found);
    budgets(cluster, seen, &mut found);
    webhooks(cluster, seen, &mut found);
    let clocks = preconditions::clocks(cluster, seen).into_iter();
    found.extend(clocks.map(|refusal| Found { name: CheckName::Clocks, blocks: true, refusal }));
    found.extend(room(cluster, seen, to).into_iter().map(|(blocks, refusal)| Found { name: CheckName::Disks, blocks, refusal }));
    found.sort_by_key(|found| !found.blocks);
    found
}

pub(super) fn push(found: &mut Vec<Found>, name: CheckName, blocks: bool, refusal: Refusal) {
    found.push(Found { name, blocks, refusal });
}

/// Of each API server, for each counts what it was asked itself, since its start.
fn removed_apis(cluster: &Cluster, seen: &Seen, to: &Version, found: &mut Vec<Found>) {
    let mut used: BTreeMap<String, (Version, Vec<&str>)> = BTreeMap::new();
    for host in cluster.control_planes() {
        for api in seen.observations(&host.name).deprecated_apis.iter().flatten().filter(|api| api.removed_in <= *to) {
            used.entry(api.to_string()).or_insert_with(|| (api.removed_in.clone(), Vec::new())).1.push(&host.name);
        }
    }
    for (api, (removed_in, hosts)) in used {
        let removed_in = format!("{}.{}", removed_in.major, removed_in.minor);
        let refusal = Refusal::new(format!("{api} is used, and Kubernetes {removed_in} has it no more"))
            .at(format!("API server of {}", listed(hosts)))
            .because("it was asked for since the API server was started (`apiserver_requested_deprecated_apis`); whoever asks then gets an error")
            .hint("find out who asks (the audit log says it), and let it ask for the newer version of the API");
        push(found, CheckName::RemovedApis, true, refusal);
    }
}

fn etcd(cluster: &Cluster, seen: &Seen, found: &mut Vec<Found>) {
    const MEND: &str = "mend etcd first: `kokctl status` shows its members";
    const ROOM: &str = "`kokctl etcd defrag -f FILE` gives back what holds nothing; where most is in use (`kokctl etcd status`), delete what is not needed, \
                        or raise `etcd_quota_backend_bytes` and apply it in the present version";
    for host in cluster.etcd_hosts() {
        let (at, mut hint) = (format!("host {}", host.name), MEND);
        let what = match &seen.observations(&host.name).etcd {
            Some(EtcdState::Ready(member)) if !member.errors.is_empty() => {
                format!("its member of etcd complains: {}", member.errors.join(", "))
            }
            Some(EtcdState::Ready(member)) if member.is_learner => "its member of etcd only learns, and has no vote".to_owned(),
            Some(EtcdState::Ready(member)) if !member.has_leader => "its member of etcd knows of no leader".to_owned(),
            Some(EtcdState::Ready(member)) => match member
                .quota
                .filter(|quota| member.size.saturating_mul(100) > quota.saturating_mul(100 - LEAST_FREE))
            {
                Some(quota) => {
                    hint = ROOM;
                    format!("its member of etcd has {} of {} MiB, and less than {LEAST_FREE} % are free", member.size >> 20, quota >> 20)
                }
                None => continue,
            },
            _ => "its member of etcd does not answer".to_owned(),
        };
        let refusal = Refusal::new(what).at(at).because("each member is started anew, which the others have to do without");
        push(found, CheckName::Etcd, true, refusal.hint(hint));
    }
}

fn of_nodes((cluster, seen): (&Cluster, &Seen), nodes: &BTreeMap<String, NodeState>, found: &mut Vec<Found>) {
    for host in cluster.nodes() {
        let at = format!("node {}", host.name);
        let Some(node) = nodes.get(&host.name) else {
            let refusal = Refusal::new(format!("{} is no node yet", host.name)).at(at).because("an upgrade is of what is there");
            let refusal = refusal.hint("`kokctl apply` in the version that the cluster has lets it join");
            push(found, CheckName::Nodes, !seen.is_unreachable(&host.name), refusal);
            continue;
        };
        if !node.ready {
            let refusal = Refusal::new(format!("{} is not Ready: {}", host.name, node.message)).at(at.clone());
            let refusal = refusal.because("where one is away already, others may not be");
            // The kubelet of a control plane asks the API server beside it: where an upgrade was cut off while that rested, it goes on with it.
            let rests = host.roles.control_plane && seen.observations(&host.name).api_server != Some(ApiServerState::Ready);
            // Whoever lets hosts be away knows of it, and no node waits for one that is left out.
            let (left_out, hint) = match seen.is_unreachable(&host.name) {
                true => (true, "it is left out, and the same command takes it when it is back"),
                false => (false, "mend it, and say the same again"),
            };
            push(found, CheckName::Nodes, !rests && !left_out, refusal.hint(hint));
        }
        if node.cordon == Cordon::Others {
            let refusal = Refusal::new(format!("somebody keeps new pods away from {}", host.name)).at(at);
            push(
                found,
                CheckName::Cordons,
                false,
                refusal.because("that stays so").hint(format!("`kubectl uncordon {}` if nobody needs it", host.name)),
            );
        }
    }
}

fn certificates(cluster: &Cluster, seen: &Seen, now_seconds: i64, found: &mut Vec<Found>) {
    for host in &cluster.hosts {
        let soon = |validity: &validity::Validity| validity.end.as_ref().is_ok_and(|end| *end < now_seconds.saturating_add(DAYS * 86_400));
        let ending: Vec<&str> =
            validity::certificate_validities(seen.observations(&host.name)).iter().filter(|it| soon(it)).map(|it| it.name).collect();
        if !ending.is_empty() {
            let refusal =
                Refusal::new(format!("certificates end within {DAYS} days: {}", ending.join(", "))).at(format!("host {}", host.name));
            let refusal = refusal.because("one that ends half-way stops it where it stands");
            push(found, CheckName::Certificates, true, refusal.hint("renew them first: `kokctl certs renew`"));
        }
    }
}

fn budgets(cluster: &Cluster, seen: &Seen, found: &mut Vec<Found>) {
    let Some(Ok(workload)) = speaker(cluster, seen).and_then(|host| seen.observations(&host.name).workload.as_ref()) else { return };
    let settings = DrainSettings { delete_empty_dir: true, delete_unmanaged: true, ..DrainSettings::from_drains(&cluster.settings.drains) };
    for (node, pods) in &workload.pods {
        for (pod, blocker) in judge(pods, &workload.budgets, &settings).blocked {
            let blocks = matches!(blocker, Blocker::NeverMet(_) | Blocker::Several(_));
            let what = if blocks { "never leaves its node" } else { "does not leave its node now" };
            let refusal = Refusal::new(format!("pod {pod} {what}")).at(format!("node {node}")).because(blocker.to_string());
            let hint = "give it another budget, or more replicas; or let it be deleted: `drain_fallback_enabled: true`";
            push(
                found,
                CheckName::Budgets,
                blocks,
                if blocks { refusal.hint(hint) } else { refusal.hint("the drain waits for it, as long as it may") },
            );
        }
    }
}
