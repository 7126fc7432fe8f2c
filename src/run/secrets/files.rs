//! What is read from a control plane: the authorities, and the key that it encrypts with.

use std::time::Duration;

use kok_pki::{Authorities, FoundAuthorities, Policy};
use kok_tasks::documents;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::SystemRandomness;
use crate::remote::Script;
use crate::run::link::Links;
use crate::ui::{Failure, Kind};

/// The certificate by which a joining host knows the cluster.
pub(super) const CERTIFICATE: &str = "ca.crt";

/// The files of the authorities on a control plane.
const FILES: [&str; 7] = [CERTIFICATE, "ca.key", "etcd/ca.crt", "etcd/ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key"];

/// Certificates and keys are text of lines that begin with letters, digits or `-`.
const SEPARATOR: &str = "= next =";

/// The authorities of a control plane.
pub(super) async fn read_authorities(host: &str, links: &Links, now: OffsetDateTime) -> Result<Authorities, Failure> {
    let files = read_files(host, links, &FILES).await?;
    let [kubernetes, kubernetes_key, etcd, etcd_key, front_proxy, front_proxy_key, service_account] = files.as_slice() else {
        return Err(unreadable(host, "the answer was cut off"));
    };
    let secret = |key: &Zeroizing<String>| kok_pki::Secret::new(key.to_string());
    let pair = |certificate: &Zeroizing<String>, key| Some((certificate.to_string(), secret(key)));
    let found = FoundAuthorities {
        kubernetes: pair(kubernetes, kubernetes_key),
        etcd: pair(etcd, etcd_key),
        front_proxy: pair(front_proxy, front_proxy_key),
        service_account: Some(secret(service_account)),
    };
    Authorities::complete(found, &Policy::default(), now, &mut SystemRandomness).map_err(|error| unreadable(host, &error.to_string()))
}

/// The key of a control plane that encrypts.
pub(super) async fn read_encryption_key(host: &str, links: &Links) -> Result<Zeroizing<String>, Failure> {
    let files = read_files(host, links, &[ENCRYPTION]).await?;
    let key = files.first().and_then(|text| documents::encryption_key(text));
    key.map(|key| Zeroizing::new(key.to_owned())).ok_or_else(|| {
        Failure::new(Kind::Host, "the key that secrets are encrypted with can't be read")
            .at(format!("host {host}: /etc/kubernetes/apiserver/encryption.yaml"))
            .because("the file has no key of kokctl's")
            .hint("copy it from another control plane, or from a backup: without it nobody can read what is encrypted")
    })
}

/// Beside the authorities, as the API server has it.
const ENCRYPTION: &str = "../apiserver/encryption.yaml";

/// These files of `/etc/kubernetes/pki`, in their order.
pub(super) async fn read_files(host: &str, links: &Links, files: &[&str]) -> Result<Vec<Zeroizing<String>>, Failure> {
    let link = links.get(host).ok_or_else(|| Failure::new(Kind::Internal, format!("there is no connection to {host}")))?;
    let lines: Vec<String> = files.iter().map(|file| format!("cat /etc/kubernetes/pki/{file} || exit 1\necho '{SEPARATOR}'")).collect();
    let output = link.scripts().await?.run(Script::new(lines.join("\n")), Duration::from_secs(30)).await?;
    if !output.is_success() {
        return Err(unreadable(host, &output.reason().unwrap_or_default()));
    }
    let text = Zeroizing::new(String::from_utf8(output.stdout).map_err(|_| unreadable(host, "a file is no text"))?);
    let end = format!("{SEPARATOR}\n");
    Ok(text.split_terminator(&end).map(|file| Zeroizing::new(file.to_owned())).collect())
}

fn unreadable(host: &str, because: &str) -> Failure {
    Failure::new(Kind::Host, "the certificate authorities of the control plane can't be read")
        .at(format!("host {host}: /etc/kubernetes/pki"))
        .because(because)
        .hint("restore the missing file from a backup")
}
