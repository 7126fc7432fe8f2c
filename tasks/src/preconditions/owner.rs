//! Whose a host is.

use kok_crds::model::{Cluster, Host};
use kok_pki::{AuthorityKind, trust_one};

use super::own_authorities::kept_certificate;
use super::{Findings, Scope, ownership, recovering};
use crate::facts::HostFacts;
use crate::issued;
use crate::plan::{Refusal, Seen};

pub(super) fn idle(scope: &Scope<'_>, found: &mut Findings) {
    if let Some(refusal) = busy(scope.facts) {
        found.refuse(refusal);
    }
}

pub(super) fn owner(scope: &Scope<'_>, found: &mut Findings) {
    if let Some(refusal) = of_another_cluster(&scope.cluster.name, scope.facts) {
        found.refuse(refusal);
    }
}

fn busy(facts: &HostFacts) -> Option<Refusal> {
    facts.busy.then(|| {
        let refusal = Refusal::new("a script of an earlier run is still at work")
            .hint("wait for it, or look at `systemctl list-units 'kokctl-job-*'` on the host")
            .passing();
        if facts.jobs.is_empty() { refusal } else { refusal.because(format!("{} runs there", facts.jobs.join(", "))) }
    })
}

fn of_another_cluster(ours: &str, facts: &HostFacts) -> Option<Refusal> {
    let other = facts.cluster.as_ref().filter(|name| *name != ours)?;
    Some(
        Refusal::new(format!("it belongs to the cluster {other}"))
            .because("a host that is part of another cluster is never touched")
            .hint(format!(
                "if the file is that of {other}, set metadata.name back to {other}; otherwise correct the address, or take the host out of {other} \
                 with `kokctl reset` and that cluster's file"
            )),
    )
}

/// What must hold before hosts are taken out of a cluster that goes on: none of them belongs to another one, and its etcd is not being recovered.
#[must_use]
pub fn check_reset(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let mut refusals = check_strangers(cluster, seen);
    for host in &cluster.hosts {
        let found = seen.facts(&host.name).and_then(recovering::under_way);
        refusals.extend(found.map(|refusal| refusal.at(format!("host {} ({})", host.name, host.address))));
    }
    refusals
}

/// What must hold before anything is done on hosts: none of them belongs to another cluster, or is at work.
#[must_use]
pub fn check_strangers(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let mut findings = Findings::default();
    // Where the control plane is bare already, an earlier reset did not reach all hosts; then their records say whose they are.
    if cluster.control_planes().any(|host| authority(host, seen).is_some()) {
        authorities(cluster, seen, &mut findings);
    }
    ownership::ownership(cluster, seen, &mut findings);
    let mut refusals: Vec<Refusal> = findings.0.into_iter().map(|finding| finding.refusal).collect();
    for host in &cluster.hosts {
        let Some(facts) = seen.facts(&host.name) else { continue };
        let foreign = (facts.cluster.is_none() && facts.certificate_authority.is_some()).then(|| joined_by_hand(&host.name, ""));
        let found = busy(facts).or(of_another_cluster(&cluster.name, facts)).or(foreign);
        refusals.extend(found.map(|refusal| refusal.at(format!("host {} ({})", host.name, host.address))));
    }
    refusals
}

/// A unit of a program that kokctl does not install, and whose place its own would take.
pub(super) struct Foreign {
    pub(super) unit: &'static str,
    what: &'static str,
    /// How its owner takes it away.
    removal: &'static str,
}

const fn foreign(unit: &'static str, what: &'static str, removal: &'static str) -> Foreign {
    Foreign { unit, what, removal }
}

pub(super) const FOREIGN: &[Foreign] = &[
    foreign("docker.service", "Docker", "remove the packages docker-ce or docker.io, and containerd.io"),
    foreign("snap.docker.dockerd.service", "Docker as a snap", "`snap remove docker`"),
    foreign("crio.service", "CRI-O", "remove the package cri-o"),
    foreign("k3s.service", "k3s", "`k3s-uninstall.sh`"),
    foreign("k3s-agent.service", "k3s", "`k3s-agent-uninstall.sh`"),
    foreign("rke2-server.service", "RKE2", "`rke2-uninstall.sh`"),
    foreign("rke2-agent.service", "RKE2", "`rke2-uninstall.sh`"),
    foreign("k0scontroller.service", "k0s", "`k0s reset`"),
    foreign("k0sworker.service", "k0s", "`k0s reset`"),
    foreign("snap.microk8s.daemon-kubelite.service", "MicroK8s", "`snap remove microk8s`"),
];

/// Units of the names that our own have. On a host without our record they are somebody else's.
pub(super) fn units(cluster: &Cluster, host: &Host) -> impl Iterator<Item = &'static str> {
    let of_node = ["containerd.service", "kubelet.service"].into_iter().filter(|_| host.roles.is_node());
    let is_member = host.roles.etcd && cluster.has_etcd_units();
    of_node.chain(is_member.then_some("etcd.service"))
}

/// A runtime or kubelet that somebody else installed is not replaced: containers of others may run in it.
pub(super) fn runtime(scope: &Scope<'_>, found: &mut Findings) {
    let state = |unit: &str| scope.seen.units.get(unit).filter(|state| state.load == "loaded").map(|state| state.active.clone());
    // What runs etcd alone has no containers that others could be in the way of.
    for Foreign { unit, what, removal } in FOREIGN.iter().filter(|_| scope.host.roles.is_node()) {
        let Some(active) = state(unit) else { continue };
        let refusal = Refusal::new(format!("it already has {what} ({unit} is {active})"))
            .because("kokctl brings containerd, and does not replace or share what others depend on")
            .hint(format!("use a host without it; or move what runs there and {removal}"));
        if scope.is_fresh() { found.refuse(refusal) } else { found.warn(refusal) }
    }
    let ours = units(scope.cluster, scope.host).filter(|_| scope.is_fresh()).filter_map(|unit| Some((unit, state(unit)?))).next();
    if let Some((unit, active)) = &ours
        && scope.facts.certificate_authority.is_some()
    {
        return found.refuse(joined_by_hand(&scope.host.name, &format!("{unit} is {active}, ")));
    }
    if let Some((unit, active)) = ours {
        found.refuse(
            Refusal::new(format!("it already has a {unit}, which is {active}"))
                .because("kokctl has not installed it, and does not replace what others depend on")
                .hint(format!("`systemctl cat {unit}` shows whose it is; use a host without it, or remove its package first")),
        );
    }
}

/// A node that kokctl has not set up, as by `kubeadm join`: what is on it is somebody else's, and the cluster would keep its node without it.
fn joined_by_hand(name: &str, found: &str) -> Refusal {
    Refusal::new("it is a node of a Kubernetes cluster, and kokctl has not set it up")
        .because(format!("{found}/etc/kubernetes/pki/ca.crt is there, and no record of kokctl: somebody has joined it, as by `kubeadm join`"))
        .hint(format!(
            "correct the address; or, if it is to become one of kokctl's: `kubectl drain {name} --ignore-daemonsets`, `kubeadm reset` on the host, `kubectl \
             delete node {name}`, and take its kubelet and container runtime away; `kokctl apply` lets it join then"
        ))
}

/// The control plane whose certificate authorities are the cluster's: the first that has any, and belongs to it. They are made only where
/// there is none.
#[must_use]
pub fn keeper<'a>(cluster: &'a Cluster, seen: &Seen) -> Option<&'a Host> {
    cluster.control_planes().find(|host| is_recorded(cluster, host, seen) && authority(host, seen).is_some())
}

pub(super) fn is_recorded(cluster: &Cluster, host: &Host, seen: &Seen) -> bool {
    seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name))
}

/// Every host's certificate authority must be the control planes', or, before one has any, the one whose key somebody else keeps: workers get
/// that without waiting for a control plane.
pub(super) fn authorities(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    // While one was not asked, it may be the one that has them.
    let all_asked = cluster.control_planes().all(|host| seen.facts(&host.name).is_some());
    let first = || cluster.control_planes().next().filter(|_| all_asked);
    let keeper = keeper(cluster, seen);
    let Some(first) = keeper.or_else(first) else { return };
    let given = given_authority(cluster).filter(|_| keeper.is_none());
    let ours = keeper.and_then(|keeper| authority(keeper, seen)).or(given.as_ref().map(|(certificate, _)| certificate.as_str()));
    // Of a host that says to be another cluster's, that is said.
    let of_another = |host: &Host| seen.facts(&host.name).is_some_and(|facts| of_another_cluster(&cluster.name, facts).is_some());
    let is_ours = |theirs: &str| ours.is_some_and(|ours| trust_one(ours, theirs));
    let theirs = |host: &&Host| authority(host, seen).is_some_and(|theirs| !is_ours(theirs)) && !of_another(host);
    for host in cluster.hosts.iter().filter(theirs) {
        let other = given.as_ref().map_or_else(|| format!("that of the control plane {}", first.name), |(_, words)| (*words).to_owned());
        let ca = format!("its /etc/kubernetes/pki/ca.crt is not {other}");
        let refusal = if keeper.is_none() && is_recorded(cluster, host, seen) {
            let none = if given.is_some() { ", and no control plane has one" } else { ", which has none" };
            let is_claimed = cluster.control_planes().any(|host| is_recorded(cluster, host, seen));
            of_earlier(&format!("{ca}{none}"), is_claimed, kept_certificate(cluster, AuthorityKind::Kubernetes).is_some())
        } else {
            // The first control plane may be this host itself: there is nothing to compare it with.
            let of_nobody = "its /etc/kubernetes/pki/ca.crt is not of this cluster: no control plane has one of its own".to_owned();
            Refusal::new("it is part of another Kubernetes cluster")
                .because(if ours.is_none() { of_nobody } else { ca })
                .hint("correct the address; or, if that cluster can go, take the host out of it with `kokctl reset`")
        };
        found.refuse(refusal.at(format!("host {} ({})", host.name, host.address)));
    }
}

/// A host that has an authority where no control plane has any. Where these belong to the cluster they may have lost theirs.
fn of_earlier(because: &str, is_claimed: bool, is_kept: bool) -> Refusal {
    let earlier = "it still belongs to an earlier cluster of this name";
    let what = if is_claimed { "no control plane has the certificate authority that it trusts" } else { earlier };
    let refusal = Refusal::new(what);
    match (is_claimed, is_kept) {
        (_, true) => refusal.because(format!("{because}: the authority was replaced since, or a reset did not come to its end")).hint(
            "take a backup from after that, or another escrow; or finish the reset with `kokctl reset`, then apply",
        ),
        (true, false) => refusal
            .because(format!("{because}: the control planes have lost /etc/kubernetes/pki, or a reset did not come to its end"))
            .hint("lost keys come back out of a backup: `kokctl restore BACKUP --only-pki`; or finish the reset with `kokctl reset`, then apply"),
        (false, false) => {
            refusal.because(format!("{because}: a reset did not come to its end")).hint("finish it with `kokctl reset`, then apply")
        }
    }
}

/// The one that hosts get where no control plane has any, and whose it is in words: what the file gives, or what is kept of the cluster.
fn given_authority(cluster: &Cluster) -> Option<(String, &'static str)> {
    let of_file = issued::certificate_elsewhere(cluster, AuthorityKind::Kubernetes);
    let of_file = of_file.map(|certificate| (certificate.trim().to_owned(), "the one that the file gives"));
    of_file.or_else(|| Some((kept_certificate(cluster, AuthorityKind::Kubernetes)?.trim().to_owned(), "the one that is kept of it")))
}

fn authority<'a>(host: &Host, seen: &'a Seen) -> Option<&'a str> {
    seen.facts(&host.name).and_then(|facts| facts.certificate_authority.as_deref()).map(str::trim)
}
