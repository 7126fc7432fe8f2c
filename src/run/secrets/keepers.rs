//! The hosts that keep the certificate authorities, and what is read from them.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_crds::model::{AuthorityName, AuthorityPair, Cluster};
use kok_pki::{Authorities, AuthorityKind, FoundAuthorities, FoundAuthority, Material, PrivateKey};
use kok_tasks::identity;
use kok_tasks::issued::is_kept_elsewhere;
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Plan};
use kok_tasks::secret_name::SecretName;
use kok_tasks::token_keys::key_id;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::escrow::Escrowed;
use super::made_badly;
use crate::failure::{Failure, Kind};
use crate::randomness::SystemRandomness;
use crate::remote::Script;
use crate::run::link::Links;

/// The certificate by which a joining host knows the cluster.
pub(super) const CERTIFICATE: &str = "ca.crt";

/// The key of service accounts, and the public keys by which their tokens are known.
const SERVICE_ACCOUNT: &str = "sa.key";
const TOKEN_KEYS: &str = "sa.pub";

/// The hosts whose authorities are the cluster's, as far as it has any.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keepers<'a> {
    /// A control plane.
    pub control_plane: Option<&'a str>,
    /// A host of etcd; the same one where etcd runs beside each API server.
    pub etcd: Option<&'a str>,
    /// A control plane that encrypts what etcd holds.
    pub encryption: Option<&'a str>,
}

/// Whether what is signed by authorities that no control plane has may be signed by new ones: where a control plane gets its whole set, or where
/// only etcd's, which are there or made with the set of a host of etcd, sign anything that is used.
pub(super) fn may_be_made(cluster: &Cluster, plan: &Plan, names: &BTreeSet<SecretName>, keepers: Keepers<'_>) -> bool {
    let is_control_plane = |host: &str| cluster.host(host).is_some_and(|host| host.roles.control_plane);
    let sets: Vec<&str> = plan
        .changes()
        .filter_map(|(step, _)| match &step.action {
            Action::Operation(Operation::PkiTree(tree)) => Some(tree.host.as_str()),
            _ => None,
        })
        .collect();
    let of_etcd = |name: &SecretName| matches!(name, SecretName::ControlPlaneFile { host, .. } if !is_control_plane(host));
    let is_known = keepers.etcd.is_some() || !sets.is_empty();
    sets.iter().any(|host| is_control_plane(host)) || (is_known && names.iter().all(of_etcd))
}

/// Certificates and keys are text of lines that begin with letters, digits or `-`.
const SEPARATOR: &str = "= next =";

/// What the keepers have, and else what was kept here; what nobody keeps is made, but for what control planes know already and something is
/// signed with.
pub(super) async fn read_authorities(
    cluster: &Cluster,
    keepers: Keepers<'_>,
    (escrow, signs_for_etcd): (&Escrowed<'_>, bool),
    links: &Links,
    now: OffsetDateTime,
) -> Result<Authorities, Failure> {
    if keepers.control_plane.is_some() && keepers.etcd.is_none() && signs_for_etcd {
        return Err(Failure::new(Kind::Internal, "something has to be signed, and no host is known to have the authority of etcd"));
    }
    let mut found = of_user(cluster, escrow.found(keepers, now)?);
    if let Some(host) = keepers.control_plane {
        let kinds = [AuthorityKind::Kubernetes, AuthorityKind::FrontProxy];
        let files: Vec<&str> = kinds.into_iter().flat_map(|kind| files_of(cluster, kind)).chain([SERVICE_ACCOUNT, TOKEN_KEYS]).collect();
        let mut texts = read_files(host, links, &files).await?.into_iter();
        found.kubernetes = pair(cluster, AuthorityKind::Kubernetes, &mut texts);
        found.front_proxy = pair(cluster, AuthorityKind::FrontProxy, &mut texts);
        found.service_account = texts.next().map(|key| secret(&key));
        found.token_keys = texts.next().map(|keys| keys.to_string());
    }
    if let Some(host) = keepers.etcd {
        let files = files_of(cluster, AuthorityKind::Etcd);
        found.etcd = pair(cluster, AuthorityKind::Etcd, &mut read_files(host, links, &files).await?.into_iter());
    }
    let host = keepers.control_plane.or(keepers.etcd);
    Authorities::complete(found, &identity::policy(cluster), now, &mut SystemRandomness).map_err(|error| match host {
        Some(host) => unreadable(PKI, host, &error.to_string()),
        None => made_badly(error),
    })
}

/// The key by which a control plane signs tokens of service accounts.
pub(super) async fn signing_key(host: &str, links: &Links) -> Result<kok_pki::SecretText, Failure> {
    let found = read_files(host, links, &[SERVICE_ACCOUNT]).await?.into_iter().next();
    Ok(secret(&found.unwrap_or_default()))
}

/// Whether a key is the one that hosts are to sign with: what was put there by hand may not be what `sa.pub` says of it.
pub(super) fn is_key(key: &kok_pki::SecretText, wanted: &str, host: Option<&str>) -> Result<(), Failure> {
    let found = PrivateKey::from_pem(key.clone()).ok().and_then(|key| key_id(&key.public_key_pem()));
    if found.as_deref() == Some(wanted) {
        return Ok(());
    }
    let failure = Failure::new(Kind::Host, format!("{SERVICE_ACCOUNT} is not the key that {TOKEN_KEYS} says signs"));
    let failure = failure.at(host.map_or_else(|| "this run".to_owned(), |host| format!("host {host}: {PKI}")));
    let because = format!("it is {}, and has to be {wanted}", found.as_deref().unwrap_or("no key that can be read"));
    Err(failure.because(because).hint("let both files of that host be those of one key, and start its API server anew"))
}

fn secret(text: &str) -> kok_pki::SecretText {
    kok_pki::SecretText::new(text.to_owned())
}

/// Certificate of an authority, and its key unless somebody else keeps it; below [`PKI`].
fn files_of(cluster: &Cluster, kind: AuthorityKind) -> Vec<&'static str> {
    let materials = [Material::AuthorityCertificate(kind), Material::AuthorityKey(kind)];
    let known = if is_kept_elsewhere(cluster, kind) { 1 } else { 2 };
    materials.into_iter().take(known).map(|material| material.path().trim_start_matches("pki/")).collect()
}

/// The next texts of those, as [`files_of`] names them.
fn pair(cluster: &Cluster, kind: AuthorityKind, texts: &mut impl Iterator<Item = Zeroizing<String>>) -> Option<FoundAuthority> {
    let certificate = texts.next()?.to_string();
    let key = if is_kept_elsewhere(cluster, kind) { None } else { Some(secret(&texts.next()?)) };
    Some((certificate, key))
}

/// The authorities that the user brings along, and those that were kept on this machine. Where a host has any, these are the same.
fn of_user(cluster: &Cluster, kept: FoundAuthorities) -> FoundAuthorities {
    let mut found = kept;
    for own in &cluster.settings.certificates.authorities {
        let Some(AuthorityPair { certificate, key }) = &own.pair else { continue };
        let key = key.as_ref().map(|key| secret(&String::from_utf8_lossy(key.expose())));
        let place = match own.name {
            AuthorityName::Kubernetes => &mut found.kubernetes,
            AuthorityName::Etcd => &mut found.etcd,
            AuthorityName::FrontProxy => &mut found.front_proxy,
        };
        *place = Some((certificate.clone(), key));
    }
    found
}

/// Where kubeadm has certificates and keys.
const PKI: &str = "/etc/kubernetes/pki";

/// These files of `/etc/kubernetes/pki`, in their order.
pub(super) async fn read_files(host: &str, links: &Links, files: &[&str]) -> Result<Vec<Zeroizing<String>>, Failure> {
    read_in(PKI, host, links, files).await
}

/// The same of a folder, all in one command.
pub(super) async fn read_in(folder: &str, host: &str, links: &Links, files: &[&str]) -> Result<Vec<Zeroizing<String>>, Failure> {
    let link = links.get(host).ok_or_else(|| Failure::new(Kind::Internal, format!("there is no connection to {host}")))?;
    // What is public can be made again of what is not.
    let without = |file: &str| if file == TOKEN_KEYS { "2>/dev/null || :" } else { "|| exit 1" };
    let lines: Vec<String> = files.iter().map(|file| format!("cat {folder}/{file} {}\necho '{SEPARATOR}'", without(file))).collect();
    let output = link.scripts().await?.run(Script::new(lines.join("\n")), Duration::from_secs(30)).await?;
    if !output.is_success() {
        return Err(unreadable(folder, host, &output.reason().unwrap_or_default()));
    }
    let text = Zeroizing::new(String::from_utf8(output.stdout).map_err(|_| unreadable(folder, host, "a file is no text"))?);
    let end = format!("{SEPARATOR}\n");
    let texts: Vec<Zeroizing<String>> = text.split_terminator(&end).map(|file| Zeroizing::new(file.to_owned())).collect();
    if texts.len() == files.len() { Ok(texts) } else { Err(unreadable(folder, host, "the answer was cut off")) }
}

fn unreadable(folder: &str, host: &str, because: &str) -> Failure {
    Failure::new(Kind::Host, "the keys of the cluster can't be read")
        .at(format!("host {host}: {folder}"))
        .because(because)
        .hint("restore the missing file from a backup")
}
