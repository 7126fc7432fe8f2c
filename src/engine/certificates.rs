//! Every certificate of a cluster's hosts, and whether what runs has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kok_crds::model::{Cluster, Host};
use kok_pki::{AuthorityKind, CertificateFacts};
use kok_tasks::facts::Extent;
use kok_tasks::in_use::{self, CertificateInUse, CertificateUser, Held, Signer, Urgency};
use kok_tasks::plan::Seen;
use kok_tasks::preconditions;
use serde::Serialize;
use tokio::task::JoinSet;

use super::context::Context;
use crate::clock::{Clock, DAY, moment};
use crate::failure::{Failure, Kind};
use crate::run::{Link, Links, LookAt, connect_each, probe_all, served};

/// A certificate on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldCertificate {
    /// The host.
    pub host: String,
    /// What kubeadm calls it, such as `apiserver`, `etcd/server` or `admin.conf`.
    pub name: &'static str,
    /// Its file.
    pub path: String,
    /// Whether it is an authority's.
    pub authority: bool,
    /// Whom it is about.
    pub subject: Option<String>,
    /// The names of a server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Who has signed it: `kubernetes`, `etcd`, `front-proxy`, `itself`, or another name.
    pub signed_by: String,
    /// Its first second, as RFC 3339 has it.
    pub not_before: Option<String>,
    /// Its last second; none if it can't be read.
    pub not_after: Option<String>,
    /// Whole days; negative when it has ended.
    pub days_left: Option<i64>,
    /// Why it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The program that uses it.
    pub used_by: Option<&'static str>,
    /// Whether that has it.
    pub running: RunningProcess,
    /// How near its end is.
    pub urgency: EndUrgency,
    /// Its last second since 1970.
    #[serde(skip)]
    pub end: Option<i64>,
}

/// Whether a program that runs has a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningProcess {
    /// Whether it has it.
    pub has: InUse,
    /// How that is known, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Whether what runs has what a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum InUse {
    /// It has.
    Yes,
    /// It goes on with another one.
    No,
    /// Nobody can tell.
    Unknown,
    /// Nothing that runs uses it.
    None,
}

impl InUse {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
            Self::None => "none",
        }
    }
}

/// How near the end of a certificate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EndUrgency {
    /// Far away.
    None,
    /// Within 60 days, or a third of its time where that is less.
    Warning,
    /// Within 14 days, or a tenth of its time where that is less.
    Alarm,
    /// It has ended.
    Ended,
}

/// What is shown at ports, by host and port.
type Shown = BTreeMap<(String, u16), Result<CertificateFacts, String>>;

/// Looks at every certificate of these hosts. What could be seen is returned, with a failure for each host that could not be looked at or is another
/// cluster's. Nothing is changed.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names; then nobody was contacted.
pub async fn certificates(
    context: &Context,
    cluster: &Cluster,
    chosen: &[String],
) -> Result<(Vec<HeldCertificate>, Vec<Failure>), Vec<Failure>> {
    let wanted = |host: &str| chosen.is_empty() || chosen.iter().any(|name| name == host);
    let (links, unreachable) = connect_each(cluster, wanted, &context.transport, &context.events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let asked = cluster.hosts.iter().filter(|host| wanted(&host.name));
    let asked = asked.map(|host| (host.name.clone(), LookAt { looks: in_use::looks(cluster, host), facts: Some(Extent::Node) })).collect();
    let mut seen = Seen::default();
    if let Err(unanswered) = probe_all(&links, asked, &context.controller, &mut seen, &context.events).await {
        failures.extend(unanswered);
    }
    failures.extend(preconditions::strangers(cluster, &seen).into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)));
    let shown = all_shown(cluster, &links, &seen).await;
    Ok((seen_of(cluster, &seen, &shown, Clock::seconds()), failures))
}

fn is_ours(cluster: &Cluster, seen: &Seen, host: &str) -> bool {
    seen.facts(host).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name))
}

/// Connects to all ports at which a host shows a certificate of its files.
async fn all_shown(cluster: &Cluster, links: &Links, seen: &Seen) -> Shown {
    let mut asking = JoinSet::new();
    for host in cluster.hosts.iter().filter(|host| is_ours(cluster, seen, &host.name)) {
        let Some(link) = links.get(&host.name) else { continue };
        for port in ports(cluster, host, seen) {
            let (link, name, address): (Arc<Link>, _, _) = (Arc::clone(link), host.name.clone(), host.address.to_string());
            asking.spawn(async move { ((name, port), served(&link, &address, port).await) });
        }
    }
    let mut shown = Shown::new();
    while let Some(joined) = asking.join_next().await {
        // One that ended without a word is one of which nothing is known.
        shown.extend(joined.ok());
    }
    shown
}

fn ports(cluster: &Cluster, host: &Host, seen: &Seen) -> Vec<u16> {
    let held = in_use::held_certificates(cluster, host, seen.observations(&host.name));
    let port = |held: Held| if let CertificateUser::Shown { port, .. } = held.user { Some(port) } else { None };
    held.into_iter().filter_map(port).collect()
}

fn seen_of(cluster: &Cluster, seen: &Seen, shown: &Shown, now: i64) -> Vec<HeldCertificate> {
    let hosts = cluster.hosts.iter().filter(|host| is_ours(cluster, seen, &host.name));
    let of_host = |host: &Host| {
        let observed = seen.observations(&host.name);
        let held_certificate = |held: Held| {
            let at = if let CertificateUser::Shown { port, .. } = held.user { shown.get(&(host.name.clone(), port)) } else { None };
            let running = held.running(cluster, observed, at);
            HeldCertificate::from_held(&host.name, held, running, now)
        };
        in_use::held_certificates(cluster, host, observed).into_iter().map(held_certificate).collect::<Vec<_>>()
    };
    hosts.flat_map(of_host).collect()
}

impl HeldCertificate {
    pub(crate) fn from_held(host: &str, held: Held, running: CertificateInUse, now: i64) -> Self {
        let urgency = match held.urgency(now) {
            Urgency::None => EndUrgency::None,
            Urgency::Warning => EndUrgency::Warning,
            Urgency::Alarm => EndUrgency::Alarm,
            Urgency::Ended => EndUrgency::Ended,
        };
        let signed_by = signed_by(held.signer);
        let Held { name, path, is_authority, facts, user, .. } = held;
        let (facts, problem) = facts.map_or_else(|problem| (None, Some(problem)), |facts| (Some(facts), None));
        let second = |seconds: i64| moment(seconds, "%Y-%m-%dT%H:%M:%SZ");
        let end = facts.as_ref().map(|facts| facts.not_after.unix_timestamp());
        Self {
            host: host.to_owned(),
            name,
            path,
            authority: is_authority,
            subject: facts.as_ref().map(|facts| facts.subject.to_string()),
            names: facts.iter().flat_map(|facts| &facts.sans).map(ToString::to_string).collect(),
            signed_by,
            not_before: facts.as_ref().map(|facts| second(facts.not_before.unix_timestamp())),
            not_after: end.map(second),
            days_left: end.map(|end| (end - now).div_euclid(DAY)),
            problem,
            used_by: used_by(user),
            running: RunningProcess::from_running(running),
            urgency,
            end,
        }
    }
}

fn signed_by(signer: Signer) -> String {
    match signer {
        Signer::Authority(AuthorityKind::Kubernetes) => "kubernetes".to_owned(),
        Signer::Authority(AuthorityKind::Etcd) => "etcd".to_owned(),
        Signer::Authority(AuthorityKind::FrontProxy) => "front-proxy".to_owned(),
        Signer::Itself => "itself".to_owned(),
        Signer::Another(name) => name,
    }
}

fn used_by(user: CertificateUser) -> Option<&'static str> {
    match user {
        CertificateUser::Shown { program, .. } | CertificateUser::ReadAnew(program) | CertificateUser::AtStart(program) => Some(program),
        CertificateUser::UnitAtStart(_) | CertificateUser::KubeletsOwn => Some("kubelet"),
        CertificateUser::Nobody => None,
    }
}

impl RunningProcess {
    fn from_running(running: CertificateInUse) -> Self {
        let (has, because) = match running {
            CertificateInUse::Has(how) => (InUse::Yes, Some(how)),
            CertificateInUse::Lacks(why) => (InUse::No, Some(why)),
            CertificateInUse::Unknown(why) => (InUse::Unknown, Some(why)),
            CertificateInUse::Nobody => (InUse::None, None),
        };
        Self { has, because }
    }
}
