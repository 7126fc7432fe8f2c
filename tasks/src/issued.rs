//! Certificates and kubeconfigs that somebody else has issued, for authorities whose keys kokctl does not get.
//!
//! What has to be there, and whether it can do its work, is known from the cluster's file: it is said before any host is asked.

use std::collections::BTreeMap;

use kok_crds::model::{AuthorityName, Cluster, Host, IssuedFolder};
use kok_crds::{Problem, Secret};
use kok_pki::{
    AuthorityKind, Defect, KubeconfigUser, Leaf, Material, Profile, inspect_certificate, inspect_kubeconfig, matches_key,
    verify_kubeconfig, verify_leaf,
};
use time::OffsetDateTime;

use crate::digest::sha256;
use crate::identity;
use crate::preconditions::authority_kind;

/// Files of one host, by their paths below `/etc/kubernetes`.
pub type Files = BTreeMap<String, Secret>;

/// Whether somebody else keeps the key of this authority.
#[must_use]
pub fn is_kept_elsewhere(cluster: &Cluster, kind: AuthorityKind) -> bool {
    name(kind).is_some_and(|name| !cluster.settings.certificates.has_key(name))
}

/// What the cluster's file calls an authority.
fn name(kind: AuthorityKind) -> Option<AuthorityName> {
    AuthorityName::ALL.into_iter().find(|name| authority_kind(*name) == kind)
}

/// Leaves that have to be issued for a host.
fn leaves(cluster: &Cluster, host: &Host) -> Vec<Leaf> {
    let identity = identity::control_plane(cluster, host);
    let comes = |leaf: &Leaf| match leaf {
        Leaf::EtcdServer | Leaf::EtcdPeer | Leaf::EtcdHealthcheckClient => host.roles.etcd,
        Leaf::ApiServer | Leaf::ApiServerKubeletClient | Leaf::ApiServerEtcdClient | Leaf::FrontProxyClient => host.roles.control_plane,
    };
    let leaves = Leaf::ALL.into_iter().filter(comes);
    leaves.filter(|leaf| is_kept_elsewhere(cluster, leaf.profile(&identity).authority)).collect()
}

/// Kubeconfigs that have to be issued for a host.
fn users(cluster: &Cluster, host: &Host) -> Vec<KubeconfigUser> {
    if !is_kept_elsewhere(cluster, AuthorityKind::Kubernetes) {
        return Vec::new();
    }
    let is_its = |user: &KubeconfigUser| host.roles.control_plane || (*user == KubeconfigUser::Kubelet && host.roles.is_node());
    KubeconfigUser::ALL.into_iter().filter(is_its).collect()
}

/// The files that have to be issued for a host, by their paths below `/etc/kubernetes`.
#[must_use]
pub fn paths(cluster: &Cluster, host: &Host) -> Vec<&'static str> {
    let of_leaves = leaves(cluster, host).into_iter().flat_map(|leaf| [Material::LeafCertificate(leaf), Material::LeafKey(leaf)]);
    of_leaves.chain(users(cluster, host).into_iter().map(Material::Kubeconfig)).map(Material::path).collect()
}

/// A cluster with one control plane as it is if there were more once.
fn named(cluster: &Cluster) -> Option<Cluster> {
    let mut named = cluster.clone();
    named.settings.api_endpoint.is_named = true;
    (cluster.api_endpoint_name().is_none() && named.api_endpoint_name().is_some()).then_some(named)
}

/// The server that a kubeconfig of this host points to. A worker has no API server beside it.
fn server(cluster: &Cluster, host: &Host, user: KubeconfigUser) -> String {
    let identity = identity::control_plane(cluster, host);
    if host.roles.control_plane { user.server(&identity) } else { identity.cluster_server() }
}

/// What is known of a file of a host without the key of any authority: what was issued, and the certificate of an authority that the user has
/// brought along without its key.
#[must_use]
pub fn file(cluster: &Cluster, host: &str, path: &str) -> Option<String> {
    let kinds = AuthorityKind::ALL.into_iter().filter(|kind| is_kept_elsewhere(cluster, *kind));
    let mut own = kinds.filter(|kind| Material::AuthorityCertificate(*kind).path() == path).map(|kind| authority(cluster, kind).to_owned());
    let issued = cluster.settings.certificates.issued.as_ref().and_then(|issued| issued.file(host, path)).map(text);
    issued.or_else(|| own.next())
}

/// Everything that is wrong with what was found for a host in a folder.
#[must_use]
pub fn problems(cluster: &Cluster, host: &Host, found: &Files, folder: &IssuedFolder, now: OffsetDateTime) -> Vec<Problem> {
    let identity = identity::control_plane(cluster, host);
    let problem = |path: &str, what: &str| Problem::new(format!("{}/{}/{path} {what}", folder.path, host.name)).at(&folder.origin);
    let mut problems = Vec::new();
    for leaf in leaves(cluster, host) {
        let (path, profile) = (Material::LeafCertificate(leaf).path(), leaf.profile(&identity));
        let Some(certificate) = found.get(path) else {
            problems.push(missing(problem(path, "is missing"), &profile, ""));
            continue;
        };
        let key = Material::LeafKey(leaf).path();
        let Some(key_text) = found.get(key) else {
            problems.push(problem(key, "is missing").because("it is the key of the certificate beside it").hint("put it there, mode 0600"));
            continue;
        };
        let defect = leaf_defect(cluster, &profile, certificate, key_text, now);
        problems.extend(defect.map(|because| problem(path, "can't be used").because(because).hint(wanted(&profile, ""))));
    }
    for user in users(cluster, host) {
        let (path, profile) = (Material::Kubeconfig(user).path(), user.profile(&identity));
        // With one control plane it may be one that is left of several, whose API has a name: hosts have not been asked yet.
        let (first, other) = (server(cluster, host, user), named(cluster).map(|named| server(&named, host, user)));
        let with_server = format!(", in a kubeconfig that points to {first}, with certificates and key inside");
        let Some(text) = found.get(path) else {
            problems.push(missing(problem(path, "is missing"), &profile, &with_server));
            continue;
        };
        let verify = |server: &str| verify_kubeconfig(&of_pki(text), authority(cluster, profile.authority), &profile, server, now).err();
        let defects = verify(&first).filter(|_| other.as_ref().is_none_or(|other| verify(other).is_some()));
        let because = defects.unwrap_or_default().iter().map(Defect::to_string).collect::<Vec<_>>().join("; ");
        if !because.is_empty() {
            problems.push(problem(path, "can't be used").because(because).hint(wanted(&profile, &with_server)));
        }
    }
    problems
}

fn leaf_defect(cluster: &Cluster, profile: &Profile, certificate: &Secret, key: &Secret, now: OffsetDateTime) -> Option<String> {
    let certificate = text(certificate);
    match matches_key(&certificate, &of_pki(key)) {
        Ok(true) => {}
        Ok(false) => return Some("the key beside it is another one's".to_owned()),
        Err(error) => return Some(error.to_string()),
    }
    let defects = verify_leaf(authority(cluster, profile.authority), &certificate, profile, now).err()?;
    Some(defects.iter().map(Defect::to_string).collect::<Vec<_>>().join("; "))
}

/// The certificate of an authority whose key somebody else keeps.
pub(crate) fn certificate_elsewhere(cluster: &Cluster, kind: AuthorityKind) -> Option<&str> {
    Some(authority(cluster, kind)).filter(|text| !text.is_empty() && is_kept_elsewhere(cluster, kind))
}

/// The certificate of an authority that the user brings along.
fn authority(cluster: &Cluster, kind: AuthorityKind) -> &str {
    let mut own = cluster.settings.certificates.authorities.iter().filter(|own| authority_kind(own.name) == kind);
    own.find_map(|own| own.pair.as_ref()).map(|pair| pair.certificate.as_str()).unwrap_or_default()
}

fn missing(problem: Problem, profile: &Profile, also: &str) -> Problem {
    let because = format!(
        "the key of the authority `{}` is not given, so somebody else has to issue it",
        name(profile.authority).map_or("", AuthorityName::as_str)
    );
    problem.because(because).hint(wanted(profile, also))
}

/// What to ask the authority for.
fn wanted(profile: &Profile, also: &str) -> String {
    let organizations: String = profile.organizations.iter().map(|name| format!(", O={name}")).collect();
    let usages = match (profile.server_auth, profile.client_auth) {
        (true, true) => "server and client",
        (true, false) => "server",
        _ => "client",
    };
    let names = profile.sans.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let names = if names.is_empty() { String::new() } else { format!(", for the names {names}") };
    format!("have a certificate of a {usages} signed with the subject CN={}{organizations}{names}{also}", profile.common_name)
}

/// When what was issued for a host ends, in seconds since 1970, by its path below `/etc/kubernetes`.
#[must_use]
pub fn ends(cluster: &Cluster, host: &Host) -> Vec<(&'static str, i64)> {
    let Some(issued) = &cluster.settings.certificates.issued else { return Vec::new() };
    let end = |path: &'static str| {
        let file = issued.file(&host.name, path)?;
        let certificate = if path.ends_with(".crt") { text(file) } else { inspect_kubeconfig(&of_pki(file)).ok()?.certificate_pem? };
        Some((path, inspect_certificate(&certificate).ok()?.not_after.unix_timestamp()))
    };
    paths(cluster, host).into_iter().filter(|path| !path.ends_with(".key")).filter_map(end).collect()
}

/// Sums of the certificates in the kubeconfigs that controller manager and scheduler of a host read when they start, where these are issued.
/// They are public, and others with every renewal.
pub(crate) fn kubeconfig_sums(cluster: &Cluster, host: &Host) -> Option<[String; 2]> {
    let issued = cluster.settings.certificates.issued.as_ref()?;
    let sum = |user: KubeconfigUser| {
        let found = inspect_kubeconfig(&of_pki(issued.file(&host.name, Material::Kubeconfig(user).path())?)).ok()?;
        Some(sha256(found.certificate_pem?.as_bytes()))
    };
    Some([sum(KubeconfigUser::ControllerManager)?, sum(KubeconfigUser::Scheduler)?])
}

fn text(secret: &Secret) -> String {
    String::from_utf8_lossy(secret.expose()).into_owned()
}

fn of_pki(secret: &Secret) -> kok_pki::SecretText {
    kok_pki::SecretText::new(text(secret))
}
