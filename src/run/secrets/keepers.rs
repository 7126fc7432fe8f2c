//! The hosts that keep the certificate authorities, and what is read from them.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_crds::model::{AuthorityName, AuthorityPair, Cluster};
use kok_pki::{Authorities, FoundAuthorities};
use kok_tasks::identity;
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Plan};
use kok_tasks::secret_name::SecretName;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::escrow::Escrowed;
use super::{SystemRandomness, made_badly};
use crate::remote::Script;
use crate::run::link::Links;
use crate::ui::{Failure, Kind};

/// The certificate by which a joining host knows the cluster.
pub(super) const CERTIFICATE: &str = "ca.crt";

/// The files of the authorities on a control plane, but for etcd's.
const FILES: [&str; 5] = [CERTIFICATE, "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key"];

/// Those of etcd's, on a host of etcd.
const FILES_OF_ETCD: [&str; 2] = ["etcd/ca.crt", "etcd/ca.key"];

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
    let secret = |key: &Zeroizing<String>| kok_pki::Secret::new(key.to_string());
    let pair = |certificate: &Zeroizing<String>, key: &Zeroizing<String>| Some((certificate.to_string(), secret(key)));
    if keepers.control_plane.is_some() && keepers.etcd.is_none() && signs_for_etcd {
        return Err(Failure::new(Kind::Internal, "something has to be signed, and no host is known to have the authority of etcd"));
    }
    let mut found = of_user(cluster, escrow.found(keepers, now)?);
    if let Some(host) = keepers.control_plane {
        let files = read_files(host, links, &FILES).await?;
        let [kubernetes, kubernetes_key, front_proxy, front_proxy_key, service_account] = files.as_slice() else {
            return Err(unreadable(PKI, host, "the answer was cut off"));
        };
        found.kubernetes = pair(kubernetes, kubernetes_key);
        found.front_proxy = pair(front_proxy, front_proxy_key);
        found.service_account = Some(secret(service_account));
    }
    if let Some(host) = keepers.etcd {
        let files = read_files(host, links, &FILES_OF_ETCD).await?;
        let [etcd, etcd_key] = files.as_slice() else { return Err(unreadable(PKI, host, "the answer was cut off")) };
        found.etcd = pair(etcd, etcd_key);
    }
    let host = keepers.control_plane.or(keepers.etcd);
    Authorities::complete(found, &identity::policy(cluster), now, &mut SystemRandomness).map_err(|error| match host {
        Some(host) => unreadable(PKI, host, &error.to_string()),
        None => made_badly(error),
    })
}

/// The authorities that the user brings along, and those that were kept on this machine. Where a host has any, these are the same.
fn of_user(cluster: &Cluster, kept: FoundAuthorities) -> FoundAuthorities {
    let mut found = kept;
    for own in &cluster.settings.certificates.authorities {
        let Some(AuthorityPair { certificate, key }) = &own.pair else { continue };
        let key = kok_pki::Secret::new(String::from_utf8_lossy(key.expose()).into_owned());
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
    let lines: Vec<String> = files.iter().map(|file| format!("cat {folder}/{file} || exit 1\necho '{SEPARATOR}'")).collect();
    let output = link.scripts().await?.run(Script::new(lines.join("\n")), Duration::from_secs(30)).await?;
    if !output.is_success() {
        return Err(unreadable(folder, host, &output.reason().unwrap_or_default()));
    }
    let text = Zeroizing::new(String::from_utf8(output.stdout).map_err(|_| unreadable(folder, host, "a file is no text"))?);
    let end = format!("{SEPARATOR}\n");
    Ok(text.split_terminator(&end).map(|file| Zeroizing::new(file.to_owned())).collect())
}

fn unreadable(folder: &str, host: &str, because: &str) -> Failure {
    Failure::new(Kind::Host, "the keys of the cluster can't be read")
        .at(format!("host {host}: {folder}"))
        .because(because)
        .hint("restore the missing file from a backup")
}
