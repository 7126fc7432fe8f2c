//! The stages of a way: clusters with other versions, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::listed;
use kok_crds::model::{Cluster, Host, Underway, Way};
use semver::Version;

use super::{Hop, Pause, Running, Stage, StageName, Wish};
use crate::plan::Refusal;

/// The stages of a way, as far as they are wished for. Where a part is left out that what follows needs, the way ends there. Where nothing is to get another
/// version, what a run that was cut off has left may be a stage.
///
/// # Errors
/// [`Refusal`] where nothing of what is meant may be changed before others are.
pub fn stages(cluster: &Cluster, running: &Running, hops: &[Hop], wish: &Wish) -> Result<Vec<Stage>, Refusal> {
    let mut builder = Builder { cluster, wish, running, is: running.clone(), stages: Vec::new() };
    let mut before = None;
    for (number, hop) in hops.iter().enumerate() {
        let (is_done, to) = match hop {
            Hop::Etcd(version) if hops.get(number + 1).is_some_and(|next| builder.has_members_with_kubelets(next)) => {
                before = Some(version);
                continue;
            }
            Hop::Etcd(version) => (builder.etcd(version), version),
            Hop::Kubernetes { to, etcd, kubelets, emulates } => {
                let members = match builder.has_members_with_kubelets(hop) {
                    true => Members { with_planes: before.take(), with_kubelets: etcd.as_ref() },
                    false => Members { with_planes: etcd.as_ref(), with_kubelets: None },
                };
                (builder.kubernetes(to, (members, *emulates), *kubelets), to)
            }
        };
        match is_done {
            true => {}
            false if builder.stages.is_empty() => match others_first(&builder.is, to) {
                Some(refusal) => return Err(refusal),
                None => break,
            },
            false => break,
        }
    }
    if let Some(pause) = wish.pause {
        builder.stages = pause.before(running, builder.stages);
    }
    if builder.stages.is_empty() {
        builder.rest();
    }
    let to = hops.last().map(|hop| match hop {
        Hop::Etcd(_) => &cluster.kubernetes_version,
        Hop::Kubernetes { to, .. } => to,
    });
    Ok(on_their_way(builder.stages, to.unwrap_or(&cluster.kubernetes_version)))
}

/// The one stage in which hosts get the components of the bundle, and Kubernetes and etcd stay in the versions that run, by host; those that are meant.
#[must_use]
pub fn components(cluster: &Cluster, running: &Running, wish: &Wish) -> Stage {
    let builder = Builder { cluster, wish, running, is: running.clone(), stages: Vec::new() };
    let here = running.planes.values().min().unwrap_or(&cluster.kubernetes_version);
    let hosts = cluster.hosts.iter().filter(|host| wish.has(&host.name)).map(|host| host.name.clone()).collect();
    Stage { name: StageName::Components, cluster: builder.now(here), hosts }
}

/// The stages, each of which knows where on the whole way it is.
fn on_their_way(mut stages: Vec<Stage>, to: &Version) -> Vec<Stage> {
    let mut begin: BTreeMap<String, usize> = BTreeMap::new();
    // What the cluster says of itself is of no host, and what is left has its version.
    let changes_hosts = |name: StageName| !matches!(name, StageName::Configuration | StageName::Rest);
    for (number, stage) in stages.iter().enumerate().filter(|(_, stage)| changes_hosts(stage.name)) {
        for host in &stage.hosts {
            begin.entry(host.clone()).or_insert(number);
        }
    }
    for (number, stage) in stages.iter_mut().enumerate() {
        if let Some(underway) = &mut stage.cluster.underway {
            underway.way = Way { to: to.clone(), stage: number, begin: begin.clone() };
        }
    }
    stages
}

/// The versions of etcd that members get in one step on the way: with the API servers beside them, and with their kubelets after those.
#[derive(Clone, Copy)]
struct Members<'a> {
    with_planes: Option<&'a Version>,
    with_kubelets: Option<&'a Version>,
}

pub(super) struct Builder<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) wish: &'a Wish,
    /// What runs now.
    running: &'a Running,
    /// What runs when all stages so far are done.
    pub(super) is: Running,
    pub(super) stages: Vec<Stage>,
}

impl Builder<'_> {
    /// The cluster in which that runs which runs by then. Kubelets that are not there yet come in the version of the oldest API server.
    fn now(&self, to: &Version) -> Cluster {
        let oldest = self.is.planes.values().min().unwrap_or(to);
        let kubelet = |host: &Host| self.is.kubelets.get(&host.name).unwrap_or(oldest).clone();
        let kubelets = self.cluster.nodes().map(|host| (host.name.clone(), kubelet(host))).collect();
        let underway = Underway {
            planes: self.is.planes.clone(),
            kubelets,
            shared: Some(self.is.shared.clone().unwrap_or_else(|| oldest.clone())),
            etcd: self.is.etcd.clone(),
            emulated: self.is.emulated.iter().map(|(host, (major, minor))| (host.clone(), format!("{major}.{minor}"))).collect(),
            wave: None,
            drained: Vec::new(),
            away: self.wish.away.clone(),
            way: Way::default(),
        };
        Cluster { kubernetes_version: to.clone(), underway: Some(underway), ..self.cluster.clone() }
    }

    pub(super) fn push(&mut self, name: StageName, hosts: Vec<String>, to: &Version) {
        let cluster = self.now(to);
        self.stages.push(Stage { name, cluster, hosts });
    }

    /// Where a run was cut off when all had their versions, nothing else would wait for an API server, or lift what was cordoned.
    fn rest(&mut self) {
        let rest = &self.running.rest;
        let left: BTreeSet<&String> = rest.planes.iter().chain(&rest.nodes).filter(|host| self.wish.has(host)).collect();
        self.push_rest(left.into_iter().cloned().collect());
    }

    /// Before the first node is drained, for which every API server has to answer. A stage before this one ends when they do.
    pub(super) fn waits_for_api_servers(&mut self) {
        if self.stages.is_empty() {
            self.push_rest(self.running.rest.planes.clone());
        }
    }

    /// Everything stays in the version that it has now, wherever the stages that were thought of and are not wished for would have led.
    fn push_rest(&mut self, left: Vec<String>) {
        if !left.is_empty() {
            self.is.clone_from(self.running);
            let here = self.is.planes.values().min().unwrap_or(&self.cluster.kubernetes_version).clone();
            self.push(StageName::Rest, left, &here);
        }
    }

    /// Whether all members have it then.
    fn etcd(&mut self, version: &Version) -> bool {
        let older = self.is.etcd.iter().filter(|(_, is)| *is < version);
        let hosts: Vec<String> = older.map(|(host, _)| host.clone()).collect();
        if hosts.is_empty() {
            return true;
        }
        // All of them or none: they are changed one after the other, and only together they get further.
        if !self.wish.has_planes() || !hosts.iter().all(|host| self.wish.has(host)) {
            return false;
        }
        self.is.etcd.values_mut().filter(|is| **is < *version).for_each(|is| *is = version.clone());
        let to = self.is.planes.values().min().cloned().unwrap_or_else(|| version.clone());
        self.push(StageName::Etcd, hosts, &to);
        true
    }

    /// Whether all that follows may come.
    fn kubernetes(&mut self, to: &Version, (members, emulates): (Members<'_>, Option<(u64, u64)>), kubelets: bool) -> bool {
        if self.wish.has_planes() {
            self.planes(to, (members.with_planes, emulates));
        }
        if !Running::others(&self.is.planes, to).is_empty() {
            return false;
        }
        // What works as another version may be taken back, and nothing follows it.
        if !self.is.emulated.is_empty() {
            return emulates.is_some();
        }
        // What the cluster says of itself names no etcd of before then.
        if let Some(etcd) = members.with_kubelets {
            self.kubelets_with_members(to, etcd);
        }
        if self.is.shared.as_ref() != Some(to) && self.wish.has_planes() {
            self.is.shared = Some(to.clone());
            let first = self.cluster.control_planes().next().map(|host| host.name.clone());
            self.push(StageName::Configuration, first.into_iter().collect(), to);
        }
        if kubelets {
            self.kubelets(to);
        }
        !kubelets || Running::others(&self.is.kubelets, to).is_empty()
    }

    /// Control planes that are behind, by themselves or by their members of etcd.
    fn planes(&mut self, to: &Version, (etcd, emulates): (Option<&Version>, Option<(u64, u64)>)) {
        let is_behind = |host: &Host| {
            let has_old = |versions: &BTreeMap<String, Version>, wanted: &Version| versions.get(&host.name).is_some_and(|is| is != wanted);
            let works_as = |host: &Host| self.is.emulated.get(&host.name).copied();
            let has_plane = self.is.planes.contains_key(&host.name);
            has_old(&self.is.planes, to)
                || (has_plane && works_as(host) != emulates)
                || etcd.is_some_and(|etcd| has_old(&self.is.etcd, etcd))
        };
        let chosen = self.cluster.hosts.iter().filter(|host| is_behind(host) && self.wish.has(&host.name));
        let behind: Vec<String> = chosen.map(|host| host.name.clone()).collect();
        let Some((first, rest)) = behind.split_first() else { return };
        let is_there = |(host, is): (&String, &Version)| is == to && self.is.emulated.get(host).copied() == emulates;
        let none_is_there = !self.is.planes.iter().any(is_there);
        let groups = match self.wish.pause == Some(Pause::First) && none_is_there && !self.cluster.has_etcd_units() {
            true => vec![(StageName::First, vec![first.clone()]), (StageName::ControlPlanes, rest.to_vec())],
            false => vec![(StageName::ControlPlanes, behind)],
        };
        for (name, hosts) in groups.into_iter().filter(|(_, hosts)| !hosts.is_empty()) {
            for host in &hosts {
                self.is.planes.get_mut(host).into_iter().for_each(|is| *is = to.clone());
                self.is.emulated.remove(host);
                let is_plane = self.is.planes.contains_key(host);
                self.is.emulated.extend(emulates.filter(|_| is_plane).map(|minor| (host.clone(), minor)));
                self.is.etcd.get_mut(host).into_iter().zip(etcd).for_each(|(is, etcd)| *is = etcd.clone());
            }
            self.push(name, hosts, to);
        }
    }
}

/// Nothing where kubelets alone are left that are not meant.
fn others_first(is: &Running, to: &Version) -> Option<Refusal> {
    let mut behind: BTreeSet<&str> = BTreeSet::new();
    for versions in [&is.planes, &is.etcd] {
        behind.extend(versions.iter().filter(|(_, version)| *version < to).map(|(host, _)| host.as_str()));
    }
    let refusal = Refusal::new(format!("nothing of what is meant can get {to} yet"))
        .at("--limit or --part")
        .because(format!(
            "{} come first: members of etcd go together, and no kubelet may be newer than an API server",
            listed(behind.iter().copied())
        ))
        .hint("`kokctl upgrade --part control-planes` first, or leave --limit and --part out");
    (!behind.is_empty()).then_some(refusal)
}

/// What is left to do after these stages, by host: nothing is left where all of it has the version.
#[must_use]
pub fn left(running: &Running, to: &Version) -> BTreeMap<&'static str, BTreeSet<String>> {
    let hosts_of = |map| Running::others(map, to).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    [("control planes", hosts_of(&running.planes)), ("kubelets", hosts_of(&running.kubelets))]
        .into_iter()
        .filter(|(_, hosts)| !hosts.is_empty())
        .collect()
}
