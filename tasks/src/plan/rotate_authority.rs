//! The plans that replace a certificate authority, one for each stage: everybody trusts the new one, it signs, and the one from before goes (Kubernetes, "Manual
//! Rotation of CA Certificates"). Whatever either has signed is taken until then. How far a host has come stands in its file of certificates ([`PemSet`]).

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};
use kok_pki::AuthorityKind;

use super::make::{Making, Seen};
use super::refusal::Refusal;
use super::renew::of_hosts;
use crate::issued::is_kept_elsewhere;
use crate::list::authorities::{self, known, signs, trusted_file, trusts};
use crate::observe::{ApiServerState, EtcdState, Look, Looks};
use crate::pem_set::PemSet;
use crate::preconditions::{self, authority_kind, authority_word};
use crate::speaker::speaker;

/// What of it is done by a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthorityStage {
    /// Everybody trusts the new one as well.
    Known,
    /// It signs, and all that the other one has signed is made anew; but for what API servers show, where they are known by this authority.
    Signs,
    /// API servers show what it has signed.
    Shown,
    /// Nobody trusts another one.
    Alone,
}

/// A stage on the way to a new authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthorityRotation<'a> {
    /// Which of them.
    pub kind: AuthorityKind,
    /// Its certificate, in PEM.
    pub certificate: &'a str,
    /// What is done now.
    pub stage: AuthorityStage,
}

/// How far the hosts have come that have the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityStanding {
    /// The same one signs on all of them, and they trust no other one of before.
    One {
        /// Its certificate, in PEM.
        certificate: String,
        /// A host that has its key.
        keeper: String,
        /// Whether a run has begun to replace it: some hosts know one that is to sign next, whose key one of them may have.
        begun: bool,
    },
    /// A new one signs on some of them.
    Begun {
        /// Its certificate, in PEM.
        certificate: String,
        /// A host that has its key.
        keeper: String,
    },
    /// It signs on all of them, and the one from before is trusted still.
    Replaced {
        /// Its certificate, in PEM.
        certificate: String,
        /// A host that has its key.
        keeper: String,
        /// Whether some of them trust no other one any more.
        ends: bool,
    },
}

/// So many are named.
const NAMED: usize = 8;

/// What a first look at a host asks; where the one from before is to go, also which pods know no other.
#[must_use]
pub fn rotate_authority_looks(cluster: &Cluster, kind: AuthorityKind, host: &Host, ends: bool) -> Looks {
    let mut looks = authorities::looks(cluster, kind, host);
    if ends && kind == AuthorityKind::Kubernetes && host.roles.control_plane {
        looks.add(Look::OlderPods(trusted_file(kind)));
    }
    looks
}

/// How far a cluster has come.
///
/// # Errors
/// [`Refusal`]s where the authority can't be replaced now: all hosts that trust it have to answer, and to be part of the cluster.
pub fn authority_standing(cluster: &Cluster, kind: AuthorityKind, seen: &Seen) -> Result<AuthorityStanding, Vec<Refusal>> {
    let refusals = refused(cluster, kind, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let keepers: Vec<(&Host, PemSet)> =
        cluster.hosts.iter().filter(|host| signs(kind, host)).map(|host| (host, known(kind, host, seen))).collect();
    let signer = |set: &PemSet| set.signer().unwrap_or_default().to_owned();
    // The newest is the one beside which every other one has signed before.
    let replaces = |set: &PemSet| keepers.iter().all(|(_, other)| signer(other) == signer(set) || set.has_before(&signer(other)));
    let Some((keeper, newest)) = keepers.iter().find(|(_, set)| replaces(set)) else {
        return Err(vec![strangers(kind, &keepers)]);
    };
    let (certificate, keeper) = (signer(newest), keeper.name.clone());
    let before = |set: &PemSet| set.before().next().is_some();
    Ok(if keepers.iter().any(|(_, set)| signer(set) != certificate) {
        AuthorityStanding::Begun { certificate, keeper }
    } else if keepers.iter().any(|(_, set)| before(set)) {
        AuthorityStanding::Replaced { certificate, keeper, ends: !keepers.iter().all(|(_, set)| before(set)) }
    } else {
        AuthorityStanding::One { certificate, keeper, begun: keepers.iter().any(|(_, set)| set.has_next()) }
    })
}

/// What all hosts trust from the stage on in which it signs, in PEM.
#[must_use]
pub fn trusted_authorities(cluster: &Cluster, rotation: &AuthorityRotation<'_>, seen: &Seen) -> String {
    authorities::trusted_by_all(cluster, rotation, seen).text()
}

/// Whether a host has certificates of the authority.
#[must_use]
pub fn trusts_authority(kind: AuthorityKind, host: &Host) -> bool {
    trusts(kind, host)
}

/// What speaks against the end, after which nobody is known by the authority from before.
///
/// # Errors
/// [`Refusal`]s: pods know API servers by it alone.
pub fn may_end_authority(cluster: &Cluster, kind: AuthorityKind, seen: &Seen) -> Result<(), Vec<Refusal>> {
    if kind != AuthorityKind::Kubernetes {
        return Ok(());
    }
    let unknown = |because: &str| {
        let refusal = Refusal::new("it is not known which pods know API servers by the authority from before alone");
        Err(vec![refusal.because(because.to_owned()).hint("repeat the command when the API server answers").passing()])
    };
    match speaker(cluster, seen).and_then(|host| seen.observations(&host.name).older_pods.as_ref()) {
        None => unknown("no API server was asked"),
        Some(Err(reason)) => unknown(reason),
        Some(Ok(pods)) => {
            let pods = pods.before(spread_seconds(cluster, seen));
            if pods.is_empty() {
                return Ok(());
            }
            let more = pods.len().saturating_sub(NAMED);
            let names = listed(pods.iter().take(NAMED).copied());
            let names = if more > 0 { format!("{names} and {more} more") } else { names };
            let refusal = Refusal::new("pods may know API servers by the authority from before alone");
            let refusal = refusal.because(format!("they run since before the new one was told to all: {names}"));
            Err(vec![refusal.hint(
                "start them anew, as by `kubectl rollout restart daemonset,deployment,statefulset -n NAMESPACE` for each namespace; or with --anyway, \
                 and those of them that ask the API can't until they are",
            )])
        }
    }
}

/// By how much clocks of hosts differ: a kubelet dates the start of its pods by its own.
fn spread_seconds(cluster: &Cluster, seen: &Seen) -> i64 {
    let offsets = || cluster.hosts.iter().filter_map(|host| seen.clock_offset_seconds(&host.name));
    offsets().max().unwrap_or_default().saturating_sub(offsets().min().unwrap_or_default())
}

/// The plan for a stage, at `now_seconds` since 1970.
///
/// # Errors
/// As [`authority_standing`].
pub fn rotate_authority(
    cluster: &Cluster,
    rotation: &AuthorityRotation<'_>,
    now_seconds: i64,
    seen: &Seen,
) -> Result<Making, Vec<Refusal>> {
    let refusals = refused(cluster, rotation.kind, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    of_hosts(cluster, now_seconds, seen, |_| true, &|view| authorities::drafts(view, rotation))
}

fn refused(cluster: &Cluster, kind: AuthorityKind, seen: &Seen) -> Vec<Refusal> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return refusals;
    }
    let word = authority_word(kind);
    if is_kept_elsewhere(cluster, kind) {
        let refusal = Refusal::new(format!("somebody else keeps the key of the authority `{word}`"));
        return vec![refusal.because("no host has it, and kokctl makes none in its place").hint(
            "replace it where its key is: have both trusted, then what it signs issued anew into `certificates.issued`, and `kokctl apply`",
        )];
    }
    if let Some(own) = cluster.settings.certificates.authorities.iter().find(|own| authority_kind(own.name) == kind) {
        let refusal =
            Refusal::new(format!("the cluster's file brings the authority `{word}` along")).at(own.certificate.origin.to_string());
        let because = "it would name another one than the hosts have, and every later run would stop there";
        return vec![refusal.because(because).hint("take it out of the file, for the hosts have it, and repeat the command")];
    }
    if let Some(name) = own_option(cluster).filter(|_| kind == AuthorityKind::Kubernetes) {
        let refusal = Refusal::new(format!("the file has an option of its own, `{name}`"));
        let refusal = refusal.because("a program goes by another certificate than the one that kubeadm makes");
        return vec![refusal.hint("take the option out, run `kokctl apply`, and repeat the command")];
    }
    cluster.hosts.iter().filter(|host| trusts(kind, host)).filter_map(|host| unfit(cluster, kind, seen, host)).collect()
}

/// An option by which a program goes by another certificate of the authority.
fn own_option(cluster: &Cluster) -> Option<&'static str> {
    let components = &cluster.settings.components;
    let of_manager = ["cluster-signing-cert-file", "root-ca-file"].into_iter();
    let of_manager = of_manager.filter(|name| components.controller_manager.options.contains_key(*name));
    let of_server = ["client-ca-file", "kubelet-certificate-authority"].into_iter();
    of_manager.chain(of_server.filter(|name| components.api_server.options.contains_key(*name))).next()
}

/// What speaks against the beginning: nothing that does not work is disturbed, and what a run that was killed has ended comes back by itself, so who goes on
/// waits for it.
///
/// # Errors
/// [`Refusal`]s: an API server is not ready, or a member of etcd does not work.
pub fn may_begin_authority(cluster: &Cluster, kind: AuthorityKind, seen: &Seen) -> Result<(), Vec<Refusal>> {
    let at = |host: &Host, what: &str| Refusal::new(what).at(format!("host {} ({})", host.name, host.address));
    let broken = |host: &Host| {
        let observed = seen.observations(&host.name);
        if let Some(ApiServerState::NotReady(output)) = &observed.api_server {
            let refusal = at(host, "its API server is not ready, and has to know the new authority");
            return Some(refusal.because(output.lines().next().unwrap_or_default().trim().to_owned()));
        }
        let is_needed = kind == AuthorityKind::Etcd && host.roles.etcd;
        (is_needed && !is_voting_member(seen, host))
            .then(|| at(host, "its member of etcd does not work, and has to know the new authority"))
    };
    let refusals = cluster.hosts.iter().filter(|host| trusts(kind, host)).filter_map(broken);
    let refusals: Vec<Refusal> = refusals.map(|refusal| refusal.hint("see `kokctl status`, and mend it first").passing()).collect();
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

/// Whether the member of etcd on a host works, and has a vote.
fn is_voting_member(seen: &Seen, host: &Host) -> bool {
    matches!(&seen.observations(&host.name).etcd, Some(EtcdState::Ready(member)) if !member.is_learner)
}

/// What keeps a host from going along.
fn unfit(cluster: &Cluster, kind: AuthorityKind, seen: &Seen, host: &Host) -> Option<Refusal> {
    let at = |what: &str| Refusal::new(what).at(format!("host {} ({})", host.name, host.address));
    let observed = seen.observations(&host.name);
    if host.roles.control_plane && matches!(observed.api_server, Some(ApiServerState::Absent) | None) {
        return Some(at("it is no control plane of the cluster yet").hint("run `kokctl apply` first, or take the host out of the file"));
    }
    // Of one that is away others say what it is to be, and of the only one nobody does.
    if kind == AuthorityKind::Etcd && host.roles.etcd && !cluster.etcd_hosts().any(|host| is_voting_member(seen, host)) {
        let refusal = at("its member of etcd does not answer, nor does any other")
            .because("nothing of them is known, and the new authority has to be");
        return Some(refusal.hint("repeat the command when it does; if it does not come back, see `kokctl status`").passing());
    }
    let is_needed = signs(kind, host) || host.roles.control_plane || is_node(cluster, seen, host);
    let has_none = is_needed && known(kind, host, seen).signer().is_none();
    has_none.then(|| {
        let refusal = at(&format!("{} has no certificate in it", trusted_file(kind)));
        refusal.hint("run `kokctl apply` first; or copy it from another host of the same role")
    })
}

/// Whether a host is a node by now: one that is to join knows nothing yet.
fn is_node(cluster: &Cluster, seen: &Seen, host: &Host) -> bool {
    let state = speaker(cluster, seen).and_then(|speaker| seen.observations(&speaker.name).kubernetes.as_ref());
    state.is_some_and(|state| state.node(&host.name).is_some())
}

/// Hosts that know nothing of each other's authorities.
fn strangers(kind: AuthorityKind, keepers: &[(&Host, PemSet)]) -> Refusal {
    let is_strange = |set: &PemSet| keepers.iter().any(|(_, other)| set.signer().is_some_and(|signer| !other.has(signer)));
    let hosts = listed(keepers.iter().filter(|(_, set)| is_strange(set)).map(|(host, _)| host.name.as_str()));
    let refusal = Refusal::new("hosts have authorities that others don't know");
    let refusal = refusal.because(format!("what the authority of {hosts} signs is refused elsewhere"));
    refusal.hint(format!(
        "copy {} and its key from a host that has what most have to the others, and start what reads them anew",
        trusted_file(kind)
    ))
}
