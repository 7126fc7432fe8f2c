//! What control planes have that a backup is compared with.

use std::time::Duration;

use kok_crds::model::Cluster;
use kok_pki::{AuthorityKind, inspect_certificate};
use kok_tasks::backup::{Runs, Trusts, fits_host, image_version};
use kok_tasks::digest::sha256;
use kok_tasks::documents::{encryption_keys, kms_plugins};
use zeroize::Zeroizing;

use crate::backup::BackupContents;
use crate::engine::context::Context;
use crate::failure::{Failure, Kind};
use crate::remote::Script;
use crate::run::{Links, connect_each};

/// Some short files.
const READ: Duration = Duration::from_secs(30);

/// What is between two files: none of them has a line that begins so.
const SEPARATOR: &str = "= next =\n";

/// What is read, below `/etc/kubernetes`.
const FILES: [&str; 6] = [
    "pki/ca.crt",
    "pki/etcd/ca.crt",
    "pki/front-proxy-ca.crt",
    "apiserver/encryption.yaml",
    "manifests/kube-apiserver.yaml",
    "manifests/etcd.yaml",
];
const ENCRYPTION: usize = 3;
/// The place of the API server's manifest among these.
pub(super) const API_SERVER: usize = 4;
const ETCD: usize = 5;

/// These files of a host, empty where it does not have one. Among them is the key to encrypt with.
pub(super) async fn texts(links: &Links, host: &str) -> Result<Vec<Zeroizing<String>>, Failure> {
    let link = links.get(host).ok_or_else(|| Failure::new(Kind::Internal, format!("there is no connection to {host}")))?;
    let script =
        format!("for file in {}; do cat \"/etc/kubernetes/$file\" 2>/dev/null || :; printf '%s' '{SEPARATOR}'; done", FILES.join(" "));
    let output = link.scripts().await?.run(Script::new(script), READ).await?;
    let (is_whole, text) = (output.is_success() && !output.stdout_truncated, Zeroizing::new(output.stdout.clone()));
    let text = Zeroizing::new(String::from_utf8_lossy(&text).into_owned());
    let texts: Vec<Zeroizing<String>> = text.split_terminator(SEPARATOR).map(|file| Zeroizing::new(file.to_owned())).collect();
    if is_whole && texts.len() == FILES.len() {
        return Ok(texts);
    }
    let failure = Failure::new(Kind::Host, "its certificates can't be read").at(link.place());
    let because = output.reason().unwrap_or_else(|| "the answer was cut off".to_owned());
    Err(failure.because(because).hint("look at /etc/kubernetes/pki there; nothing was changed"))
}

/// What keeps a backup from being restored on these control planes, which belong to the cluster: all of them have to answer, and to have its keys. One that is
/// new, or was set up anew, joins later. Nothing is changed.
///
/// # Errors
/// All that keeps it.
pub(in super::super) async fn check_hosts(
    context: &Context,
    cluster: &Cluster,
    own: &[&str],
    backup: &BackupContents,
) -> Result<(), Vec<Failure>> {
    let wanted = |name: &str| own.contains(&name) && cluster.host(name).is_some_and(|host| host.roles.control_plane);
    let (links, unreachable) = connect_each(cluster, wanted, &context.transport, &context.events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let of_backup = of_backup(backup);
    for host in links.keys() {
        match texts(&links, host).await {
            Ok(texts) => {
                let (has, runs) = of_host(&texts);
                let refusals = fits_host(&backup.manifest, &of_backup, host, (&has, &runs));
                failures.extend(refusals.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)));
            }
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

pub(super) fn of_backup(backup: &BackupContents) -> Trusts {
    let (keys, authorities) = (&backup.keys, backup.keys.authorities());
    Trusts {
        authorities: AuthorityKind::ALL
            .map(|kind| (kind, fingerprint(authorities.get(kind).certificate_pem()).unwrap_or_default()))
            .to_vec(),
        encryption: keys.encryption_keys().iter().map(|key| of_key(&key.name, key.secret.expose())).collect(),
        plugins: backup.kms_plugins(),
    }
}

pub(super) fn of_host(texts: &[Zeroizing<String>]) -> (Trusts, Runs) {
    let text = |index: usize| texts.get(index).map(|text| text.trim()).filter(|text| !text.is_empty());
    let kinds = [AuthorityKind::Kubernetes, AuthorityKind::Etcd, AuthorityKind::FrontProxy];
    let authorities = kinds.into_iter().enumerate().filter_map(|(index, kind)| Some((kind, fingerprint(text(index)?)?))).collect();
    let configuration = text(ENCRYPTION).unwrap_or_default();
    let trusts = Trusts {
        authorities,
        encryption: encryption_keys(configuration).into_iter().map(|(name, key)| of_key(name, key)).collect(),
        plugins: kms_plugins(configuration).into_iter().map(|(name, _)| name.to_owned()).collect(),
    };
    (trusts, Runs { kubernetes: text(API_SERVER).and_then(image_version), etcd: text(ETCD).and_then(image_version) })
}

fn fingerprint(certificate: &str) -> Option<String> {
    inspect_certificate(certificate).ok().map(|facts| facts.sha256)
}

/// What is encrypted with a key is found by its name.
fn of_key(name: &str, key: &str) -> String {
    sha256(format!("{name}:{key}").as_bytes())
}
