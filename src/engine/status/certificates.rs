//! When the certificates of the control planes end.

use kok_crds::model::{Cluster, Host};
use kok_tasks::issued;
use kok_tasks::plan::Seen;
use kok_tasks::validity::{self, Validity};
use serde::Serialize;

use crate::clock::{DAY, SOON, moment};

/// A certificate of a control plane.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The host that it is on.
    pub host: String,
    /// What kubeadm calls it.
    pub name: &'static str,
    /// Its file.
    pub path: String,
    /// Whether it is one of an authority.
    pub authority: bool,
    /// Its last second, as RFC 3339 has it; none if it can't be read.
    pub not_after: Option<String>,
    /// Whole days; negative when it has ended.
    pub days_left: Option<i64>,
    /// Why it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Its last second, since 1970.
    #[serde(skip)]
    pub end: Option<i64>,
    /// When it was looked at, in seconds since 1970.
    #[serde(skip)]
    pub now: i64,
    /// Who makes another one.
    #[serde(skip)]
    pub renewal: Renewal,
}

/// Who makes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// `kokctl certs renew`, or `kokctl apply`.
    Kokctl,
    /// Whoever keeps the key of the authority.
    Issued,
}

/// All certificates of the control planes and of hosts of etcd that are of this cluster.
pub(super) fn certificates(cluster: &Cluster, seen: &Seen, now: i64) -> Vec<Certificate> {
    let has_some = |host: &&Host| host.roles.control_plane || host.roles.etcd;
    let hosts = cluster.hosts.iter().filter(has_some).filter(|host| super::is_ours(cluster, seen, &host.name));
    let of_host = |host: &Host| {
        let issued = issued::paths(cluster, host);
        let renewal = |path: &str| match path.strip_prefix("/etc/kubernetes/") {
            Some(path) if issued.contains(&path) => Renewal::Issued,
            _ => Renewal::Kokctl,
        };
        let certificate = |it: Validity| Certificate { renewal: renewal(&it.path), ..Certificate::from_validity(&host.name, it, now) };
        validity::certificate_validities(seen.observations(&host.name)).into_iter().map(certificate).collect::<Vec<_>>()
    };
    hosts.flat_map(of_host).collect()
}

impl Certificate {
    pub(crate) fn from_validity(host: &str, validity: Validity, now: i64) -> Self {
        let Validity { name, path, is_authority, end } = validity;
        let (end, problem) = end.map_or_else(|problem| (None, Some(problem)), |end| (Some(end), None));
        let not_after = end.map(|end| moment(end, "%Y-%m-%dT%H:%M:%SZ"));
        let days_left = end.map(|end| (end - now).div_euclid(DAY));
        let renewal = Renewal::Kokctl;
        Self { host: host.to_owned(), name, path, authority: is_authority, not_after, days_left, problem, end, now, renewal }
    }

    /// The moment itself is still in time (RFC 5280, 4.1.2.5).
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.end.is_some_and(|end| end < self.now)
    }

    /// Whether it is time to plan for its renewal.
    #[must_use]
    pub fn ends_soon(&self) -> bool {
        self.end.is_some_and(|end| end - self.now < SOON)
    }
}
