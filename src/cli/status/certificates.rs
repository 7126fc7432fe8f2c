//! When the certificates of the control planes end.

use jiff::Timestamp;
use kok_crds::model::{Cluster, Host};
use kok_crds::{count, counted};
use kok_tasks::issued;
use kok_tasks::plan::Seen;
use kok_tasks::validity::{self, Validity};
use serde::Serialize;

use crate::failure::{Failure, Kind};

const DAY: i64 = 24 * 60 * 60;
/// Time enough to plan a renewal. Certificates of a year and of three months, the usual ones, are renewed no earlier than that.
pub(in crate::cli) const SOON: i64 = 30 * DAY;

/// A certificate of a control plane.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Certificate {
    pub(super) host: String,
    name: &'static str,
    path: String,
    authority: bool,
    /// Its last second, as RFC 3339 has it; none if it can't be read.
    not_after: Option<String>,
    /// Whole days; negative when it has ended.
    days_left: Option<i64>,
    /// Why it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip)]
    end: Option<i64>,
    #[serde(skip)]
    now: i64,
    #[serde(skip)]
    renewal: Renewal,
}

/// Who makes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    Kubeadm,
    /// `apply`: it is of an etcd that kubeadm does not know, and its `certs renew` leaves it as it is.
    Apply,
    /// Whoever keeps the key of the authority.
    Issued,
}

/// All certificates of the control planes and of hosts of etcd that are of this cluster.
pub(super) fn certificates(cluster: &Cluster, seen: &Seen, now: i64) -> Vec<Certificate> {
    let has_some = |host: &&Host| host.roles.control_plane || host.roles.etcd;
    let hosts = cluster.hosts.iter().filter(has_some).filter(|host| super::is_ours(cluster, seen, &host.name));
    let units = cluster.has_etcd_units();
    let of_host = |host: &Host| {
        let issued = issued::paths(cluster, host);
        let renewal = |path: &str| match path.strip_prefix("/etc/kubernetes/") {
            Some(path) if issued.contains(&path) => Renewal::Issued,
            _ if units && path.contains("etcd") => Renewal::Apply,
            _ => Renewal::Kubeadm,
        };
        let certificate = |it: Validity| Certificate { renewal: renewal(&it.path), ..Certificate::of(&host.name, it, now) };
        validity::of(seen.observations(&host.name)).into_iter().map(certificate).collect::<Vec<_>>()
    };
    hosts.flat_map(of_host).collect()
}

impl Certificate {
    fn of(host: &str, validity: Validity, now: i64) -> Self {
        let Validity { name, path, is_authority, end } = validity;
        let (end, problem) = end.map_or_else(|problem| (None, Some(problem)), |end| (Some(end), None));
        let not_after = end.map(|end| moment(end, "%Y-%m-%dT%H:%M:%SZ"));
        let days_left = end.map(|end| (end - now).div_euclid(DAY));
        let renewal = Renewal::Kubeadm;
        Self { host: host.to_owned(), name, path, authority: is_authority, not_after, days_left, problem, end, now, renewal }
    }

    /// The moment itself is still in time (RFC 5280, 4.1.2.5).
    fn has_ended(&self) -> bool {
        self.end.is_some_and(|end| end < self.now)
    }

    fn ends_soon(&self) -> bool {
        self.end.is_some_and(|end| end - self.now < SOON)
    }

    fn day(&self) -> String {
        self.end.map(day).unwrap_or_default()
    }
}

fn moment(seconds: i64, form: &str) -> String {
    Timestamp::from_second(seconds).map(|moment| moment.strftime(form).to_string()).unwrap_or_default()
}

pub(in crate::cli) fn day(seconds: i64) -> String {
    moment(seconds, "%Y-%m-%d")
}

fn first<'a>(certificates: impl Iterator<Item = &'a Certificate>) -> Option<&'a Certificate> {
    certificates.filter(|certificate| certificate.end.is_some()).min_by_key(|certificate| certificate.end)
}

/// The first end of all, in one line.
pub(super) fn line(certificates: &[Certificate]) -> Option<String> {
    let first = first(certificates.iter())?;
    let (day, end) = (first.day(), first.end?);
    let others = certificates.iter().filter(|certificate| certificate.end.is_some() && certificate.day() == day).count() - 1;
    let others = if others == 0 { String::new() } else { format!(", and {} that day", counted(others, "other", "others")) };
    let away = match (end - first.now) / DAY {
        _ if first.has_ended() => return Some(format!("certificates: the first ended on {day}: {} of {}{others}", first.name, first.host)),
        0 => "within a day".to_owned(),
        days => format!("in {}", count(usize::try_from(days).unwrap_or_default(), "day")),
    };
    Some(format!("certificates: the first end on {day} ({away}): {} of {}{others}", first.name, first.host))
}

/// The day of the first end on one host.
pub(super) fn first_of(certificates: &[Certificate], host: &str) -> Option<String> {
    first(certificates.iter().filter(|certificate| certificate.host == host)).map(Certificate::day)
}

/// A warning for each host and each way to be late.
pub(super) fn warnings(certificates: &[Certificate]) -> Vec<Failure> {
    let of_host = |host: &[Certificate]| {
        let some = |which: fn(&Certificate) -> bool| host.iter().filter(|it| which(it)).collect::<Vec<_>>();
        let ended = some(Certificate::has_ended);
        let soon = some(|it| it.ends_soon() && !it.has_ended());
        let unreadable = some(|it| it.problem.is_some());
        [
            warning(&ended, counted(ended.len(), "certificate has ended", "certificates have ended")),
            warning(&soon, format!("{} within 30 days", counted(soon.len(), "certificate ends", "certificates end"))),
            warning(&unreadable, counted(unreadable.len(), "certificate can't be read", "certificates can't be read")),
        ]
    };
    certificates.chunk_by(|one, other| one.host == other.host).flat_map(of_host).flatten().collect()
}

fn warning(which: &[&Certificate], what: String) -> Option<Failure> {
    let host = &which.first()?.host;
    let said = |it: &&Certificate| match &it.problem {
        Some(problem) => format!("{}: {problem}", it.path),
        None => format!("{} until {}", it.name, it.day()),
    };
    let failure = Failure::new(Kind::Host, what).of(host).at(format!("host {host}: /etc/kubernetes/pki"));
    Some(failure.because(which.iter().map(said).collect::<Vec<_>>().join(", ")).hint(hint(host, which)))
}

/// What is done about them. On one host some may be kubeadm's, some of an etcd that kubeadm does not know, and some no renewal's at all.
fn hint(host: &str, which: &[&Certificate]) -> String {
    let authority = which.iter().any(|it| it.authority).then(|| {
        "an authority is replaced by hand, before its end: Kubernetes' documentation has it as \"Manual Rotation of CA Certificates\""
            .to_owned()
    });
    let leaves = |renewal| which.iter().filter(move |it| !it.authority && it.renewal == renewal);
    let with_key = |it: &&Certificate| {
        let path = it.path.strip_suffix(".crt").unwrap_or(&it.path);
        format!("{path}.crt and {path}.key")
    };
    let of_units: Vec<String> = leaves(Renewal::Apply).map(with_key).collect();
    let of_units = (!of_units.is_empty()).then(|| {
        let files = of_units.join(", ");
        format!("on {host}: remove {files}, and nothing else, and let `kokctl apply` make them anew, one host after the other")
    });
    let of_kubeadm = leaves(Renewal::Kubeadm).next().map(|_| format!("on {host}: kubeadm certs renew all"));
    let issued = leaves(Renewal::Issued)
        .next()
        .map(|_| "have others issued, put them into the folder `certificates.issued` with their keys, and `kokctl apply`".to_owned());
    let restart =
        (of_units.is_some() || of_kubeadm.is_some()).then(|| "then restart the host, for what runs keeps the old ones".to_owned());
    [authority, issued, of_units, of_kubeadm, restart].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
