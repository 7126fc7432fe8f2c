//! Every certificate of a host, inside kubeconfigs too: who has signed it, until when it is valid, who uses it, and whether what runs has it.
//!
//! A file that is new is worth nothing while a program goes on with what it read at its start.

use kok_crds::model::{Cluster, Host};
use kok_pki::{AuthorityKind, CertificateFacts, KubeconfigUser, Leaf, Material, TrustBundle, inspect_certificate};
use time::{Date, Duration, OffsetDateTime};

use crate::issued::is_kept_elsewhere;
use crate::list::certificates::absolute;
use crate::observe::{API_SERVER, Look, Looks, Observations};
use crate::operations::CLIENT_CERTIFICATE;
use crate::{ETCD_CLIENT_PORT, ETCD_PEER_PORT, KUBELET_PORT};

/// What a kubelet shows to those who ask it; one that does not find it when it starts makes it itself.
pub const KUBELET_SERVING: &str = "/var/lib/kubelet/pki/kubelet.crt";

/// The key of that.
pub const KUBELET_SERVING_KEY: &str = "/var/lib/kubelet/pki/kubelet.key";

/// As what a kubelet asks the API, with its key, where kokctl has made it: a link leads there, until the kubelet makes another one.
pub const KUBELET_CLIENT: &str = "/var/lib/kubelet/pki/kubelet-client-kokctl.pem";

const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";
const KUBELET_UNIT: &str = "kubelet.service";
const ETCD_UNIT: &str = "etcd.service";

/// A certificate on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What kubeadm calls it, such as `apiserver`, `etcd/server` or `admin.conf`.
    pub name: &'static str,
    /// Absolute path of the file.
    pub path: String,
    /// Whether it is an authority's.
    pub is_authority: bool,
    /// What it says, or why that can't be known.
    pub facts: Result<CertificateFacts, String>,
    /// Who has signed it.
    pub signer: Signer,
    /// Who uses it.
    pub user: CertificateUser,
}

/// Who has signed a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signer {
    /// An authority of the cluster, whose certificate the host has.
    Authority(AuthorityKind),
    /// Its own key.
    Itself,
    /// Somebody else, by this name.
    Another(String),
}

/// Who uses a certificate, and when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateUser {
    /// A program shows it to whoever connects to a port.
    Shown {
        /// The program.
        program: &'static str,
        /// The port.
        port: u16,
    },
    /// A program reads it anew when it connects somewhere.
    ReadAnew(&'static str),
    /// A program of the control plane has read it at its start.
    AtStart(&'static str),
    /// A unit of systemd has read it at its start.
    UnitAtStart(&'static str),
    /// The kubelet, which makes it anew by itself before it ends.
    KubeletsOwn,
    /// No program that goes on: people, and commands.
    Nobody,
}

/// Whether what runs has a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateInUse {
    /// It has, and how that is known.
    Has(String),
    /// It has not, and why that is known.
    Lacks(String),
    /// Nobody knows, and why.
    Unknown(String),
    /// Nothing that runs uses it.
    Nobody,
}

/// How near the end of a certificate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Far away.
    None,
    /// Within 60 days, or a third of its time where that is less.
    Warning,
    /// Within 14 days, or a tenth of its time where that is less.
    Alarm,
    /// It has ended.
    Ended,
}

/// Whether the user has a host's kubelet show a certificate of his own.
pub(crate) fn shows_users_own(cluster: &Cluster, host: &Host) -> bool {
    let kubelet = cluster.settings.components.kubelet_of(host);
    kubelet.fields.contains_key("tlsCertFile") || ["tls-cert-file", "cert-dir"].iter().any(|option| kubelet.options.contains_key(*option))
}

/// What is looked at on a host.
#[must_use]
pub fn looks(cluster: &Cluster, host: &Host) -> Looks {
    let mut looks: Looks = crate::validity::looks().collect();
    let files = Material::all().into_iter().filter(|material| is_shown(*material)).map(|material| Look::Path(absolute(material)));
    looks.extend(files);
    if host.roles.is_node() {
        looks.extend([Look::Certificate(CLIENT_CERTIFICATE.to_owned()), Look::Content(KUBELET_SERVING.to_owned())]);
        looks.extend([CLIENT_CERTIFICATE, KUBELET_SERVING].map(|path| Look::Path(path.to_owned())));
        looks.add(Look::Unit(KUBELET_UNIT.to_owned()));
    }
    if host.roles.control_plane {
        looks.add(Look::Programs);
    }
    if host.roles.etcd && cluster.has_etcd_units() {
        looks.add(Look::Unit(ETCD_UNIT.to_owned()));
    }
    looks
}

fn is_shown(material: Material) -> bool {
    matches!(material, Material::AuthorityCertificate(_) | Material::LeafCertificate(_) | Material::Kubeconfig(_))
}

/// Each certificate that is there; leaves before kubeconfigs before what is the kubelet's before authorities.
#[must_use]
pub fn held_certificates(cluster: &Cluster, host: &Host, seen: &Observations) -> Vec<Held> {
    let authorities = authorities(seen);
    let of_material = |material: Material| {
        let pem = pem(material, seen)?;
        let name = material.path();
        let name = name.strip_prefix("pki/").and_then(|name| name.strip_suffix(".crt")).unwrap_or(name);
        let is_authority = matches!(material, Material::AuthorityCertificate(_));
        Some(Held { is_authority, ..held((name, absolute(material)), &pem, user(cluster, material), &authorities) })
    };
    let (cas, others): (Vec<_>, Vec<_>) = Material::all()
        .into_iter()
        .filter(|material| is_shown(*material))
        .partition(|material| matches!(material, Material::AuthorityCertificate(_)));
    let mut all: Vec<Held> = others.into_iter().filter_map(of_material).collect();
    if host.roles.is_node() {
        let client = seen.certificates.get(CLIENT_CERTIFICATE).and_then(Option::as_ref);
        let client =
            client.map(|pem| held(("kubelet.conf", CLIENT_CERTIFICATE.to_owned()), pem, CertificateUser::KubeletsOwn, &authorities));
        let shown = CertificateUser::Shown { program: "kubelet", port: KUBELET_PORT };
        let serving =
            seen.contents.get(KUBELET_SERVING).filter(|_| !shows_users_own(cluster, host)).map(|bytes| String::from_utf8_lossy(bytes));
        let serving = serving.map(|pem| held(("kubelet", KUBELET_SERVING.to_owned()), &pem, shown, &authorities));
        all.extend(client.into_iter().chain(serving));
    }
    all.extend(cas.into_iter().filter_map(of_material));
    all
}

fn pem(material: Material, seen: &Observations) -> Option<String> {
    match material {
        // One without a certificate inside names the kubelet's own.
        Material::Kubeconfig(_) => seen.kubeconfigs.get(&absolute(material))?.clone(),
        _ => Some(String::from_utf8_lossy(seen.contents.get(&absolute(material))?).into_owned()),
    }
}

fn authorities(seen: &Observations) -> Vec<(AuthorityKind, TrustBundle)> {
    let known = |kind: AuthorityKind| {
        let pem = pem(Material::AuthorityCertificate(kind), seen)?;
        Some((kind, TrustBundle::from_pem(&pem).ok()?))
    };
    AuthorityKind::ALL.into_iter().filter_map(known).collect()
}

fn held((name, path): (&'static str, String), pem: &str, user: CertificateUser, authorities: &[(AuthorityKind, TrustBundle)]) -> Held {
    let facts = inspect_certificate(pem).map_err(|error| error.to_string());
    let signer = facts.as_ref().map_or_else(|_| Signer::Another(String::new()), |facts| signer(facts, authorities));
    Held { name, path, is_authority: false, facts, signer, user }
}

fn signer(facts: &CertificateFacts, authorities: &[(AuthorityKind, TrustBundle)]) -> Signer {
    let is_itself = facts.is_ca && facts.issuer == facts.subject;
    let own = authorities.iter().find(|(_, bundle)| !is_itself && bundle.signer_of(facts).is_some());
    match own {
        Some((kind, _)) => Signer::Authority(*kind),
        None if facts.issuer == facts.subject => Signer::Itself,
        None => Signer::Another(facts.issuer.common_name.clone().unwrap_or_default()),
    }
}

fn user(cluster: &Cluster, material: Material) -> CertificateUser {
    match material {
        Material::LeafCertificate(leaf) => match leaf {
            Leaf::ApiServer => CertificateUser::Shown { program: API_SERVER, port: cluster.api_server_port() },
            Leaf::EtcdServer => CertificateUser::Shown { program: "etcd", port: ETCD_CLIENT_PORT },
            Leaf::EtcdPeer => CertificateUser::Shown { program: "etcd", port: ETCD_PEER_PORT },
            Leaf::ApiServerKubeletClient | Leaf::ApiServerEtcdClient | Leaf::FrontProxyClient => CertificateUser::ReadAnew(API_SERVER),
            Leaf::EtcdHealthcheckClient => CertificateUser::Nobody,
        },
        Material::Kubeconfig(user) => match user {
            KubeconfigUser::ControllerManager => CertificateUser::AtStart(CONTROLLER_MANAGER),
            KubeconfigUser::Scheduler => CertificateUser::AtStart(SCHEDULER),
            // Where the kubelet asks for no certificate, its kubeconfig is read once.
            KubeconfigUser::Kubelet if is_kept_elsewhere(cluster, AuthorityKind::Kubernetes) => CertificateUser::UnitAtStart(KUBELET_UNIT),
            KubeconfigUser::Kubelet => CertificateUser::KubeletsOwn,
            KubeconfigUser::Admin | KubeconfigUser::SuperAdmin => CertificateUser::Nobody,
        },
        _ => CertificateUser::Nobody,
    }
}

impl Held {
    /// Whether what runs has it, by what was seen of the host and by what was shown at its port: that, or why nobody could see it.
    #[must_use]
    pub fn running(&self, cluster: &Cluster, seen: &Observations, shown: Option<&Result<CertificateFacts, String>>) -> CertificateInUse {
        match self.user {
            CertificateUser::Nobody => CertificateInUse::Nobody,
            CertificateUser::Shown { program, .. } => match (shown, &self.facts) {
                (Some(Ok(shown)), Ok(own)) if shown.sha256 == own.sha256 => CertificateInUse::Has("shown".to_owned()),
                (Some(Ok(shown)), _) => CertificateInUse::Lacks(format!("{program} shows one that ends on {}", shown.not_after.date())),
                (Some(Err(why)), _) => self.by_start(starts_with(cluster, program, seen), program, seen, why),
                (None, _) => CertificateInUse::Unknown("nobody looked".to_owned()),
            },
            CertificateUser::ReadAnew(program) => match starts_with(cluster, program, seen) {
                Some(_) => CertificateInUse::Has("read for each connection".to_owned()),
                None => CertificateInUse::Unknown(format!("{program} does not run")),
            },
            CertificateUser::AtStart(program) => self.read_at_start(starts_with(cluster, program, seen), program, seen),
            CertificateUser::UnitAtStart(unit) => {
                self.read_at_start(seen.started_nanoseconds(unit).filter(|_| is_active(unit, seen)), unit, seen)
            }
            CertificateUser::KubeletsOwn if is_active(KUBELET_UNIT, seen) => CertificateInUse::Has("its own".to_owned()),
            CertificateUser::KubeletsOwn => CertificateInUse::Unknown("the kubelet does not run".to_owned()),
        }
    }

    fn read_at_start(&self, started: Option<i128>, program: &str, seen: &Observations) -> CertificateInUse {
        match started {
            None => CertificateInUse::Unknown(format!("{program} does not run")),
            Some(started) if seen.is_older(started, &self.path) => {
                CertificateInUse::Lacks(format!("{program} was started on {}, the file is newer", day(started)))
            }
            Some(_) => CertificateInUse::Has("started after it".to_owned()),
        }
    }

    /// What was started after a file changed has read it; of the rest nobody knows.
    fn by_start(&self, started: Option<i128>, program: &str, seen: &Observations, why: &str) -> CertificateInUse {
        match self.read_at_start(started, program, seen) {
            CertificateInUse::Lacks(_) => CertificateInUse::Unknown(why.to_owned()),
            other => other,
        }
    }

    /// How near its end is at `now`, in seconds since 1970. What the kubelet makes anew by itself is no matter before it is late, and what it shows
    /// and has signed itself is verified by nobody.
    #[must_use]
    pub fn urgency(&self, now: i64) -> Urgency {
        let Ok(facts) = &self.facts else { return Urgency::Alarm };
        if self.path == KUBELET_SERVING && !matches!(self.signer, Signer::Authority(_)) {
            return Urgency::None;
        }
        let life = facts.not_after - facts.not_before;
        let left = Duration::seconds(facts.not_after.unix_timestamp().saturating_sub(now));
        match left {
            _ if left.is_negative() => Urgency::Ended,
            _ if left <= Duration::days(14).min(life / 10) => Urgency::Alarm,
            _ if left <= Duration::days(60).min(life / 3) && self.user != CertificateUser::KubeletsOwn => Urgency::Warning,
            _ => Urgency::None,
        }
    }
}

fn is_active(unit: &str, seen: &Observations) -> bool {
    seen.units.get(unit).is_some_and(|unit| unit.active == "active")
}

/// When a program was started, if it runs; etcd may be a unit.
fn starts_with(cluster: &Cluster, program: &str, seen: &Observations) -> Option<i128> {
    match program {
        "etcd" if cluster.has_etcd_units() => seen.started_nanoseconds(ETCD_UNIT).filter(|_| is_active(ETCD_UNIT, seen)),
        "kubelet" => seen.started_nanoseconds(KUBELET_UNIT).filter(|_| is_active(KUBELET_UNIT, seen)),
        other => seen.programs.as_ref()?.get(other).copied(),
    }
}

fn day(nanoseconds: i128) -> Date {
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap_or(OffsetDateTime::UNIX_EPOCH).date()
}
