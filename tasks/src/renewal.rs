//! Which certificates are made anew before they end, and which of them somebody else has to issue.

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Host};
use kok_pki::{AuthorityKind, KubeconfigUser, Leaf, Material, TrustBundle, inspect_certificate};
use time::{Duration, OffsetDateTime};

use crate::identity;
use crate::in_use::{self, Held};
use crate::issued;
use crate::plan::Seen;

/// Certificates begin to be valid so long before they are made, so what is younger than that and this hour was made by a run that may not have ended.
const JUST_MADE: Duration = Duration::hours(1);

/// What somebody asks to make anew.
#[derive(Debug, Clone, Copy)]
pub struct Renewal<'a> {
    /// The hosts; all if there is none.
    pub hosts: &'a [String],
    /// The parts; all if there is none.
    pub parts: &'a BTreeSet<CertificatePart>,
    /// Whether certificates are made anew, too, that have most of their time before them. Those that are not an hour old stay, so that a run that was
    /// interrupted goes on when it is asked for again.
    pub all: bool,
    /// The authority that is to sign, where it takes the place of another one: what that has signed is made anew.
    pub successor: Option<Successor<'a>>,
}

/// An authority that takes the place of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Successor<'a> {
    /// Which of them.
    pub kind: AuthorityKind,
    /// Its certificate, in PEM.
    pub certificate: &'a str,
    /// What kubeconfigs name as the authorities of the cluster, in PEM.
    pub trusted: &'a str,
    /// Whether API servers show what it has signed, too: those who trust the one from before alone know them no more then.
    pub is_shown: bool,
}

impl Successor<'_> {
    /// Whether a leaf stays as it is for now.
    pub(crate) fn spares(&self, leaf: Leaf) -> bool {
        leaf == Leaf::ApiServer && !self.is_shown
    }

    /// Why a certificate of an authority of this kind is made anew, if it is.
    pub(crate) fn defect(&self, certificate: &str, kind: AuthorityKind) -> Option<String> {
        let is_signed = || kok_pki::signed_by(self.certificate, certificate).unwrap_or(false);
        (kind == self.kind && !is_signed()).then(|| "another authority is to sign it".to_owned())
    }

    /// Why a kubeconfig with these authorities in it is made anew, if it is.
    pub(crate) fn defect_of_kubeconfig(&self, authorities: Option<&str>) -> Option<String> {
        let is_other = authorities.is_some_and(|is| is.trim() != self.trusted.trim());
        (self.kind == AuthorityKind::Kubernetes && is_other).then(|| "it names other authorities".to_owned())
    }
}

/// A part of the certificates of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CertificatePart {
    /// Those of the API server, and as what it asks etcd and kubelets.
    ApiServer,
    /// Those of etcd.
    Etcd,
    /// As what the API server asks aggregated API servers.
    FrontProxy,
    /// Those inside kubeconfigs.
    Kubeconfigs,
    /// What kubelets show.
    Kubelets,
}

impl CertificatePart {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::ApiServer, Self::Etcd, Self::FrontProxy, Self::Kubeconfigs, Self::Kubelets];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiServer => "apiserver",
            Self::Etcd => "etcd",
            Self::FrontProxy => "front-proxy",
            Self::Kubeconfigs => "kubeconfigs",
            Self::Kubelets => "kubelets",
        }
    }

    /// The part that a file is of; nothing for files of authorities and of service accounts, and for the kubelet's kubeconfig, which it keeps up itself.
    fn from_material(material: Material) -> Option<Self> {
        match material {
            Material::LeafCertificate(leaf) | Material::LeafKey(leaf) => Some(match leaf {
                Leaf::ApiServer | Leaf::ApiServerKubeletClient | Leaf::ApiServerEtcdClient => Self::ApiServer,
                Leaf::FrontProxyClient => Self::FrontProxy,
                Leaf::EtcdServer | Leaf::EtcdPeer | Leaf::EtcdHealthcheckClient => Self::Etcd,
            }),
            Material::Kubeconfig(KubeconfigUser::Kubelet) => None,
            Material::Kubeconfig(_) => Some(Self::Kubeconfigs),
            _ => None,
        }
    }
}

impl Renewal<'_> {
    /// Whether a host is meant.
    #[must_use]
    pub fn has_host(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|name| name == host)
    }

    /// Whether a host is meant that has certificates which are made anew. Of workers these are what their kubelets show, and what somebody else issues.
    #[must_use]
    pub fn concerns(&self, cluster: &Cluster, host: &Host) -> bool {
        let is_issued = || issued::is_kept_elsewhere(cluster, AuthorityKind::Kubernetes);
        let has_some = host.roles.control_plane || host.roles.etcd || self.has_part(CertificatePart::Kubelets) || is_issued();
        has_some && self.has_host(&host.name)
    }

    /// Whether a host that is meant has to answer: what is left of a worker that is away is its own, unless it was named.
    #[must_use]
    pub fn needs(&self, cluster: &Cluster, host: &Host) -> bool {
        let is_named = !self.hosts.is_empty();
        let is_issued = || issued::is_kept_elsewhere(cluster, AuthorityKind::Kubernetes);
        self.concerns(cluster, host) && (is_named || host.roles.control_plane || host.roles.etcd || is_issued())
    }

    /// Whether a part is meant.
    #[must_use]
    pub fn has_part(&self, part: CertificatePart) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    /// Whether a file is meant.
    #[must_use]
    pub fn has(&self, material: Material) -> bool {
        CertificatePart::from_material(material).is_some_and(|part| self.has_part(part))
    }

    /// Why a certificate that does its work, of an authority of this kind, is made anew all the same, if it is.
    pub(crate) fn by_word(&self, certificate: &str, kind: AuthorityKind, now: OffsetDateTime) -> Option<String> {
        if let Some(reason) = self.successor.and_then(|successor| successor.defect(certificate, kind)) {
            return Some(reason);
        }
        let facts = inspect_certificate(certificate).ok().filter(|_| self.all)?;
        // As it is backdated, it begins before it was made.
        let made = facts.not_before + kok_pki::Policy::default().backdate;
        (now - made > JUST_MADE).then(|| format!("it is asked for, and this one was made before {}", now - JUST_MADE))
    }
}

/// Why a certificate is made anew before it ends, if it is: less is left than the file says, or than a third of its time. One that could not last
/// longer, because the authority ends with it, stays.
pub(crate) fn ends_soon(cluster: &Cluster, authority: &str, certificate: &str, now: OffsetDateTime) -> Option<String> {
    let facts = inspect_certificate(certificate).ok()?;
    let (left, life) = (facts.not_after - now, facts.not_after - facts.not_before);
    let before = cluster.settings.certificates.renew_before.map(|before| Duration::try_from(before).unwrap_or(Duration::MAX));
    // Whose signature it has is the costly question.
    if left >= before.unwrap_or(life / 3) {
        return None;
    }
    let policy = identity::policy(cluster);
    let bundle = TrustBundle::from_pem(authority).ok()?;
    let next_end = (now + policy.leaf_validity).min(bundle.signer_of(&facts)?.not_after);
    (next_end > facts.not_after).then(|| format!("it ends at {}", facts.not_after))
}

/// A certificate that somebody else has to issue anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueCertificate {
    /// The host.
    pub host: String,
    /// The file below `/etc/kubernetes`, and in the folder of what was issued below the host's name.
    pub path: String,
    /// Until when the one is valid that is there, in seconds since 1970; nothing if it can't be read.
    pub end: Option<i64>,
}

/// What is meant, ends soon, and is signed by an authority whose key somebody else keeps.
#[must_use]
pub fn to_be_issued(cluster: &Cluster, renewal: &Renewal<'_>, seen: &Seen, now: i64) -> Vec<DueCertificate> {
    let mut due = Vec::new();
    for host in cluster.hosts.iter().filter(|host| renewal.concerns(cluster, host)) {
        let issued = issued::paths(cluster, host);
        let below = |held: &Held| held.path.strip_prefix("/etc/kubernetes/").map(str::to_owned);
        let is_due = |held: &Held| {
            let is_late = held.facts.as_ref().map_or(true, |facts| {
                let left = facts.not_after.unix_timestamp().saturating_sub(now);
                let before = cluster.settings.certificates.renew_before;
                let before = before.map_or((facts.not_after - facts.not_before).whole_seconds() / 3, |it| it.as_secs().cast_signed());
                renewal.all || left < before
            });
            let is_meant = Material::all()
                .into_iter()
                .any(|it| below(held).as_deref() == Some(it.path()) && (renewal.has(it) || renewal.parts.is_empty()));
            is_late && is_meant && below(held).is_some_and(|path| issued.contains(&path.as_str()))
        };
        let held = in_use::held_certificates(cluster, host, seen.observations(&host.name)).into_iter().filter(is_due);
        due.extend(held.map(|held| DueCertificate {
            host: host.name.clone(),
            path: below(&held).unwrap_or_default(),
            end: held.facts.ok().map(|facts| facts.not_after.unix_timestamp()),
        }));
    }
    due
}
