//! Authorities that the user brings along are those that the hosts have, if they have any: none is ever replaced.

use kok_crds::model::{AuthorityName, Cluster, EscrowFile, Host, OwnAuthority};
use kok_pki::{AuthorityKind, Escrow, Material, SecretText, TrustBundle, inspect_certificate};

use super::Findings;
use super::owner::is_recorded;
use crate::list::certificates;
use crate::observe::Look;
use crate::pem_set::PemSet;
use crate::plan::{Refusal, Seen};

/// Which authority of the certificates it is.
#[must_use]
pub fn kind(name: AuthorityName) -> AuthorityKind {
    match name {
        AuthorityName::Kubernetes => AuthorityKind::Kubernetes,
        AuthorityName::Etcd => AuthorityKind::Etcd,
        AuthorityName::FrontProxy => AuthorityKind::FrontProxy,
    }
}

/// What the command line calls an authority.
#[must_use]
pub const fn word(kind: AuthorityKind) -> &'static str {
    match kind {
        AuthorityKind::Kubernetes => "kubernetes",
        AuthorityKind::Etcd => "etcd",
        AuthorityKind::FrontProxy => "front-proxy",
    }
}

fn path(kind: AuthorityKind) -> String {
    certificates::absolute(Material::AuthorityCertificate(kind))
}

/// The certificates and the public key, which are public.
pub(super) fn looks<'a>(cluster: &'a Cluster, host: &'a Host) -> impl Iterator<Item = Look> + 'a {
    let certificates = &cluster.settings.certificates;
    let own = certificates.authorities.iter().map(|own| kind(own.name));
    let kept = certificates.escrow.iter().flat_map(|_| AuthorityKind::ALL);
    let of_authorities = own.chain(kept).filter(|_| host.roles.control_plane || host.roles.etcd).map(path);
    let of_accounts = certificates.escrow.iter().filter(|_| host.roles.control_plane).map(|_| accounts());
    of_authorities.chain(of_accounts).map(Look::Content)
}

/// The public half of the key of service accounts.
fn accounts() -> String {
    certificates::absolute(Material::ServiceAccountPublicKey)
}

/// See the module; each authority is told once.
pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    for own in &cluster.settings.certificates.authorities {
        let mut hosts = cluster.hosts.iter().filter(|host| is_recorded(cluster, host, seen));
        if let Some(refusal) = hosts.find_map(|host| differs(own, host, seen)) {
            found.refuse(refusal);
        }
    }
}

/// What is kept on the user's side is of this cluster, or of none that there is.
pub(super) fn check_kept(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let file = cluster.settings.certificates.escrow.as_ref();
    let Some((file, kept)) = file.and_then(|file| Some((file, file.kept.as_ref()?))) else { return };
    let Ok(kept) = Escrow::parse(&SecretText::new(String::from_utf8_lossy(kept.expose()).into_owned())) else { return };
    let hosts = || cluster.hosts.iter().filter(|host| is_recorded(cluster, host, seen));
    let other = AuthorityKind::ALL.into_iter().find_map(|kind| {
        let ours = &kept.authorities().get(kind).facts().sha256;
        let other = |host: &&Host| theirs(kind, host, seen).is_some_and(|theirs| !has(&theirs, ours));
        hosts().find(other).and_then(|host| Some((host, kind, print(&theirs(kind, host, seen)?), ours.clone())))
    });
    if let Some((host, kind, theirs, ours)) = other {
        let refusal = Refusal::new("the cluster has other authorities than those that are kept of it");
        let refusal = refusal.at(format!("host {} ({}): {}", host.name, host.address, path(kind)));
        let because = format!("that certificate has the SHA-256 {theirs}; that of {}, which {} names, has {ours}", file.path, file.origin);
        found.refuse(refusal.because(because).hint(way_out(file)));
    }
    let ours = kept.authorities().service_account().public_key_pem();
    if let Some(host) = hosts().find(|host| has_other_accounts(host, &ours, seen)) {
        let refusal = Refusal::new("the cluster has another key of service accounts than the one that is kept of it");
        let refusal = refusal.at(format!("host {} ({}): {}", host.name, host.address, accounts()));
        let because = format!("it is not the public half of the key in {}, which {} names", file.path, file.origin);
        found.refuse(refusal.because(because).hint(way_out(file)));
    }
}

/// The certificate of an authority that is kept of the cluster on the user's side.
#[must_use]
pub fn kept_certificate(cluster: &Cluster, kind: AuthorityKind) -> Option<String> {
    let kept = cluster.settings.certificates.escrow.as_ref()?.kept.as_ref()?;
    let kept = Escrow::parse(&SecretText::new(String::from_utf8_lossy(kept.expose()).into_owned())).ok()?;
    Some(kept.authorities().get(kind).certificate_pem().to_owned())
}

fn way_out(file: &EscrowFile) -> &'static str {
    if file.is_lent { OF_OTHERS } else { ANOTHER }
}

const OF_OTHERS: &str = "the backup is of another cluster, or from before its keys were replaced: take another one; or, if this cluster can go, take it down with `kokctl reset`";

const ANOTHER: &str =
    "name another file as `escrow`, and apply puts in what the hosts have; or, if the cluster can go, take it down with `kokctl reset`";

/// Only what has the same form can be compared as a text; of others, whoever puts the keys into the file compares them themselves. While the key is being
/// replaced hosts know both.
fn has_other_accounts(host: &Host, ours: &str, seen: &Seen) -> bool {
    let theirs = seen.observations(&host.name).contents.get(&accounts()).map(|text| PemSet::parse(&String::from_utf8_lossy(text)));
    let form = |text: &str| text.trim().lines().next().map(|line| line.trim().to_owned());
    let theirs = theirs.unwrap_or_default();
    theirs.signer().is_some_and(|signer| form(signer) == form(ours)) && !theirs.has(ours)
}

/// The certificates of an authority that a host has.
fn theirs(kind: AuthorityKind, host: &Host, seen: &Seen) -> Option<String> {
    Some(String::from_utf8_lossy(seen.observations(&host.name).contents.get(&path(kind))?).into_owned())
}

/// Whether the certificate with this digest is one of those.
fn has(pem: &str, sha256: &str) -> bool {
    TrustBundle::from_pem(pem).is_ok_and(|bundle| bundle.certificates().iter().any(|certificate| certificate.sha256 == sha256))
}

fn print(pem: &str) -> String {
    inspect_certificate(pem).map_or_else(|_| "none that can be read".to_owned(), |facts| facts.sha256)
}

fn differs(own: &OwnAuthority, host: &Host, seen: &Seen) -> Option<Refusal> {
    let (kind, name) = (kind(own.name), own.name.as_str());
    let (theirs, ours) = (theirs(kind, host, seen)?, print(&own.pair.as_ref()?.certificate));
    (!has(&theirs, &ours)).then(|| {
        let theirs = print(&theirs);
        Refusal::new(format!("the cluster has another authority than `{name}` of its file"))
            .at(format!("host {} ({}): {}", host.name, host.address, path(kind)))
            .because(format!("that certificate has the SHA-256 {theirs}; that of {} has {ours}", own.certificate.origin))
            .hint(
                "an authority that is in use is never replaced: give the certificate and the key that the hosts have, or leave it out; or, if the \
                 cluster can go, take it down with `kokctl reset`, then apply",
            )
    })
}
